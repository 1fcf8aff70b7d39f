"""Records the steps of one environment as episodes, and calls the user's callbacks."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import dm_env

from rlds_kit.base.errors import RecordingError, RldsKitError, SpecError, UnsupportedTypeError
from rlds_kit.base.step import ACTION, DECLARED_FIELDS, FLAGS, INFO, STEP_INDEX, TIME_NS, EpisodeEnd
from rlds_kit.logger.schedulers import EpisodeScheduler, Scheduler, StepData
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.recorder import Recorder

CUSTOM_DATA: Final = "custom_data"
"""The field for a result of `step_fn` that is not a dict, as in EnvLogger."""
RESERVED_FIELDS: Final = frozenset((*DECLARED_FIELDS, *FLAGS, INFO, STEP_INDEX, TIME_NS))
"""Reserved names that `step_fn` must not use for fields."""
BROKEN_OFF: Final = (
    "The episode ends before this step, as INTERRUPTED; its recorded steps are retained. Steps up to the next reset "
    "are not recorded."
)
NOT_RECORDED: Final = "step() was called outside an episode; such steps are not recorded. This is reported only once."
SPEC_HINT: Final = (
    "With strict=True declared fields are recorded only if they match their spaces and specs. Correct the space, put a "
    "wrapper that converts the value between environment and logger, such as gymnasium.wrappers.DtypeObservation or "
    "TransformReward, or record what comes as it is with strict=False."
)
INFO_HINT: Final = (
    "Convert or leave out what cannot be recorded with info_fn=lambda info: {...}, or record no infos with "
    "record_info=False."
)

Callback = Callable[[Any, Any, Any], Any]
"""A callback with time step (a `GymnasiumTimeStep` in Gymnasium's loggers), action (None on the first step) and
environment."""
InfoFunction = Callable[[dict[str, Any]], Mapping[str, Any]]
"""A callback that gets an info and returns the part to record."""


@dataclass(frozen=True)
class Callbacks:
    """The user's functions.

    Attributes:
      step_fn: its result becomes fields of the step, or the field "custom_data" if it is no dict. Called at every
        step, because a scheduler may use the result.
      episode_fn: its last result that is not None becomes metadata of the episode.
      scheduler: selects the steps, or episodes, to record.
      info_fn: gets each info and returns the part to record.
    """

    step_fn: Callback | None = None
    episode_fn: Callback | None = None
    scheduler: Scheduler | None = None
    info_fn: InfoFunction | None = None

    @property
    def need_time_steps(self) -> bool:
        """Whether any of them uses time steps."""
        return any(function is not None for function in (self.step_fn, self.episode_fn, self.scheduler))


class EpisodeLog:
    """Records the episodes of one environment, of which at most one is open.

    Args:
      recorder: of the episodes.
      callbacks: of the user.
      environment: the last argument of the callbacks.
      record_time: whether rows have `time_ns`.
    """

    def __init__(
        self, recorder: Recorder, callbacks: Callbacks, environment: object, *, record_time: bool = False
    ) -> None:
        self._recorder, self._callbacks, self._environment = recorder, callbacks, environment
        self._episodes_only = isinstance(callbacks.scheduler, EpisodeScheduler)
        self._record_time = record_time
        self._running = self._is_expecting = self._warned_outside = False
        self._begin()

    def warn_outside(self) -> None:
        """Warns once that a step, made by the calling method, is not recorded."""
        if not self._warned_outside:
            self._warned_outside = True
            warnings.warn(NOT_RECORDED, UserWarning, stacklevel=3)

    def _begin(self) -> None:
        self._episode: EpisodeRecorder | None = None
        self._metadata: Mapping[str, Any] = {}
        self._step_index = -1
        self._left_out: tuple[dict[str, Any], dict[str, Any] | None] | None = None
        self._started_ns = 0

    @property
    def is_running(self) -> bool:
        """Whether the environment is within an episode, recorded or not."""
        return self._running

    def expect(self) -> None:
        """Announces that the environment is about to be stepped or reset.

        If its result never arrives, because it raised or Ctrl-C interrupted it, the transition from the last row to the
        next is unknown: then the episode ends as INTERRUPTED when the environment is used again.
        """
        if self._is_expecting:
            self.interrupt()
        self._is_expecting = True

    def start(
        self,
        observed: dict[str, Any],
        time_step: dm_env.TimeStep | None,
        *,
        seed: object = None,
        options: object = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        """Starts an episode with its first row. An open episode ends as INTERRUPTED.

        Args:
          observed: the observation and other fields of the row; owned by this object, which adds fields.
          time_step: for the callbacks; may be None when there are none.
          seed: of the reset.
          options: of the reset.
          provenance: other data about the origin of this episode.
        """
        self.interrupt()
        self._begin()
        self._running, self._is_expecting = True, False
        try:
            keep = self._consult(observed, time_step, None)
            if self._episodes_only and not keep:
                return
            self._episode = self._recorder.start_episode(seed=seed, options=options, provenance=provenance)
            self._episode.append(observed)
        except BaseException as error:
            self._break_off(error)
            raise

    def step(
        self,
        observed: dict[str, Any],
        acted: dict[str, Any],
        time_step: dm_env.TimeStep | None,
        *,
        ending: EpisodeEnd | None = None,
        flags: tuple[bool, bool] = (False, False),
    ) -> None:
        """Adds a row.

        Args:
          observed: as in `start`; an empty dict means that the final observation is missing.
          acted: action, reward and discount that led here.
          time_step: for the callbacks; may be None when there are none.
          ending: the end of the episode with this row; None: it continues.
          flags: Gymnasium's terminated and truncated.
        """
        if not observed:
            self._add_left_out()  # no row follows: it is the last one
        # If the previous row was left out, there is no transition from it to this row.
        joined = acted if self._left_out is None else None
        try:
            keep = self._consult(observed, time_step, acted.get(ACTION)) if observed else True
            if self._episode is not None and observed:
                self._add(self._episode, observed, joined, keep=keep or ending is not None)
            elif self._episode is not None and joined:
                self._episode.act(joined)
        except BaseException as error:
            self._break_off(error)
            raise
        if ending is not None:
            self._end(ending, flags)
        self._is_expecting = False

    def interrupt(self) -> None:
        """Ends an open episode as INTERRUPTED; does nothing if there is none."""
        if not self._running:
            return
        try:
            self._add_left_out()
        finally:
            self._end(EpisodeEnd.INTERRUPTED, (False, False))

    @contextmanager
    def breaking_off(self) -> Iterator[None]:
        """Ends the episode if an error is raised, because the values of its next row cannot be made."""
        try:
            yield
        except BaseException as error:
            self._break_off(error)
            raise

    def _consult(self, observed: dict[str, Any], time_step: dm_env.TimeStep | None, action: object) -> bool:
        """Calls the user's callbacks, adds their fields to the row, and returns whether to record it."""
        self._step_index += 1
        if self._record_time:
            now = time.monotonic_ns()
            if self._step_index == 0:
                self._started_ns = now
            observed[TIME_NS] = now - self._started_ns
        callbacks, custom = self._callbacks, None
        if callbacks.info_fn is not None:
            observed[INFO] = callbacks.info_fn(observed[INFO])
        if time_step is None:
            return True
        if callbacks.step_fn is not None:
            custom = callbacks.step_fn(time_step, action, self._environment)
            observed.update(_fields(custom))
        if callbacks.episode_fn is not None:
            metadata = callbacks.episode_fn(time_step, action, self._environment)
            if metadata is not None:
                self._metadata = metadata if isinstance(metadata, Mapping) else {CUSTOM_DATA: metadata}
        if callbacks.scheduler is None:
            return True
        observed[STEP_INDEX] = self._step_index
        return bool(callbacks.scheduler(StepData(time_step, action, custom)))

    def _add(
        self, episode: EpisodeRecorder, observed: dict[str, Any], acted: dict[str, Any] | None, *, keep: bool
    ) -> None:
        if keep or self._episodes_only:
            episode.append(observed, acted)
            self._left_out = None
        else:
            # Stored in case it turns out to be the last row.
            self._left_out = copy_value(observed), copy_value(acted)

    def _add_left_out(self) -> None:
        """Records the row that was left out, if any, because it turned out to be the last."""
        if self._episode is not None and self._left_out is not None:
            self._episode.append(*self._left_out)
            self._left_out = None

    def _end(self, ending: EpisodeEnd, flags: tuple[bool, bool]) -> None:
        episode, self._episode, self._running = self._episode, None, False
        if episode is None:
            return
        terminated, truncated = flags
        try:
            episode.end(ending, terminated=terminated, truncated=truncated, metadata=self._metadata)
        except (SpecError, UnsupportedTypeError):
            # If the metadata cannot be recorded, the rows and the ending still are.
            episode.end(ending, terminated=terminated, truncated=truncated)
            raise

    def _break_off(self, error: BaseException) -> None:
        """Ends the episode after its last valid row: continuing it would join steps that are not consecutive."""
        self._left_out = None
        break_off(error, lambda: self._end(EpisodeEnd.INTERRUPTED, (False, False)))


def break_off(error: BaseException, end: Callable[[], None]) -> None:
    """Ends an episode of which a row could not be recorded, and adds the consequence and a remedy to the error."""
    if isinstance(error, SpecError):
        error.add_note(SPEC_HINT)
    if isinstance(error, UnsupportedTypeError) and error.place.partition("/")[0] == INFO:
        error.add_note(INFO_HINT)
    try:
        end()
    except RldsKitError as again:
        if not isinstance(error, RecordingError):
            error.add_note(f"The episode could not be ended either: {again}")
    else:
        if isinstance(error, Exception) and not isinstance(error, Warning):  # issued after the row was recorded
            error.add_note(BROKEN_OFF)


def _fields(custom: object) -> Mapping[str, Any]:
    if custom is None:
        return {}
    if not isinstance(custom, Mapping):
        return {CUSTOM_DATA: custom}
    for name in custom:
        if not isinstance(name, str):
            raise SpecError(f"step_fn: expected strings as names of fields, got {name!r}")
        if name in RESERVED_FIELDS:
            raise SpecError(f"step_fn: the name {name!r} is taken by a field of the step; call it something else")
    return custom

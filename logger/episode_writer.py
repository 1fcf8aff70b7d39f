"""Records without an environment: robots, games with people, converters."""

import contextlib
import os
import time
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self, Unpack

from rlds_kit import spec as specs
from rlds_kit.base.errors import RecordingError, SpecError
from rlds_kit.base.step import (
    ACTED_FIELDS,
    ACTION,
    DISCOUNT,
    FLAGS,
    INFO,
    OBSERVATION,
    REWARD,
    STEP_INDEX,
    TIME_NS,
    EpisodeEnd,
)
from rlds_kit.logger.action_check import ActionCheck
from rlds_kit.logger.recorder_options import RecorderOptions
from rlds_kit.logger.recording import Recording, RecordingWriter
from rlds_kit.logger.whole_episode import MISSING, all_observations, last_flag, sides
from rlds_kit.storage.array_rows import ArrayRows

_NOT_OBSERVED: Final = frozenset((ACTION, REWARD, DISCOUNT, OBSERVATION, *FLAGS, TIME_NS))
_NOT_ACTED: Final = frozenset((OBSERVATION, *FLAGS, TIME_NS, STEP_INDEX))


class EpisodeWriter(RecordingWriter):
    """Records episodes from values that the caller passes. Any number of episodes may be open at once.

    Args:
      directory: of the dataset; created if it does not exist.
      spec: of the declared fields, by name ("observation", "action", "reward", ...); None: there are none. With
        `strict=False` values that do not match are recorded unchanged, with one warning for each field.
      metadata: of this run.
      environment: the origin of the episodes; any recordable dict.
      record_time: whether to record `time_ns`, nanoseconds since the episode began. On by default, because there is no
        simulator with a fixed time step.
      options: `mode`, `policy` and others: see `RecorderOptions`.

    Raises:
      SpecError: the spec contradicts the existing dataset.
      DatasetExistsError: the mode does not allow an existing dataset.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory, EpisodeWriter(directory) as writer:
    ...     with writer.episode(metadata={"operator": "ada"}) as episode:
    ...         episode.start(0.0)
    ...         episode.step(action=1, reward=0.5, observation=0.1)
    ...         episode.step(action=0, reward=1.0, observation=0.2, terminated=True)
    ...     episode.rows
    3
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        spec: specs.Dict | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        environment: Mapping[str, Any] | None = None,
        record_time: bool = True,
        **options: Unpack[RecorderOptions],
    ) -> None:
        self.records_time = record_time
        action = None if spec is None else spec.fields.get(ACTION)
        self.check_action = None if action is None else ActionCheck(action)
        """None: the action is not declared."""
        self._recording = Recording(self, directory, spec, metadata=metadata, environment=environment, **options)

    @property
    def durable(self) -> dict[uuid.UUID, int]:
        """The number of durable rows of each open episode."""
        return self._recording.durable

    def episode(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        seed: object = None,
        options: object = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> "OpenEpisode":
        """Starts an episode; use it in a `with` statement, or call its `end`.

        Raises:
          UnsupportedTypeError: an argument contains a value that cannot be recorded.
          RecordingError: recording is not possible any more.
        """
        return OpenEpisode(self, metadata, seed, options, provenance)

    def write(  # noqa: PLR0913  all but two are keyword arguments with defaults
        self,
        observations: object,
        actions: object,
        rewards: object = None,
        *,
        next_observations: object = None,
        final_observation: object = MISSING,
        discounts: object = None,
        infos: object = None,
        ending: EpisodeEnd | None = None,
        terminated: object = False,
        truncated: object = False,
        acted: Mapping[str, object] | None = None,
        metadata: Mapping[str, Any] | None = None,
        seed: object = None,
        options: object = None,
        provenance: Mapping[str, Any] | None = None,
        **fields: object,
    ) -> uuid.UUID:
        """Records a whole episode of n actions from arrays, many times as fast as step by step.

        All values are arrays `[steps, ...]`, lists of one value for each step, or dicts or tuples of these, nested as
        the values of a step are. Times are only recorded if they are passed as `time_ns`.

        Args:
          observations: n + 1 of them; or n, and the final one, if known, is in `next_observations` or
            `final_observation`.
          actions: n of them, each in response to the observation of the same number.
          rewards: for the actions; None: there are none.
          next_observations: after each action: the observation of the next step, and the final one.
          final_observation: after the last action.
          discounts: for the actions; None: there are none.
          infos: with the observations; recorded as the field "info".
          ending: TERMINATED, TRUNCATED or INTERRUPTED; None: as the flags state, INTERRUPTED if none is set.
          terminated: Gymnasium's flag of the last step, or `[n]` flags of all.
          truncated: likewise; both may be set.
          acted: other fields that belong to the actions.
          metadata: of the episode.
          seed: of the reset that began it.
          options: of that reset.
          provenance: other data about its origin.
          fields: fields that belong to the observations; the final one may lack a value.

        Returns:
          The permanent id of the episode.

        Raises:
          SpecError: lengths do not agree, a flag is set before the last step, a declared field does not match and the
            writer is strict, or a name is reserved. Nothing of the episode is recorded.
          UnsupportedTypeError: a value cannot be recorded; nothing of the episode is.
          RecordingError: recording is not possible any more.

        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as directory, EpisodeWriter(directory) as writer:
        ...     episode = writer.write(np.zeros((4, 17)), np.zeros((3, 6)), [0.0, 0.5, 1.0], terminated=True)
        ...     len(writer.recorder.durable)
        0
        """
        plain = {"rewards": rewards, "discounts": discounts, "infos": infos}
        own = {name: each for name, each in plain.items() if each is not None}
        about_observations = {name: own.pop(name) for name in ("infos",) if name in own}
        found, results = sides(
            all_observations(observations, next_observations, final_observation),
            {**about_observations, **_named(fields, _NOT_OBSERVED - {TIME_NS} | {INFO})},
            {"actions": actions, **own, **_named(acted or {}, _NOT_ACTED | {*ACTED_FIELDS})},
        )
        flags = {"terminated": terminated, "truncated": truncated}
        is_set = {name: last_flag(name, each, results.length) for name, each in flags.items()}
        natural = EpisodeEnd.TRUNCATED if is_set["truncated"] else EpisodeEnd.INTERRUPTED
        end = ending or (EpisodeEnd.TERMINATED if is_set["terminated"] else natural)
        about: dict[str, Any] = {"metadata": metadata, "seed": seed, "options": options, "provenance": provenance}
        return self.write_rows(found, results, end, **is_set, **about)

    def write_rows(
        self,
        observed: ArrayRows,
        acted: ArrayRows,
        ending: EpisodeEnd,
        *,
        terminated: bool = False,
        truncated: bool = False,
        **about: Any,
    ) -> uuid.UUID:
        """Records a whole episode, or nothing of it.

        Args:
          observed: the observations, and other fields of the same steps.
          acted: the actions, and other fields of the action side.
          ending: of the episode.
          terminated: Gymnasium's flag.
          truncated: Gymnasium's flag; both may be set.
          about: metadata, seed, options and provenance, as `episode` takes them.

        Raises:
          As `write`.
        """
        episode = self.recorder.start_episode(**about)
        try:
            episode.extend(observed, acted)
            episode.end(ending, terminated=terminated, truncated=truncated)
        except BaseException:
            with contextlib.suppress(RecordingError):  # the recorder is closed or has failed, or the episode has ended
                episode.discard()
            raise
        return episode.id


class OpenEpisode:
    """An episode while it is written. Made by `EpisodeWriter.episode`.

    It ends when a step has `terminated` or `truncated`, or with `end`. Otherwise it ends as INTERRUPTED, on leaving
    the `with` statement: the end of an episode is never guessed.

    Attributes:
      id: permanent id of the episode.
    """

    def __init__(
        self,
        writer: EpisodeWriter,
        metadata: Mapping[str, Any] | None,
        seed: object,
        options: object,
        provenance: Mapping[str, Any] | None,
    ) -> None:
        self._writer = writer  # a reference: the writer must exist as long as its episodes
        self._episode = writer.recorder.start_episode(
            metadata=metadata, seed=seed, options=options, provenance=provenance
        )
        self.id = self._episode.id
        self._ended = False
        self._lacks_observation = False
        self._started_ns = 0

    @property
    def rows(self) -> int:
        """Number of rows so far: observations."""
        return self._episode.rows

    def start(self, observation: object, **fields: object) -> None:
        """Records the first observation.

        Args:
          observation: before the first action.
          fields: other fields of the observation side.

        Raises:
          RecordingError: the episode has started already, or recording is not possible any more.
          SpecError: a declared field does not match and the writer is strict, or a name is reserved.
          UnsupportedTypeError: a value cannot be recorded.
        """
        if self._episode.rows:
            raise RecordingError("the episode has started already; go on with step(), or begin another one")
        self._started_ns = time.monotonic_ns()
        self._episode.append(self._observed(observation, fields, self._started_ns))

    def step(
        self,
        action: object,
        reward: object,
        observation: object = MISSING,
        *,
        discount: object = None,
        terminated: bool = False,
        truncated: bool = False,
        acted: Mapping[str, Any] | None = None,
        **fields: object,
    ) -> None:
        """Records an action and its results.

        Args:
          action: in response to the previous observation.
          reward: for it; None: there is none.
          observation: after it; only a last step may lack it.
          discount: for it; None: there is none.
          terminated: the episode ends here, in a terminal state.
          truncated: the episode ends here, because of a limit.
          acted: other fields that belong to the action.
          fields: fields that belong to the observation.

        Warns:
          UserWarning: an action does not match its declaration; once.

        Raises:
          RecordingError: the episode has not started, has ended, or its last step had no observation; or nothing can
            be recorded any more.
          SpecError: a declared field does not match and the writer is strict, or a name is reserved.
          UnsupportedTypeError: a value cannot be recorded.
        """
        self._check_open()
        now = time.monotonic_ns()
        given = {ACTION: action, REWARD: reward, DISCOUNT: discount}
        done = {name: item for name, item in given.items() if name == ACTION or item is not None}
        done |= _named(acted or {}, _NOT_ACTED | given.keys())
        if observation is MISSING:
            if fields:
                raise SpecError(f"{', '.join(fields)}: belong to an observation, which this step lacks")
            self._episode.act(done)
            self._lacks_observation = True
        else:
            self._episode.append(self._observed(observation, fields, now), done)
        if (check := self._writer.check_action) is not None and check.is_due:
            check(action)
        if terminated or truncated:
            ending = EpisodeEnd.TERMINATED if terminated else EpisodeEnd.TRUNCATED
            self.end(ending, terminated=terminated, truncated=truncated)

    def end(
        self,
        ending: EpisodeEnd,
        *,
        terminated: bool = False,
        truncated: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Ends the episode.

        Args:
          ending: TERMINATED, TRUNCATED or INTERRUPTED.
          terminated: Gymnasium's flag.
          truncated: Gymnasium's flag; both may be set.
          metadata: added to the metadata of the start.

        Raises:
          ValueError: `ending` is INCOMPLETE, which only readers assign.
          RecordingError: the episode has ended already, or recording is not possible any more.
          UnsupportedTypeError: metadata cannot be recorded; the episode stays open.
        """
        self._episode.end(ending, terminated=terminated, truncated=truncated, metadata=metadata)
        self._ended = True

    def discard(self) -> None:
        """Discards the episode.

        Raises:
          RecordingError: the episode has ended already, or recording is not possible any more.
        """
        self._episode.discard()
        self._ended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ended:
            return
        try:
            self.end(EpisodeEnd.INTERRUPTED)
        except RecordingError as lost:
            if error is None:
                raise
            error.add_note(f"The episode could not be ended either: {lost}")

    def _check_open(self) -> None:
        if not self._episode.rows:
            raise RecordingError("the episode has no first observation yet; call start() before step()")
        if self._lacks_observation:
            raise RecordingError("the step before had no observation, which only the last one may lack; call end()")

    def _observed(self, observation: object, fields: Mapping[str, object], now: int) -> dict[str, Any]:
        row = {OBSERVATION: observation, **_named(fields, _NOT_OBSERVED)}
        if self._writer.records_time:
            row[TIME_NS] = now - self._started_ns
        return row


def _named(fields: Mapping[str, Any], taken: frozenset[str] | set[str]) -> Mapping[str, Any]:
    for name in fields:
        if name in taken:
            raise SpecError(f"{name}: this name is taken by a field of the step; call it something else")
    return fields

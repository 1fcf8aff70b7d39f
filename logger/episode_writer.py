"""Records without an environment: robots, games with people, converters."""

import os
import time
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self, Unpack

from rlds_kit import spec as specs
from rlds_kit.base.errors import RecordingError, SpecError
from rlds_kit.base.step import ACTION, DISCOUNT, FLAGS, OBSERVATION, REWARD, STEP_INDEX, TIME_NS, EpisodeEnd
from rlds_kit.logger.recorder_options import RecorderOptions
from rlds_kit.logger.recording import Recording
from rlds_kit.storage.recorder import Recorder


class _Missing:
    """The type of a placeholder for a missing observation."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""The placeholder for the observation of a last step that has none."""
_NOT_OBSERVED: Final = frozenset((ACTION, REWARD, DISCOUNT, OBSERVATION, *FLAGS, TIME_NS))
_NOT_ACTED: Final = frozenset((OBSERVATION, *FLAGS, TIME_NS, STEP_INDEX))


class EpisodeWriter:
    """Records episodes from values that the caller passes. Any number of episodes may be open at once.

    Args:
      directory: of the dataset; made if it is not there.
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
        self._recording = Recording(self, directory, spec, metadata=metadata, environment=environment, **options)

    @property
    def recorder(self) -> Recorder:
        """The recorder."""
        return self._recording.recorder

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

    def flush(self) -> None:
        """Returns when all recorded rows are durable.

        Raises:
          RecordingError: it could not be written.
        """
        self._recording.flush()

    def close(self) -> None:
        """Ends open episodes as INTERRUPTED and writes everything. Further calls do nothing.

        Raises:
          RecordingError: steps were lost.
        """
        self._recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class OpenEpisode:
    """An episode while it is written. Made by `EpisodeWriter.episode`.

    It ends when a step has `terminated` or `truncated`, or with `end`. Otherwise it ends as INTERRUPTED, on leaving
    the `with` statement: how an episode ended is never guessed.

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
        self._writer = writer  # a reference: the writer must live as long as its episodes
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
          observation: what is seen before the first action.
          fields: whatever belongs with it.

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

"""The shared part of all loggers: a recorder, its open episodes, and its lifetime."""

import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Unpack

from rlds_kit import spec as specs
from rlds_kit.closing import Closing
from rlds_kit.logger.lifetime import Lifetime
from rlds_kit.logger.recorder_options import RecorderOptions
from rlds_kit.storage.recorder import Recorder


class Recording:
    """Opens a recorder and closes it when its owner is closed, collected, or the process ends.

    Args:
      owner: the logger.
      directory: of the dataset.
      declared: the spec of the declared fields; None: there are none.
      metadata: of this run.
      environment: its provenance; see `provenance.py`.
      options: for the recorder.

    Attributes:
      recorder: of the episodes.
      check: raises RecordingError if recording is not possible any more: closed, failed, or in a forked child.

    Raises:
      As `Recorder` does.
    """

    def __init__(
        self,
        owner: object,
        directory: str | os.PathLike[str],
        declared: specs.Dict | None,
        *,
        metadata: Mapping[str, Any] | None,
        environment: Mapping[str, Any] | None,
        **options: Unpack[RecorderOptions],
    ) -> None:
        self.recorder = Recorder(directory, declared, metadata=metadata, environment=environment, **options)
        self.check = self.recorder.check  # no method: called for every step
        self._before_close: list[Callable[[], None]] = []
        self._lifetime = Lifetime(owner, self._close, f"{type(owner).__name__}({os.fspath(directory)!r})")

    def before_close(self, finish: Callable[[], None]) -> None:
        """Registers a callback that runs before the recorder is closed; it must not have a reference to the owner."""
        self._before_close.append(finish)

    def flush(self) -> None:
        """Returns when all recorded rows are durable; RecordingError if they could not be written."""
        self.recorder.flush()

    @property
    def durable(self) -> dict[uuid.UUID, int]:
        """The number of durable rows of each open episode."""
        return self.recorder.durable

    def close(self) -> None:
        """Ends open episodes as INTERRUPTED and writes everything; RecordingError if steps were lost."""
        self._lifetime.end()

    def _close(self) -> None:
        try:
            for finish in self._before_close:
                finish()
        finally:
            self.recorder.close()


class Recorded:
    """The base class of all loggers and writers. They set `_recording`."""

    _recording: Recording

    @property
    def recorder(self) -> Recorder:
        """The recorder, with `flush()` and `durable`."""
        return self._recording.recorder


class RecordingWriter(Recorded, Closing):
    """The base class of writers that record values from the caller, without an environment."""

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


def close_both(close_recording: Callable[[], None], close_environment: Callable[[], object]) -> None:
    """Closes both, the recorder first. If both fail, the recorder's error is raised from the environment's."""
    try:
        close_recording()
    except Exception as lost:
        try:
            close_environment()
        except Exception as error:
            raise lost from error
        raise
    close_environment()

"""Records episodes: buffers rows from the caller; a background thread compresses and writes them."""

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.closing import Closing
from rlds_kit.spec import value
from rlds_kit.spec.message import to_message
from rlds_kit.storage import directory as directories
from rlds_kit.storage.batch_recorder import BatchRecorder
from rlds_kit.storage.declared import DeclaredFields
from rlds_kit.storage.deviations import Deviations
from rlds_kit.storage.episode_messages import start_message
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.intake import Intake
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.shard_set import ShardSet

MEMORY_LIMIT: Final = 256 << 20
MAX_SHARD_BYTES: Final = 1 << 30


class Recorder(Closing):
    """Writes shards of one writer into one directory. Episodes may be recorded from several threads.

    Args:
      directory: created if it does not exist.
      declared: the spec of the declared fields; None: there are none.
      mode: for an existing dataset: "append" adds to it; "error" raises an error; "new" records into the first of
        `directory-2`, `directory-3`, ... that is free.
      policy: when rows are written and synced.
      metadata: of this run; any recordable dict.
      environment: id, keyword arguments, wrappers, versions: any recordable dict.
      about: name, description, citation and licence for dataset.json.
      max_shard_bytes: a shard of this size gets no new episodes.
      max_shard_episodes: a shard with this many episodes gets no new ones; None: no such limit.
      memory_limit: maximum bytes of buffered rows of all open episodes; at the limit, callers wait.
      strict: whether a value that does not match its declaration is an error; if not, it is recorded unchanged, with
        one warning for the field.

    Attributes:
      check: raises RecordingError if recording is not possible any more: closed, failed, or in a forked child.

    Raises:
      DatasetExistsError: the mode does not allow an existing dataset.
      SpecError: `declared` contradicts the existing dataset.
      OSError: the directory cannot be created or written.
    """

    def __init__(  # noqa: PLR0913  all are keyword arguments with defaults
        self,
        directory: str | os.PathLike[str],
        declared: specs.Dict | None = None,
        *,
        mode: str = "append",
        policy: FlushPolicy | None = None,
        metadata: Mapping[str, Any] | None = None,
        environment: Mapping[str, Any] | None = None,
        about: Mapping[str, str] | None = None,
        max_shard_bytes: int = MAX_SHARD_BYTES,
        max_shard_episodes: int | None = None,
        memory_limit: int = MEMORY_LIMIT,
        strict: bool = True,
    ) -> None:
        if policy is not None and not isinstance(policy, FlushPolicy):
            raise TypeError(f"policy: expected a FlushPolicy such as FlushPolicy.every_step(), got {policy!r}")
        unknown = sorted(set(about or {}) - set(directories.ABOUT))
        if unknown:
            raise ValueError(f"about: expected the keys {', '.join(directories.ABOUT)}, got {', '.join(unknown)}")
        self.policy = policy or FlushPolicy()
        self.declared = declared or specs.Dict({})
        header = pb.ShardHeader(
            spec=to_message(self.declared),
            metadata=value.encode(dict(metadata or {}), "metadata"),
            environment=value.encode(dict(environment or {}), "environment"),
        )
        self.directory: Path = directories.prepare(Path(directory), mode, self.declared, about or {}, header)
        shards = ShardSet(
            self.directory, header, max_shard_bytes, max_shard_episodes, cut_heavy_blocks=self.policy.block_rows is None
        )
        self._deviations = Deviations(strict=strict)
        self._intake = Intake(shards, self.policy, memory_limit)
        self.check = self._intake.check  # no method of its own: called for every step

    def start_episode(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        seed: object = None,
        options: object = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> EpisodeRecorder:
        """Starts an episode; any number may be open at once.

        Raises:
          UnsupportedTypeError: metadata, seed, options or provenance contain a value that cannot be recorded.
          RecordingError: the recorder is closed, has failed, or belongs to another process.
        """
        self._intake.check()
        start = start_message(metadata=metadata, seed=seed, options=options, provenance=provenance)
        return EpisodeRecorder(self._intake, DeclaredFields(self.declared, self._deviations), start)

    def start_batch(self, lanes: int) -> BatchRecorder:
        """Prepares the recording of environments that step together; any number of recorders may be open at once.

        Raises:
          RecordingError: the recorder is closed, has failed, or belongs to another process.
        """
        self._intake.check()
        return BatchRecorder(self._intake, DeclaredFields(self.declared, self._deviations), lanes)

    def flush(self) -> None:
        """Returns when all recorded rows are durable.

        Raises:
          RecordingError: it could not be written.
        """
        self._intake.flush()

    @property
    def durable(self) -> dict[uuid.UUID, int]:
        """The number of durable rows of each open episode."""
        return {uuid.UUID(bytes=key): rows for key, rows in self._intake.durable().items()}

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._intake.closed

    def close(self) -> None:
        """Ends open episodes as INTERRUPTED, writes everything and closes the shards. Further calls do nothing.

        In a forked child it does nothing, because the shards belong to the parent.

        Raises:
          RecordingError: steps were lost; the message has their number.
        """
        self._intake.close()

    def __reduce__(self) -> str:
        raise TypeError("a recorder cannot be copied or pickled: it writes to a file; copy the environment beneath it")

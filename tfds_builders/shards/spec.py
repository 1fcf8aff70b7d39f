"""The spec of a shard, which a worker receives, and the info about the written shard, which it returns."""

import json
import os
import socket
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import xxhash

from rlds_kit.loader.last_step import LastStep

Format: TypeAlias = Literal["tfrecord", "array_record", "riegeli"]
"""Two formats of TensorFlow Datasets, and our own."""
FORMATS: Final[tuple[Format, ...]] = get_args(Format)


@dataclass(frozen=True, slots=True)
class EpisodeRef:
    """An episode and its source.

    Attributes:
      id: of the episode.
      shard: file name of the source's shard that contains it.
      steps: number of its steps.
      content_digest: as stored there; empty for an episode without an end.
    """

    id: uuid.UUID
    shard: str
    steps: int
    content_digest: bytes


@dataclass(frozen=True, slots=True)
class ShardSpec:
    """Everything a worker needs to write one shard; two workers with equal specs write equal bytes.

    Attributes:
      source: directory of the dataset that is read.
      directory: of the finished shard.
      file: its name.
      number: of the shard, from 0.
      count: of all shards.
      format: of the file.
      episodes: in the order of the shard.
      features: the JSON of the TFDS features; empty for "riegeli".
      shard_id: in the header of our own format.
      created_unix_ns: in the header of our own format.
      writer: in the header of our own format.
      last_step: what replaces the action of the last step in the formats of TFDS.

    >>> spec = ShardSpec(Path("a"), Path("b"), "s.riegeli", 0, 1, "riegeli", (), "", uuid.UUID(int=0), 0, "me")
    >>> spec.path.as_posix(), len(spec.digest)
    ('b/s.riegeli', 32)
    """

    source: Path
    directory: Path
    file: str
    number: int
    count: int
    format: Format
    episodes: tuple[EpisodeRef, ...]
    features: str
    shard_id: uuid.UUID
    created_unix_ns: int
    writer: str
    last_step: LastStep = "zeros"

    def __str__(self) -> str:
        return f"{self.file} (shard {self.number + 1} of {self.count})"

    @property
    def path(self) -> Path:
        """The file of the finished shard."""
        return self.directory / self.file

    @property
    def digest(self) -> str:
        """Identifies the content of the shard, independent of its directory."""
        episodes = [[each.id.hex, each.shard, each.steps, each.content_digest.hex()] for each in self.episodes]
        own = [self.file, self.number, self.count, self.format, self.features, self.shard_id.hex, self.writer]
        own += [] if self.last_step == "zeros" else [self.last_step]
        return xxhash.xxh3_128_hexdigest(json.dumps([own, self.created_unix_ns, episodes]).encode())


@dataclass(frozen=True, slots=True)
class EpisodeInfo:
    """An episode that was written.

    Attributes:
      id: of the episode.
      steps: number of steps written.
      digest: of its content, 16 bytes: the content digest in our own format; in those of TFDS, the digest of the values
        that TFDS returns.
    """

    id: uuid.UUID
    steps: int
    digest: bytes


def this_worker() -> str:
    """Host and process."""
    return f"{socket.gethostname()}/{os.getpid()}"


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """A finished shard. Processes exchange only this, never episodes.

    Attributes:
      file: its name.
      episodes: in its order.
      size: of the file, in bytes.
      file_digest: XXH3-128 of the file, 16 bytes.
      worker: host and process that wrote it; ignored in comparisons.
    """

    file: str
    episodes: tuple[EpisodeInfo, ...]
    size: int
    file_digest: bytes
    worker: str = field(default_factory=this_worker, compare=False)

    @property
    def steps(self) -> int:
        """The number of steps of all episodes."""
        return sum(episode.steps for episode in self.episodes)

    def to_json(self) -> dict[str, Any]:
        """Converts the spec to a value for JSON.

        >>> info = ShardInfo("a", (EpisodeInfo(uuid.UUID(int=1), 2, b"d"),), 3, b"f", "host/1")
        >>> ShardInfo.from_json(info.to_json()) == info
        True
        """
        episodes = [[each.id.hex, each.steps, each.digest.hex()] for each in self.episodes]
        own = {"file": self.file, "size": self.size, "file_digest": self.file_digest.hex(), "worker": self.worker}
        return {**own, "episodes": episodes}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "ShardInfo":
        """Restores an info from the result of `to_json`."""
        episodes = tuple(
            EpisodeInfo(uuid.UUID(hex=each), steps, bytes.fromhex(digest))
            for each, steps, digest in content["episodes"]
        )
        digest = bytes.fromhex(content["file_digest"])
        return cls(content["file"], episodes, content["size"], digest, content["worker"])

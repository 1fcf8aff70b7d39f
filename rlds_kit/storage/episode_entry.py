"""Where an episode lies in its shard."""

from dataclasses import dataclass, field

import numpy as np

from rlds_kit.storage import rlds_kit_pb2 as pb


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeEntry:
    """One episode as an index or a scan found it.

    Attributes:
      episode_id: 16-byte UUID.
      start: file position of its EpisodeStart; 0 when that is damaged.
      end: file position of its EpisodeEnd; 0 when there is none.
      ending: number of `rlds_kit_pb2.Ending`; UNKNOWN without an end.
      rows: steps that can be read, the last one included.
      blocks: `[n]` int64 file positions of its blocks.
      first_row: `[n]` int64, the first row any column of the block has.
      end_row: `[n]` int64, one past the last.
      content_digest: 16 bytes; empty without an end.
      is_cut: damaged bytes follow its last block, so more of it may have been there.
    """

    episode_id: bytes
    start: int
    end: int
    ending: int
    rows: int
    blocks: np.ndarray
    first_row: np.ndarray
    end_row: np.ndarray
    content_digest: bytes
    is_cut: bool = False

    def overlapping(self, begin: int, end: int) -> range:
        """Which blocks have columns in rows `[begin, end)`."""
        first = int(np.searchsorted(self.end_row, begin, "right"))
        last = int(np.searchsorted(self.first_row, end, "left"))
        return range(first, last)


@dataclass(slots=True)
class EpisodeBuilder:
    """Collects an entry while a shard is scanned."""

    episode_id: bytes
    start: int = 0
    end: pb.EpisodeEnd | None = None
    end_position: int = 0
    blocks: list[int] = field(default_factory=list)
    first_row: list[int] = field(default_factory=list)
    end_row: list[int] = field(default_factory=list)
    is_cut: bool = False

    def add_block(self, position: int, header: pb.BlockHeader) -> None:
        """Adds a block, in file order."""
        self.blocks.append(position)
        self.first_row.append(header.first_row)
        self.end_row.append(header.end_row)

    def entry(self) -> EpisodeEntry:
        """What has been found so far."""
        seen = max(self.end_row, default=0)
        return EpisodeEntry(
            episode_id=self.episode_id,
            start=self.start,
            end=self.end_position,
            ending=pb.UNKNOWN if self.end is None else self.end.ending,
            rows=seen if self.end is None else self.end.rows,
            blocks=np.array(self.blocks, np.int64),
            first_row=np.array(self.first_row, np.int64),
            end_row=np.array(self.end_row, np.int64),
            content_digest=b"" if self.end is None else self.end.content_digest,
            is_cut=self.is_cut and self.end is None,
        )


def from_index(index: pb.EpisodeIndex) -> EpisodeEntry:
    """The entry that a closed shard's index holds."""
    return EpisodeEntry(
        episode_id=index.episode_id,
        start=index.start,
        end=index.end,
        ending=index.ending,
        rows=index.rows,
        blocks=np.cumsum(np.array(index.block, np.int64)),
        first_row=np.array(index.first_row, np.int64),
        end_row=np.array(index.end_row, np.int64),
        content_digest=index.content_digest,
    )

"""The positions of an episode in its shard."""

from dataclasses import dataclass

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeEntry:
    """One episode, from an index or a scan.

    Attributes:
      episode_id: 16-byte UUID.
      start: file position of its EpisodeStart; 0 if that is damaged.
      end: file position of its EpisodeEnd; 0 if there is none.
      ending: number of `rlds_kit_pb2.Ending`; UNKNOWN without an end.
      rows: steps that can be read, the last one included.
      blocks: `[n]` int64 file positions of its blocks.
      first_row: `[n]` int64, the first row of any column of the block.
      end_row: `[n]` int64, one past the last.
      content_digest: 16 bytes; empty without an end.
      is_cut: whether damaged bytes follow its last block, so that rows may be lost.
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
        """The blocks that have columns in rows `[begin, end)`."""
        first = int(np.searchsorted(self.end_row, begin, "right"))
        last = int(np.searchsorted(self.first_row, end, "left"))
        return range(first, last)


def content_digest_of(end: pb.EpisodeEnd | None) -> bytes:
    """The content digest of an end; empty if there is none, or zeros, which represent none in an index."""
    return b"" if end is None or not any(end.content_digest) else end.content_digest

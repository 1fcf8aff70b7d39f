"""The positions of an episode in its shard."""

from dataclasses import dataclass

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.sightings import SightedEpisode


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


def sighted(episode: SightedEpisode) -> EpisodeEntry:
    """Creates the entry from the records that a scan found."""
    end, headers = episode.end, [block.header for block in episode.blocks]
    return EpisodeEntry(
        episode_id=episode.episode_id,
        start=episode.start_position,
        end=episode.end_position,
        ending=pb.UNKNOWN if end is None else end.ending,
        rows=max((header.end_row for header in headers), default=0) if end is None else end.rows,
        blocks=np.array([block.position for block in episode.blocks], np.int64),
        first_row=np.array([header.first_row for header in headers], np.int64),
        end_row=np.array([header.end_row for header in headers], np.int64),
        content_digest=b"" if end is None else end.content_digest,
        is_cut=episode.is_cut and end is None,
    )


def from_index(index: pb.EpisodeIndex) -> EpisodeEntry:
    """Creates the entry from the index of a closed shard."""
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

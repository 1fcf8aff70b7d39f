"""The episodes of a shard as columns of NumPy arrays: a million of them open in a fraction of a second."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final, Self, overload

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.plausible import DIGEST_BYTES, ID_BYTES

_WIDTHS: Final = (1, 2, 4, 8)
"""Bytes of the numbers of a stored column."""


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeTable(Sequence[EpisodeEntry]):
    """Episodes, and the step blocks of all of them. Numbers may have any unsigned dtype: convert before arithmetic.

    Attributes:
      episode_id: `[episodes, 16]` uint8.
      start: `[episodes]`, as in `EpisodeEntry`, like all that follow.
      end: `[episodes]`.
      rows: `[episodes]`.
      ending: `[episodes]`.
      content_digest: `[episodes, 16]` uint8, zeros where there is none.
      is_cut: `[episodes]` bool.
      first_block: `[episodes]` int64, the number of the episode's first block.
      blocks: `[episodes]`, the number of its blocks.
      block: `[blocks]`, the positions of all blocks.
      first_row: `[blocks]`.
      end_row: `[blocks]`.
    """

    episode_id: np.ndarray
    start: np.ndarray
    end: np.ndarray
    rows: np.ndarray
    ending: np.ndarray
    content_digest: np.ndarray
    is_cut: np.ndarray
    first_block: np.ndarray
    blocks: np.ndarray
    block: np.ndarray
    first_row: np.ndarray
    end_row: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> EpisodeEntry: ...

    @overload
    def __getitem__(self, index: slice | np.ndarray) -> Self: ...

    def __getitem__(self, index: int | slice | np.ndarray) -> EpisodeEntry | Self:
        """One entry; or the table of several, which shares the arrays of the blocks."""
        if isinstance(index, slice | np.ndarray):
            chosen = {name: getattr(self, name)[index] for name in _OF_EPISODES}
            return type(self)(**chosen, block=self.block, first_row=self.first_row, end_row=self.end_row)
        first = int(self.first_block[index])
        blocks = slice(first, first + int(self.blocks[index]))
        digest = self.content_digest[index].tobytes()
        return EpisodeEntry(
            episode_id=self.episode_id[index].tobytes(),
            start=int(self.start[index]),
            end=int(self.end[index]),
            ending=int(self.ending[index]),
            rows=int(self.rows[index]),
            blocks=self.block[blocks].astype(np.int64),
            first_row=self.first_row[blocks].astype(np.int64),
            end_row=self.end_row[blocks].astype(np.int64),
            content_digest=digest if any(digest) else b"",
            is_cut=bool(self.is_cut[index]),
        )

    def listed(self) -> Self:
        """Returns the episodes that readers list: not those that were discarded, and not those without steps."""
        is_listed = (self.ending != pb.DISCARDED) & (self.rows > 0)
        return self if is_listed.all() else self[is_listed]

    def to_message(self, data_end: int) -> pb.EpisodeTable:
        """The stored form; `data_end` is the position of its record."""
        numbers = {name: _stored(getattr(self, name)) for name in _NUMBERS}
        ids, digests = self.episode_id.tobytes(), self.content_digest.tobytes()
        return pb.EpisodeTable(data_end=data_end, episode_id=ids, content_digest=digests, **numbers)


_OF_EPISODES: Final = tuple(
    each.name for each in fields(EpisodeTable) if each.name not in ("block", "first_row", "end_row")
)
_NUMBERS: Final = ("start", "end", "rows", "ending", "blocks", "block", "first_row", "end_row")


def from_message(stored: pb.EpisodeTable) -> EpisodeTable:
    """The inverse of `to_message`, without copying numbers.

    Raises:
      ValueError: columns have other lengths than they should.
    """
    count, rest = divmod(len(stored.episode_id), ID_BYTES)
    if rest or len(stored.content_digest) != count * DIGEST_BYTES:
        raise ValueError(f"ids of {len(stored.episode_id)} bytes and digests of {len(stored.content_digest)}")
    episodes = {name: _numbers(getattr(stored, name), count) for name in ("start", "end", "rows", "ending", "blocks")}
    ends = np.cumsum(episodes["blocks"], dtype=np.float64)  # float64, because integers could wrap around
    total = int(ends[-1]) if count else 0
    blocks = {name: _numbers(getattr(stored, name), total) for name in ("block", "first_row", "end_row")}
    return EpisodeTable(
        episode_id=np.frombuffer(stored.episode_id, np.uint8).reshape(count, ID_BYTES),
        content_digest=np.frombuffer(stored.content_digest, np.uint8).reshape(count, DIGEST_BYTES),
        is_cut=np.zeros(count, np.bool_),
        first_block=np.cumsum(episodes["blocks"], dtype=np.int64) - episodes["blocks"].astype(np.int64),
        **episodes,
        **blocks,
    )


def table_of(entries: Iterable[EpisodeEntry]) -> EpisodeTable:
    """The table of these episodes."""
    found = list(entries)
    blocks = np.array([len(each.blocks) for each in found], np.int64)
    digests = b"".join(each.content_digest or bytes(DIGEST_BYTES) for each in found)
    return EpisodeTable(
        episode_id=np.frombuffer(b"".join(each.episode_id for each in found), np.uint8).reshape(-1, ID_BYTES),
        start=np.array([each.start for each in found], np.int64),
        end=np.array([each.end for each in found], np.int64),
        rows=np.array([each.rows for each in found], np.int64),
        ending=np.array([each.ending for each in found], np.int32),
        content_digest=np.frombuffer(digests, np.uint8).reshape(-1, DIGEST_BYTES),
        is_cut=np.array([each.is_cut for each in found], np.bool_),
        first_block=np.cumsum(blocks) - blocks,
        blocks=blocks,
        block=_joined([each.blocks for each in found]),
        first_row=_joined([each.first_row for each in found]),
        end_row=_joined([each.end_row for each in found]),
    )


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def _stored(numbers: np.ndarray) -> bytes:
    """Unsigned little-endian integers of the fewest bytes that are enough for all."""
    largest = int(numbers.max(initial=0))
    width = next(width for width in _WIDTHS if largest < 1 << 8 * width)
    return numbers.astype(f"<u{width}").tobytes()


def _numbers(stored: bytes, count: int) -> np.ndarray:
    width = len(stored) // count if count else 0
    if len(stored) != width * count or (count and width not in _WIDTHS):
        raise ValueError(f"a column of {len(stored)} bytes for {count} numbers")
    return np.frombuffer(stored, f"<u{width}" if count else np.uint8)

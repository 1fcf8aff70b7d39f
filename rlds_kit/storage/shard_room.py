"""How many parts of episodes go into a shard before it is full, of parts that are written together."""

from typing import Final

from rlds_kit.riegeli.blocks import CHUNK_HEADER_SIZE
from rlds_kit.storage import block
from rlds_kit.storage.plausible import DIGEST_BYTES
from rlds_kit.storage.shard_writer import MAX_CHUNKS, ShardWriter

_DIGEST_FIELD: Final = 2 + DIGEST_BYTES
"""Bytes of EpisodeEnd.content_digest, with its tag and size."""
_MOST_FRAMING: Final = 3 * 128
"""Bytes of a part beside its records, at the most, but for one of each `_MOST_SHARE` bytes."""
_MOST_SHARE: Final = 1 << 10
_MOST_RECORDS: Final = 3
"""Of a part: its start, its block and its end. Each is a chunk."""


class ShardRoom:
    """What is known of a shard before parts are written.

    Args:
      shard: gets the parts.
      max_bytes: size of a full shard.
      max_episodes: number of episodes of a full shard; None: no limit.

    The size that the shard will have is known but for the framing of records: it is at least `_least`, and at most
    `_most` bytes more.
    """

    def __init__(self, shard: ShardWriter, max_bytes: int, max_episodes: int | None) -> None:
        self._max_bytes, self._least, self._most = max_bytes, shard.size, 0
        self._left = MAX_CHUNKS if max_episodes is None else max_episodes - shard.episodes
        self._chunks = shard.chunks

    def has_any(self, *, is_whole: bool) -> bool:
        """Whether another episode may begin in the shard.

        A whole one may as long as `_least` is below the limit. Another one may if the shard surely is not full then: if
        it is, that episode belongs to the next shard. The first one was assigned to this shard by the caller.
        """
        if is_whole:
            return self._left > 0 and self._least < self._max_bytes
        is_first = not self._most
        has_room = self._least + self._most < self._max_bytes and self._chunks < MAX_CHUNKS
        return is_first or (has_room and self._left > 0)

    def has_all(self, starts: int, parts: int, size: int) -> bool:
        """Whether parts surely do not fill the shard, whose messages and blocks have so many bytes."""
        most = self._least + parts * _MOST_FRAMING + size + size // _MOST_SHARE
        return most < self._max_bytes and self._chunks + _MOST_RECORDS * parts < MAX_CHUNKS and starts <= self._left

    def take(self, start: bytes, record: bytes, end: bytes) -> None:
        """Counts a part: its start and its end, if it has them, and the record of its block."""
        size = len(record)
        if start:
            size += block.record_size(len(start))
        if end:
            size += block.record_size(len(end) + _DIGEST_FIELD)
        self._least += size + _MOST_RECORDS * CHUNK_HEADER_SIZE
        self._most += _MOST_FRAMING + size // _MOST_SHARE
        self._left -= bool(start)
        self._chunks += _MOST_RECORDS

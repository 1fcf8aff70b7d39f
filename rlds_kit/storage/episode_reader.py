"""Reads the rows of an episode, only the columns that are wanted, and nothing that does not match its checksum."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from rlds_kit.errors import DamagedError, FormatError
from rlds_kit.riegeli import blocks
from rlds_kit.storage import column as columns
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage import shard_file
from rlds_kit.storage.block import BlockPrefix
from rlds_kit.storage.block_cache import BlockCache
from rlds_kit.storage.column import Column
from rlds_kit.storage.contents import parse_record
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.filters import Rows
from rlds_kit.storage.leaf import elements
from rlds_kit.storage.restore import Allocate, Stack, zeros
from rlds_kit.storage.shard_file import ShardFile

Wanted: TypeAlias = Callable[[str], bool]
"""Tells of a column's path whether to read it."""

_WHOLE_CHUNK_SHARE: Final = 0.5
"""Above this share of a block's bytes one read of all of it beats one read for each column."""


def everything(_: str) -> bool:
    """Wants every column."""
    return True


def fields(names: Iterable[str]) -> Wanted:
    """Wants the columns at or below these paths.

    >>> fields(["observation"])("observation/pixels"), fields(["observation"])("observation_valid")
    (True, False)
    """
    chosen = [elements(name) for name in names]

    @functools.lru_cache  # every block has the same few paths
    def wanted(path: str) -> bool:
        return any(elements(path)[: len(one)] == one for one in chosen)

    return wanted


class EpisodeReader:
    """Reads one episode of one shard.

    Args:
      file: the shard.
      entry: where in it the episode lies.
      cache: keeps decoded columns for the next read.
    """

    def __init__(self, file: ShardFile, entry: EpisodeEntry, cache: BlockCache) -> None:
        self._file, self._entry, self._cache = file, entry, cache

    def start(self) -> pb.EpisodeStart:
        """What was recorded at the episode's start.

        Raises:
          DamagedError: it is damaged.
        """
        if not self._entry.start:
            raise DamagedError(f"{self._file.path}: the start of the episode, with its metadata, is damaged")
        return self._message(self._entry.start).start

    def end(self) -> pb.EpisodeEnd | None:
        """What was recorded at its end; None without an end.

        Raises:
          DamagedError: it is damaged, or may have been in bytes that are.
        """
        if self._entry.end:
            return self._message(self._entry.end).end
        if self._entry.is_cut:
            raise DamagedError(
                f"{self._file.path}: the end of the episode may lie in damaged bytes; `rlds-kit verify` lists them, "
                "`rlds-kit repair` makes a copy in which the episode is incomplete"
            )
        return None

    def _message(self, position: int) -> pb.Record:
        return parse_record(self._file.record(position), self._file.place(position))

    def columns(self, begin: int, end: int, wanted: Wanted) -> dict[str, list[Column]]:
        """The columns that have values in rows `[begin, end)`, by path; they may have values in other rows too.

        Raises:
          DamagedError: a column that is wanted is damaged, or its block is missing.
        """
        found: dict[str, list[Column]] = {}
        for number in self._numbers(begin, end):
            for column in self._block(number, wanted, range(begin, end)):
                if len(column.rows) and column.rows[0] < end and column.rows[-1] >= begin:
                    found.setdefault(column.key.path, []).append(column)
        return found

    def blocks(self, begin: int, end: int, wanted: Wanted) -> Iterator[list[Column]]:
        """The wanted columns of each block that touches rows `[begin, end)`.

        Raises:
          DamagedError: a column that is wanted is damaged, or its block is missing.
        """
        for number in self._numbers(begin, end):
            yield self._block(number, wanted)

    def stacks(
        self,
        begin: int,
        end: int,
        wanted: Wanted,
        *,
        last: int | None = None,
        allocate: Allocate = zeros,
    ) -> dict[str, Stack]:
        """The wanted columns of rows `[begin, end)`, each leaf put together, by path.

        Blocks that lie wholly in these rows are decoded into place; they would only fill the cache.

        Args:
          begin: first row.
          end: one past the last.
          wanted: tells which columns.
          last: the last row that matters; rows after it may be there or not.
          allocate: makes the arrays.

        Raises:
          DamagedError: a column that is wanted is damaged, or its block is missing.
        """
        found: dict[str, Stack] = {}
        until = end if last is None else last + 1
        for number in self._numbers(begin, until):
            position = int(self._entry.blocks[number])
            prefix = self._prefix(number, position)
            headers = [
                header for header in prefix.header.columns if wanted(header.path) and _touches(header, begin, until)
            ]
            cached = self._cache.columns(position, headers)
            for column in cached.values():
                _stack(found, column.key.path, begin, end, allocate).add(column)
            rooms: dict[int, Rows] = {}
            for header in headers:
                if header.offset not in cached:
                    stack = _stack(found, header.path, begin, end, allocate)
                    room = stack.room_for(header, columns.key_of(header, self._file.place(position)))
                    if room is not None:
                        rooms[header.offset] = room
            missing = [header for header in headers if header.offset not in cached]
            fresh = self._read(position, prefix, missing, rooms) if missing else {}
            others = {offset: column for offset, column in fresh.items() if offset not in rooms}
            self._cache.add(position, others)
            for column in others.values():
                found[column.key.path].add(column)
        return found

    def paths(self, begin: int, end: int) -> list[str]:
        """The paths of all columns in the blocks that touch rows `[begin, end)`, without reading any column.

        Raises:
          DamagedError: a block's header is damaged.
        """
        numbers = self._entry.overlapping(begin, min(end + 1, self._entry.rows))
        found = {
            column.path: None
            for number in numbers
            for column in self._prefix(number, int(self._entry.blocks[number])).header.columns
        }
        return list(found)

    def _numbers(self, begin: int, end: int) -> range:
        """The blocks that touch rows `[begin, end)`."""
        # What was done in a step is written with the observation after it.
        end = min(end + 1, self._entry.rows)
        numbers = self._entry.overlapping(begin, end)
        self._require_complete(begin, end, numbers)
        return numbers

    def _require_complete(self, begin: int, end: int, numbers: range) -> None:
        at = begin
        for number in numbers:
            if int(self._entry.first_row[number]) > at:
                break
            at = int(self._entry.end_row[number])
        if at < end:
            raise DamagedError(
                f"{self._file.path}: steps {at} and following of the episode are in damaged bytes; `rlds-kit verify` "
                "lists them, `rlds-kit repair` saves the rest"
            )

    def _block(self, number: int, wanted: Wanted, rows: range | None = None) -> list[Column]:
        position = int(self._entry.blocks[number])
        prefix = self._prefix(number, position)
        headers = [
            header
            for header in prefix.header.columns
            if wanted(header.path) and (rows is None or _touches(header, rows.start, rows.stop))
        ]
        found = self._cache.columns(position, headers)
        missing = [header for header in headers if header.offset not in found]
        if missing:
            fresh = self._read(position, prefix, missing, {})
            self._cache.add(position, fresh)
            found |= fresh
        return [found[header.offset] for header in headers]

    def _prefix(self, number: int, position: int) -> BlockPrefix:
        prefix = self._cache.prefix(position)
        if prefix is None:
            prefix = shard_file.read_block_prefix(self._file, position)
            self._cache.add_prefix(position, prefix)
        header = prefix.header
        rows = (int(self._entry.first_row[number]), int(self._entry.end_row[number]))
        if header.episode_id != self._entry.episode_id or (header.first_row, header.end_row) != rows:
            raise DamagedError(
                f"{self._file.place(position)}: the block is not the one that the index names; run `rlds-kit repair`"
            )
        return prefix

    def _read(
        self, position: int, prefix: BlockPrefix, headers: list[pb.Column], rooms: Mapping[int, Rows]
    ) -> dict[int, Column]:
        """Columns of a block by their offset, decoded into their room if they have one."""
        place = self._file.place(position)
        _check_layout(prefix.header, headers, place)
        payload = self._payload(position, prefix, headers)
        return {
            header.offset: columns.decode(header, payload(header), place, rooms.get(header.offset))
            for header in headers
        }

    def _payload(
        self, position: int, prefix: BlockPrefix, headers: list[pb.Column]
    ) -> Callable[[pb.Column], bytes | memoryview]:
        """Fetches columns: with one read of the whole chunk where most of it is wanted, else one by one."""
        total = sum(header.length for header in prefix.header.columns)
        if sum(header.length for header in headers) > total * _WHOLE_CHUNK_SHARE:
            try:
                data = memoryview(self._file.chunk(position).data)[prefix.payload_base - blocks.CHUNK_HEADER_SIZE :]
            except DamagedError:
                pass  # perhaps the damage is in a column that nobody asked for
            else:
                return lambda header: data[header.offset : header.offset + header.length]
        base = prefix.payload_base
        return lambda header: shard_file.read_payload(self._file, position, base + header.offset, header.length)


def _stack(found: dict[str, Stack], path: str, begin: int, end: int, allocate: Allocate) -> Stack:
    if path not in found:
        found[path] = Stack(begin, end, allocate)
    return found[path]


def _touches(header: pb.Column, begin: int, end: int) -> bool:
    """Whether a column has rows in `[begin, end)`: the block after the last row has only what was done in it."""
    return header.first_row < end and header.first_row + header.count > begin


def _check_layout(header: pb.BlockHeader, wanted: Iterable[pb.Column], place: object) -> None:
    """Every column must lie in the rows that the block may touch."""
    for column in wanted:
        columns.check_header(column, place)
        if column.first_row + 1 < header.first_row or column.first_row + column.count > header.end_row:
            raise FormatError(f"{place}: column {column.path} has rows outside its block")

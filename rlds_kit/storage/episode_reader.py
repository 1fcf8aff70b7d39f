"""Reads rows of an episode: only the requested columns, and with verified checksums."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.remote.file import RemoteFile
from rlds_kit.remote.ranges import GAP, Range
from rlds_kit.riegeli import blocks
from rlds_kit.storage import column as columns
from rlds_kit.storage import shard_file
from rlds_kit.storage.block_cache import BlockCache
from rlds_kit.storage.block_layout import BlockLayout, read_block_layout
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import ColumnLayout
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.storage.leaf import elements
from rlds_kit.storage.restore import Allocate, Stack, empty
from rlds_kit.storage.rows import Rows
from rlds_kit.storage.shard_file import ShardFile

Wanted: TypeAlias = Callable[[str], bool]
"""A predicate on the path of a column: whether to read it."""
Payload: TypeAlias = Callable[[ColumnLayout], bytes | memoryview]
"""The stored bytes of a column."""

_ONE_READ_SHARE: Final = 0.5
"""If the requested columns have more than this share of the bytes that they span, one read of the span is faster than
one read for each."""

_BLOCKS_AHEAD: Final = 256
"""Number of blocks of remote files whose headers are fetched together."""
_BYTES_AHEAD: Final = 16 << 20
"""Bytes of columns of remote files that are fetched together."""


def everything(_: str) -> bool:
    """Selects every column."""
    return True


def _nothing(_: str) -> bool:
    return False


def fields(names: Iterable[str]) -> Wanted:
    """Selects the columns at or below these paths.

    >>> fields(["observation"])("observation/pixels"), fields(["observation"])("observation_valid")
    (True, False)
    """
    return _fields(tuple(names))


@functools.lru_cache
def _fields(names: tuple[str, ...]) -> Wanted:
    chosen = [elements(name) for name in names]

    @functools.lru_cache  # every block has the same few paths
    def wanted(path: str) -> bool:
        return any(elements(path)[: len(one)] == one for one in chosen)

    return wanted


class EpisodeReader:
    """Reads one episode of one shard.

    Args:
      file: the shard.
      entry: the positions of the episode in it.
      cache: for decoded columns.
    """

    def __init__(self, file: ShardFile, entry: EpisodeEntry, cache: BlockCache) -> None:
        self._file, self._entry, self._cache = file, entry, cache

    @property
    def place(self) -> str:
        """File and episode, for errors."""
        return f"{self._file.path}, episode {self._entry.episode_id.hex()}"

    def start(self) -> pb.EpisodeStart:
        """The record of the episode's start.

        Raises:
          DamagedError: it is damaged.
        """
        return start_of(self._file, self._entry)

    def end(self) -> pb.EpisodeEnd | None:
        """The record of its end; None without an end.

        Raises:
          DamagedError: it is damaged, or may have been in damaged bytes.
        """
        if self._entry.is_cut:
            raise DamagedError(
                f"{self._file.path}: the end of the episode may lie in damaged bytes; `rlds-kit verify` lists them, "
                "`rlds-kit repair` makes a copy in which the episode is incomplete"
            )
        return end_of(self._file, self._entry)

    def columns(self, begin: int, end: int, wanted: Wanted) -> dict[str, list[Column]]:
        """The columns with values in rows `[begin, end)`, by path; they may have values in other rows too.

        Raises:
          DamagedError: a requested column is damaged, or its block is missing.
        """
        found: dict[str, list[Column]] = {}
        for number in self._near(self._numbers(begin, end), wanted):
            for column in self._block(number, wanted, range(begin, end)):
                if len(column.rows) and column.rows[0] < end and column.rows[-1] >= begin:
                    found.setdefault(column.key.path, []).append(column)
        return found

    def blocks(self, begin: int, end: int, wanted: Wanted) -> Iterator[list[Column]]:
        """The requested columns of each block that intersects rows `[begin, end)`.

        Raises:
          DamagedError: a requested column is damaged, or its block is missing.
        """
        for number in self._near(self._numbers(begin, end), wanted):
            yield self._block(number, wanted)

    def stacks(
        self,
        begin: int,
        end: int,
        wanted: Wanted,
        *,
        last: int | None = None,
        allocate: Allocate = empty,
    ) -> dict[str, Stack]:
        """The requested columns of rows `[begin, end)`, stacked for each leaf, by path.

        Columns that are completely inside these rows are decoded directly into the result, and not cached; so are the
        requested rows of columns that are too large for the cache.

        Args:
          begin: first row.
          end: one past the last.
          wanted: selects the columns.
          last: the last required row; rows after it may be missing.
          allocate: makes the arrays.

        Raises:
          DamagedError: a requested column is damaged, or its block is missing.
        """
        found: dict[str, Stack] = {}
        until = end if last is None else last + 1
        for number in self._near(self._numbers(begin, until), wanted):
            block, position = self._layout(number), int(self._entry.blocks[number])
            cached = self._cache.columns(position)
            fresh: list[tuple[ColumnLayout, Stack, tuple[Rows, int] | None]] = []
            for column in block.columns(wanted):
                if column.first_row >= until or column.end_row <= begin:
                    continue  # a block also has the action of the step before it
                path = column.key.path
                if (stack := found.get(path)) is None:
                    stack = found[path] = Stack(begin, end, allocate)
                if column.offset in cached:
                    stack.add(cached[column.offset])
                else:
                    is_inside = begin <= column.first_row and column.end_row <= end
                    is_direct = is_inside or not self._cache.admits(column.row_count * column.row_bytes)
                    fresh.append((column, stack, stack.rows_for(column, until) if is_direct else None))
            if fresh:
                self._stack(position, block, fresh)
        return found

    def _stack(
        self,
        position: int,
        block: BlockLayout,
        fresh: Sequence[tuple[ColumnLayout, Stack, tuple[Rows, int] | None]],
    ) -> None:
        """Decodes columns directly into their stack if possible, else adds them to it."""
        place, others = self._file.place(position), dict[int, Column]()
        payload = self._payload(position, block, [column for column, _, _ in fresh])
        for column, stack, rows in fresh:
            if rows is None:
                others[column.offset] = read = columns.decode(column, payload(column), place)
                stack.add(read)
            else:
                columns.decode_into(column, payload(column), place, *rows)
        if others:
            self._cache.add(position, others)

    def paths(self, begin: int, end: int) -> list[str]:
        """The paths of all columns in the blocks that intersect rows `[begin, end)`, without reading any column.

        Raises:
          DamagedError: a block's header is damaged.
        """
        numbers = self._near(self._entry.overlapping(begin, min(end + 1, self._entry.rows)), _nothing)
        found = {path: None for number in numbers for path in self._layout(number).paths}
        return list(found)

    @property
    def plain_file(self) -> ShardFile | None:
        """The local shard that has the values as they are read; None if it is remote, or the episode is amended."""
        return self._file if type(self) is EpisodeReader and self._file.remote is None else None

    @property
    def remote(self) -> RemoteFile | None:
        """The reader of a remote shard; None for a local file."""
        return self._file.remote

    def header_ranges(self, begin: int, end: int) -> list[Range]:
        """The ranges of the headers of the blocks that intersect rows `[begin, end)`, except cached ones."""
        return self._header_ranges(self._entry.overlapping(begin, min(end + 1, self._entry.rows)))

    def payload_ranges(self, begin: int, end: int, wanted: Wanted) -> list[Range]:
        """The ranges of the requested columns of these blocks, except cached ones."""
        numbers = self._entry.overlapping(begin, min(end + 1, self._entry.rows))
        return [each for number in numbers for each in self._payload_ranges(number, wanted)]

    def _header_ranges(self, numbers: Sequence[int]) -> list[Range]:
        found = [(int(self._entry.blocks[number]), self._next_position(number)) for number in numbers]
        return [
            # A small block is fetched completely: a second request for its columns would take longer.
            Range(position, max(position + shard_file.FIRST_READ, after if after - position <= GAP else 0))
            for position, after in found
            if self._cache.layout(position) is None
        ]

    def _next_position(self, number: int) -> int:
        """The position of the episode's next record; records of other episodes may lie before it."""
        blocks = self._entry.blocks
        return int(blocks[number + 1]) if number + 1 < len(blocks) else self._entry.end

    def _payload_ranges(self, number: int, wanted: Wanted) -> list[Range]:
        try:
            block, position = self._layout(number), int(self._entry.blocks[number])
            cached = self._cache.columns(position)
            chosen = [column for column in block.columns(wanted) if column.offset not in cached]
        except (DamagedError, FormatError):
            return []  # raised when it is read
        base = block.payload_base
        places = [(base + column.offset, base + column.offset + column.length) for column in chosen if column.length]
        if len(chosen) == len(block.paths) and places:
            return [Range(position, blocks.physical(position, max(places, key=lambda place: place[1])[1] - 1) + 1)]
        return [
            Range(blocks.physical(position, first), blocks.physical(position, last - 1) + 1) for first, last in places
        ]

    def _near(self, numbers: range, wanted: Wanted) -> Iterable[int]:
        """Yields blocks; for remote files, fetches the requested ranges first, many concurrently."""
        return numbers if self._file.remote is None else self._fetched(self._file.remote, numbers, wanted)

    def _fetched(self, remote: RemoteFile, numbers: range, wanted: Wanted) -> Iterator[int]:
        for first in range(0, len(numbers), _BLOCKS_AHEAD):
            group, ranges, size = list[int](), list[Range](), 0
            remote.fetch(self._header_ranges(numbers[first : first + _BLOCKS_AHEAD]))
            for number in numbers[first : first + _BLOCKS_AHEAD]:
                found = self._payload_ranges(number, wanted)
                group.append(number)
                ranges += found
                size += sum(each.end - each.begin for each in found)
                if size >= _BYTES_AHEAD:
                    remote.fetch(ranges)
                    yield from group
                    group, ranges, size = [], [], 0
            remote.fetch(ranges)
            yield from group

    def _numbers(self, begin: int, end: int) -> range:
        """The numbers of the blocks that intersect rows `[begin, end)`."""
        # The action of a step is written with the observation after it.
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
        block, position = self._layout(number), int(self._entry.blocks[number])
        chosen = [
            column
            for column in block.columns(wanted)
            if rows is None or (column.first_row < rows.stop and column.end_row > rows.start)
        ]
        found = dict(self._cache.columns(position))
        missing = [column for column in chosen if column.offset not in found]
        if missing:
            place, payload = self._file.place(position), self._payload(position, block, missing)
            fresh = {column.offset: columns.decode(column, payload(column), place) for column in missing}
            self._cache.add(position, fresh)
            found |= fresh
        return [found[column.offset] for column in chosen]

    def _layout(self, number: int) -> BlockLayout:
        position = int(self._entry.blocks[number])
        layout = self._cache.layout(position)
        if layout is None:
            place = self._file.place(position)
            try:
                layout = read_block_layout(self._file, position)
            except FormatError as error:  # the shard itself was opened, so only this chunk is invalid
                raise DamagedError(f"{place}: {error}; run `rlds-kit repair`") from error
            self._cache.add_layout(position, layout)
        rows = (self._entry.first_row[number], self._entry.end_row[number])
        if layout.episode_id != self._entry.episode_id or (layout.first_row, layout.end_row) != rows:
            raise DamagedError(
                f"{self._file.place(position)}: the block is not the one that the index names; run `rlds-kit repair`"
            )
        return layout

    def _payload(self, position: int, block: BlockLayout, wanted: Sequence[ColumnLayout]) -> Payload:
        """Fetches columns. For a remote file their checksums are verified here, because they can be fetched again."""
        if self._file.remote is None:
            return self._fetched_payload(position, block, wanted)
        return self._file.sound(
            lambda: self._fetched_payload(position, block, wanted),
            lambda payload: all(columns.is_sound(column, payload(column)) for column in wanted),
        )

    def _fetched_payload(self, position: int, block: BlockLayout, wanted: Sequence[ColumnLayout]) -> Payload:
        """Fetches columns with one read if they are close together, else one by one."""
        base = block.payload_base
        first = min(column.offset for column in wanted)
        span = max(column.offset + column.length for column in wanted) - first
        if sum(column.length for column in wanted) > span * _ONE_READ_SHARE:
            data = memoryview(shard_file.read_payload(self._file, position, base + first, span))
            return lambda column: data[column.offset - first : column.offset - first + column.length]
        return lambda column: shard_file.read_payload(self._file, position, base + column.offset, column.length)

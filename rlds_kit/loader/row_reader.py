"""Reads steps anywhere in a dataset: without decoding what is stored as it is, and with a cache of the rest."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.loader.block_map import BlockMap, block_map
from rlds_kit.loader.layout import Leaf, layout, nested
from rlds_kit.loader.pool import Layouts, Nest, cast
from rlds_kit.loader.shared_cache import Entry, SharedCache
from rlds_kit.loader.source import Source
from rlds_kit.storage import column as columns
from rlds_kit.storage import filters, located
from rlds_kit.storage.located import Wanted
from rlds_kit.storage.rows import Part, Rows

_UNKNOWN, _ABSENT, _PLAIN, _CONSTANT, _CODED, _OTHER = range(6)
"""What is known about a leaf in a block: nothing; no column; rows as they are; one row for all; filtered or compressed;
a column for `EpisodeReader`."""
_COMPACT: Final = frozenset((pb.IDENTITY, pb.XOR_RUNS, pb.SPARSE_XOR, pb.SHUFFLE))
"""Filters that are cached without undoing them: any row is decoded from them at once, and frames take less memory."""
_CONSTANT_BYTES: Final = 1 << 10
"""Rows up to this size are kept if all rows of a block are equal."""


class NotFoundError(Exception):
    """Some steps must be read by `Pool`."""


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """Steps that are read.

    Attributes:
      steps: `[...]` int64, their numbers.
      block: `[n]` int64, the block with the observation of each.
      row: `[n]` int64, its number in its episode.
    """

    steps: np.ndarray
    block: np.ndarray
    row: np.ndarray


class _Leaf:
    """What is known about a leaf.

    Attributes:
      index: its number among all leaves.
      wanted: its columns.
      numbers: `[located.NUMBERS, blocks]` int64.
      kind: `[blocks]` uint8.
      checked: `[blocks]` bool, whether the checksum of plain rows was compared.
      constants: `[blocks, *shape]`, the row of blocks in which all are equal; shared by all of them, None if too large.
    """

    def __init__(self, index: int, wanted: Wanted, blocks: int) -> None:
        self.index, self.wanted = index, wanted
        self.numbers = np.zeros((located.NUMBERS, blocks), np.int64)  # memory is only taken for what is written
        self.kind = np.zeros(blocks, np.uint8)
        self.checked = np.zeros(blocks, np.bool_)
        is_small = wanted.row_bytes <= _CONSTANT_BYTES
        self.constants = np.zeros((blocks, *wanted.shape), wanted.dtype) if is_small else None

    def learn(self, blocks: np.ndarray, numbers: np.ndarray) -> None:
        """Adds what was found of some blocks, `[n, located.NUMBERS]`."""
        self.numbers[:, blocks] = numbers.T
        status, number, codec, length = (
            numbers[:, each] for each in (located.STATUS, located.FILTER, located.CODEC, located.LENGTH)
        )
        rows = numbers[:, located.END_ROW] - numbers[:, located.FIRST_ROW]
        is_stored = codec == pb.STORED
        kind = np.full(len(blocks), _CODED, np.uint8)
        kind[is_stored & (number == pb.IDENTITY) & (length == rows * self.wanted.row_bytes)] = _PLAIN
        if self.constants is not None:
            kind[is_stored & (number == pb.REPEAT) & (length == self.wanted.row_bytes)] = _CONSTANT
        kind[status == located.ABSENT] = _ABSENT
        kind[status == located.OTHER] = _OTHER
        self.kind[blocks] = kind


class RowReader:
    """Reads steps of a source by their numbers. Thread-safe. A pickled copy has read nothing.

    Args:
      source: of the steps.
      layouts: the leaves of every field.
      limit: bytes of the cache of decoded columns, which forked processes share.
    """

    def __init__(self, source: Source, layouts: Layouts, limit: int) -> None:
        self._source, self._layouts, self._limit = source, layouts, limit
        self._cache = SharedCache(limit)

    def __reduce__(self) -> tuple[type["RowReader"], tuple[Source, Layouts, int]]:
        return RowReader, (self._source, self._layouts, self._limit)

    @functools.cached_property
    def _blocks(self) -> BlockMap | None:
        return block_map(self._source) if self._wanted else None

    @functools.cached_property
    def _wanted(self) -> Mapping[Leaf, Wanted]:
        """The columns of every leaf; none if a leaf must be read by `Pool`."""
        recorded = {leaf.path: leaf for name in self._layouts for leaf in layout(self._source.spec, name, {})}
        leaves = [leaf for found in self._layouts.values() for leaf in found]
        found = {}
        for leaf in leaves:
            stored = recorded[leaf.path]
            wanted = Wanted(leaf.path, stored.dtype, stored.shape)
            if stored.spec is None or not wanted.is_findable:
                return {}
            found[leaf] = wanted
        return found if len(found) <= located.MOST_LEAVES else {}

    @functools.cached_property
    def _leaves(self) -> Mapping[Leaf, _Leaf]:
        blocks = self._blocks
        if blocks is None:
            return {}
        return {leaf: _Leaf(index, each, len(blocks)) for index, (leaf, each) in enumerate(self._wanted.items())}

    @functools.cached_property
    def _first_steps(self) -> np.ndarray:
        """`[blocks]` int64, the number among all steps of the first step of each."""
        blocks = self._required()
        return blocks.base + blocks.places["first_row"]

    def _required(self) -> BlockMap:
        if self._blocks is None:
            raise NotFoundError
        return self._blocks

    @property
    def is_able(self) -> bool:
        """Whether any step can be read."""
        return self._blocks is not None

    def leaves_of(self, name: str) -> tuple[Leaf, ...]:
        """The leaves of a field."""
        return self._layouts[name]

    def session(self) -> "Session":
        """For one batch."""
        return Session(self)

    def locate(self, steps: np.ndarray) -> _Steps:
        """Finds the columns of steps, `[...]` int64.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        blocks = self._required()
        flat = steps.reshape(-1)
        block = np.searchsorted(self._first_steps, flat, "right") - 1
        row = flat - blocks.base[block]
        if len(block) and (block.min() < 0 or (row >= np.minimum(blocks.rows, blocks.places["end_row"])[block]).any()):
            raise NotFoundError  # steps of an episode that is not mapped
        # The action of a step may be in the next block, with the observation after it.
        need = np.unique(np.concatenate([block, np.minimum(block + 1, len(blocks) - 1)]))
        for each in self._leaves.values():
            unknown = need[each.kind[need] == _UNKNOWN]
            if len(unknown):
                self._learn(unknown)
            if (each.kind[need] == _OTHER).any():
                raise NotFoundError
        return _Steps(steps, block, row)

    def _learn(self, unknown: np.ndarray) -> None:
        blocks, leaves = self._required(), [*self._leaves.values()]
        for file, part in blocks.parts(unknown):
            table = located.locate(file, blocks.places[part], [each.wanted for each in leaves])
            for number, each in enumerate(leaves):
                each.learn(part, table[:, number])

    def take(self, leaf: Leaf, at: _Steps) -> tuple[np.ndarray, np.ndarray]:
        """The values of a leaf.

        Returns:
          `[..., *leaf.shape]`, and `[...]` bool, which are defined; undefined ones are zeros.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        known, count = self._leaves[leaf], len(at.block)
        block, defined = self._columns(known, at)
        values = np.empty((count, *known.wanted.shape), known.wanted.dtype)
        if not defined.all():
            values[~defined] = 0
        kind = np.where(defined, known.kind[block], _ABSENT)
        for number, read in ((_PLAIN, self._take_plain), (_CONSTANT, self._take_constant), (_CODED, self._take_coded)):
            index = np.flatnonzero(kind == number)
            if len(index):
                read(known, block[index], at.row[index], index, values)
        shape = at.steps.shape
        return cast(leaf, values.reshape(*shape, *known.wanted.shape)), defined.reshape(shape)

    def _columns(self, known: _Leaf, at: _Steps) -> tuple[np.ndarray, np.ndarray]:
        """`[n]` the block that has the column of each step, and `[n]` bool whether there is one."""
        first, end = known.numbers[located.FIRST_ROW], known.numbers[located.END_ROW]
        block = at.block
        defined = (first[block] <= at.row) & (at.row < end[block])
        if not defined.all():
            blocks = self._required()
            following = np.minimum(block + 1, len(blocks) - 1)
            is_there = (blocks.episode[following] == blocks.episode[block]) & (first[following] <= at.row)
            is_there &= ~defined & (at.row < end[following])
            block = np.where(is_there, following, block)
            defined |= is_there
        return block, defined

    def _take_plain(
        self, known: _Leaf, block: np.ndarray, row: np.ndarray, index: np.ndarray, values: np.ndarray
    ) -> None:
        """Copies rows out of the file."""
        self._check(known, block)
        blocks, size = self._required(), known.wanted.row_bytes
        begins = _runs(block, row, index)
        requests = np.empty(len(begins), located.REQUEST)
        chosen = block[begins]
        requests["position"] = blocks.places["position"][chosen]
        rows = row[begins] - known.numbers[located.FIRST_ROW, chosen]
        requests["offset"] = known.numbers[located.OFFSET, chosen] + rows * size
        requests["length"] = np.diff(begins, append=len(index)) * size
        requests["to"] = index[begins] * size
        out = values.reshape(-1).view(np.uint8)
        for table in np.unique(blocks.table[chosen]).tolist():
            here = np.flatnonzero(blocks.table[chosen] == table)
            file = blocks.file(int(chosen[here[0]]))
            if file is None or located.read(file, requests[here], out, is_checked=False) < len(here):
                raise NotFoundError

    def _check(self, known: _Leaf, block: np.ndarray) -> None:
        """Compares the checksums of columns that were not read before."""
        fresh = np.unique(block[~known.checked[block]])
        if not len(fresh):
            return
        blocks = self._required()
        for file, part in blocks.parts(fresh):
            numbers = known.numbers[:, part].T
            memory = np.empty(int(numbers[:, located.LENGTH].max()), np.uint8)
            requests = blocks.requests(part, numbers, np.zeros(len(part), np.int64))
            if located.read(file, requests, memory, is_checked=True) < len(part):
                raise NotFoundError  # it raises the error
        known.checked[fresh] = True

    def _take_constant(
        self, known: _Leaf, block: np.ndarray, row: np.ndarray, index: np.ndarray, values: np.ndarray
    ) -> None:
        """Repeats the one row that a block has."""
        del row
        constants = known.constants
        if constants is None:
            raise NotFoundError
        fresh = np.unique(block[~known.checked[block]])
        blocks = self._required()
        for file, part in blocks.parts(fresh):
            numbers = known.numbers[:, part].T
            memory = np.empty((len(part), known.wanted.row_bytes), np.uint8)
            requests = blocks.requests(part, numbers, np.arange(len(part)) * known.wanted.row_bytes)
            if located.read(file, requests, memory.reshape(-1), is_checked=True) < len(part):
                raise NotFoundError
            constants[part] = memory.reshape(-1).view(known.wanted.dtype).reshape(len(part), *known.wanted.shape)
            known.checked[part] = True
        values[index] = constants[block]

    def _take_coded(
        self, known: _Leaf, block: np.ndarray, row: np.ndarray, index: np.ndarray, values: np.ndarray
    ) -> None:
        """Decodes rows, block by block."""
        begins = _runs(block, row, index)
        order = np.argsort(block[begins], kind="stable")
        ends = np.append(begins[1:], len(index))
        rows: Rows = values.reshape(len(values), -1).view(np.uint8)
        for first, end in zip(begins[order].tolist(), ends[order].tolist(), strict=True):
            number = int(block[first])
            out = rows[index[first] : index[first] + end - first]
            begin = int(row[first]) - int(known.numbers[located.FIRST_ROW, number])
            key = number * len(self._leaves) + known.index
            entry = self._cache.get(key)
            if entry is None or not _undo(known, number, entry, out, begin):
                self._decode(known, number, key, out, begin)

    def _decode(self, known: _Leaf, number: int, key: int, out: Rows, begin: int) -> None:
        """Decodes rows of a column, and adds all of it to the cache, in a form from which rows are decoded at once."""
        stored = known.wanted.layout(known.numbers[:, number])
        is_compact = stored.filter in _COMPACT
        part = Part(stored.row_count, begin)
        size = stored.decoded_length if is_compact else stored.row_count * stored.row_bytes
        payload = self._payload(known, number).data
        try:
            if not self._cache.admits(size):
                columns.decode_into(stored, payload, "", out, begin)
            elif is_compact:
                plain = columns.decompressed(stored, payload, "")
                filters.undo(stored.filter, plain, stored.dtype.itemsize, stored.shape, out, part)
                self._cache.put(key, stored.filter, plain)
            else:
                whole = np.empty((stored.row_count, stored.row_bytes), np.uint8)
                columns.decode_into(stored, payload, "", whole)
                out[...] = whole[begin : begin + len(out)]
                self._cache.put(key, pb.IDENTITY, whole.reshape(-1))
        except (DamagedError, FormatError, ValueError) as error:
            raise NotFoundError from error  # `Pool` raises the error, with its place

    def _payload(self, known: _Leaf, block: int) -> np.ndarray:
        blocks, index = self._required(), np.array([block])
        file, numbers = blocks.file(block), known.numbers[:, index].T
        payload = np.empty(int(numbers[0, located.LENGTH]), np.uint8)
        requests = blocks.requests(index, numbers, np.zeros(1, np.int64))
        if file is None or located.read(file, requests, payload, is_checked=True) < 1:
            raise NotFoundError
        return payload


class Session:
    """Reads the fields of one batch: most have the same steps, which are found once."""

    def __init__(self, reader: RowReader) -> None:
        self._reader, self._latest = reader, reader.locate(np.empty(0, np.int64))

    def take(self, name: str, steps: np.ndarray) -> tuple[Nest, Nest]:
        """Values of a field at steps of any shape `[...]`: the same as those of `Pool.take`.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        if not np.array_equal(self._latest.steps, steps):
            self._latest = self._reader.locate(steps)
        leaves = self._reader.leaves_of(name)
        found = {leaf: self._reader.take(leaf, self._latest) for leaf in leaves}
        return nested(leaves, lambda leaf: found[leaf][0]), nested(leaves, lambda leaf: found[leaf][1])


def _undo(known: _Leaf, block: int, entry: Entry, out: Rows, begin: int) -> bool:
    """Decodes rows of a column that is in the cache; returns whether it was still there."""
    width = known.wanted.row_bytes
    if entry.number == pb.IDENTITY:
        found = entry.read(begin * width, (begin + len(out)) * width)
        if found is not None:
            out[...] = found.reshape(out.shape)
        return found is not None
    found = entry.read(0, entry.size)
    if found is None:
        return False
    first, end = known.numbers[[located.FIRST_ROW, located.END_ROW], block].tolist()
    filters.undo(entry.number, found, known.wanted.dtype.itemsize, known.wanted.shape, out, Part(end - first, begin))
    return True


def _runs(block: np.ndarray, row: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The first of each run: consecutive rows of a block that go to consecutive places."""
    is_next = (np.diff(block) == 0) & (np.diff(row) == 1) & (np.diff(index) == 1)
    return np.concatenate([[0], np.flatnonzero(~is_next) + 1])

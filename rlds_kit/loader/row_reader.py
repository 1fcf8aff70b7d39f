"""Reads steps anywhere in a dataset: without decoding what is stored as it is, and with a cache of the rest."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.loader.block_map import BlockMap, block_map
from rlds_kit.loader.layout import Leaf, layout, nested
from rlds_kit.loader.memory import ReusableMemory
from rlds_kit.loader.pool import Layouts, Nest, cast
from rlds_kit.loader.shared_cache import PICK, SharedCache, native
from rlds_kit.loader.source import Source
from rlds_kit.storage import column as columns
from rlds_kit.storage import located
from rlds_kit.storage.located import Wanted
from rlds_kit.storage.rows import Rows
from rlds_kit.storage.runs import WIDE, runs

_UNKNOWN, _ABSENT, _PLAIN, _CODED, _OTHER = range(5)
"""What is known about a leaf in a block: nothing; no column; rows as they are; filtered or compressed; a column for
`EpisodeReader`."""
_IS_COMPACT: Final = np.isin(np.arange(256), (pb.IDENTITY, pb.XOR_RUNS, pb.SPARSE_XOR, pb.SHUFFLE))
"""Whether columns with a filter are cached without undoing it, by number of the filter: any row is decoded from them at
once, and frames take less memory."""
_MAY_BE_RUNS: Final = np.isin(np.arange(256), (pb.IDENTITY, pb.XOR, pb.REPEAT))
"""Whether frames with a filter may be cached as runs of changes, by number of the filter."""
_WORTH_RUNS: Final = 16
"""Frames that are compressed to a smaller part than this are cached as runs of changes."""
_SAMPLE: Final = 32
"""Blocks from which the size of all columns in the cache is estimated."""
_KEPT_SHARE: Final = 4
"""The smallest leaves, whose values at all steps together take less than this part of the cache, are cached as well."""


_memory: Final = ReusableMemory()
"""For large batches, whichever threads read them: the allocator gives memory of threads back to the system, and new
memory costs as much as reading into it."""


class NotFoundError(Exception):
    """Raised if some steps can only be read by `Pool`."""


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
    """What is known about the columns of a leaf so far.

    Attributes:
      index: its number among all leaves.
      wanted: its columns.
      numbers: `[located.NUMBERS, blocks]` int64.
      kind: `[blocks]` uint8.
      checked: `[blocks]` bool, whether the checksum of plain rows was compared, or the rows are in `cached`.
      cached: `[steps, *shape]`, the cache of decoded values of all steps that were read; None for large leaves.
    """

    def __init__(self, index: int, wanted: Wanted, blocks: int, cached_steps: int | None) -> None:
        self.index, self.wanted = index, wanted
        self.numbers = np.zeros((located.NUMBERS, blocks), np.int64)  # memory is only taken for what is written
        self.kind = np.zeros(blocks, np.uint8)
        self.checked = np.zeros(blocks, np.bool_)
        # Memory is only taken for what is written.
        self.cached = None if cached_steps is None else np.zeros((cached_steps, *wanted.shape), wanted.dtype)

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
        kind[status == located.ABSENT] = _ABSENT
        kind[(status == located.OTHER) | (number < 0) | (number >= len(_IS_COMPACT))] = _OTHER
        self.kind[blocks] = kind

    def sizes(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]`, bytes of the columns of some blocks in the cache; of frames that become runs, about."""
        first, end, decoded, number, length = (
            self.numbers[each, blocks]
            for each in (located.FIRST_ROW, located.END_ROW, located.DECODED, located.FILTER, located.LENGTH)
        )
        whole = (end - first) * self.wanted.row_bytes
        sizes: np.ndarray = np.where(_IS_COMPACT[number], decoded, whole)
        become_runs = self.become_runs(number, length, whole)
        sizes[become_runs] = whole[become_runs] // _WORTH_RUNS
        return sizes

    def become_runs(self, number: np.ndarray, length: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Whether columns are cached as runs of changes: by filter, stored bytes and bytes of the rows."""
        is_image = self.wanted.dtype.itemsize == 1 and self.wanted.row_bytes >= WIDE
        chosen: np.ndarray = _MAY_BE_RUNS[number] & (length * _WORTH_RUNS < whole) & is_image
        return chosen


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
        wanted = self._findable()
        # Made here and not when first needed, because threads that need it at the same time would make it twice.
        self._blocks = block_map(source) if wanted and native is not None else None
        self._leaves = self._known(wanted)
        blocks = self._blocks
        self._first_steps = np.empty(0, np.int64) if blocks is None else blocks.base + blocks.places["first_row"]

    def __reduce__(self) -> tuple[type["RowReader"], tuple[Source, Layouts, int]]:
        return RowReader, (self._source, self._layouts, self._limit)

    def _findable(self) -> Mapping[Leaf, Wanted]:
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

    def _known(self, wanted: Mapping[Leaf, Wanted]) -> Mapping[Leaf, _Leaf]:
        """Makes an object for each leaf that has none yet; all values of the smallest leaves are cached."""
        if self._blocks is None:
            return {}
        steps, found = int(self._source.lengths.sum()), {}
        left = self._limit // _KEPT_SHARE
        for index, (leaf, each) in sorted(enumerate(wanted.items()), key=lambda item: item[1][1].row_bytes):
            left -= steps * each.row_bytes
            found[leaf] = _Leaf(index, each, len(self._blocks), steps if left >= 0 else None)
        return found

    def _required(self) -> BlockMap:
        if self._blocks is None:
            raise NotFoundError
        return self._blocks

    @property
    def is_able(self) -> bool:
        """Whether any step can be read."""
        return self._blocks is not None

    @functools.cached_property
    def is_quick(self) -> bool:
        """Whether reading any steps is quick: they are stored as they are, or all columns fit into the cache."""
        if self._blocks is None:
            return False
        chosen = np.unique(np.linspace(0, len(self._blocks) - 1, _SAMPLE).astype(np.int64))
        expected = 0.0
        for each in self._leaves.values():
            self._learn(chosen[each.kind[chosen] == _UNKNOWN])
            if (each.kind[chosen] == _OTHER).any():
                return False
            coded = chosen[each.kind[chosen] == _CODED]
            if len(coded) and each.cached is None:
                expected += float(each.sizes(coded).sum()) / len(chosen) * len(self._blocks)
        return expected <= self._limit * (1 - 1 / _KEPT_SHARE)

    def leaves_of(self, name: str) -> tuple[Leaf, ...]:
        """The leaves of a field."""
        return self._layouts[name]

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
            self._learn(need[each.kind[need] == _UNKNOWN])
            if (each.kind[need] == _OTHER).any():
                raise NotFoundError
        return _Steps(steps, block, row)

    def _learn(self, unknown: np.ndarray) -> None:
        if not len(unknown):
            return
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
        values = _memory.empty((count, *known.wanted.shape), known.wanted.dtype)
        if not defined.all():
            values[~defined] = 0
        kind = np.where(defined, known.kind[block], _ABSENT)
        plain = self._take_cached if known.cached is not None else self._take_plain
        coded = self._take_cached if known.cached is not None else self._take_coded
        for number, read in ((_PLAIN, plain), (_CODED, coded)):
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

    def _take_cached(
        self, known: _Leaf, block: np.ndarray, row: np.ndarray, index: np.ndarray, values: np.ndarray
    ) -> None:
        """Copies rows of a small leaf, all decoded values of which are cached."""
        blocks, cached = self._required(), known.cached
        if cached is None:
            raise NotFoundError
        rows: Rows = cached.reshape(len(cached), -1).view(np.uint8)
        for number in np.unique(block[~known.checked[block]]).tolist():
            stored = known.wanted.layout(known.numbers[:, number])
            base, end = int(blocks.base[number]), min(stored.end_row, int(blocks.rows[number]))
            # Not decoded in place: another thread may have done so before, and be reading these rows.
            decoded = np.empty((end - stored.first_row, stored.row_bytes), np.uint8)
            self._decode_into(known, number, decoded, 0)
            rows[base + stored.first_row : base + end] = decoded
            known.checked[number] = True
        values[index] = cached[blocks.base[block] + row]

    def _take_coded(
        self, known: _Leaf, block: np.ndarray, row: np.ndarray, index: np.ndarray, values: np.ndarray
    ) -> None:
        """Decodes rows of columns, which are cached in a form from which any row is decoded at once."""
        rows = row - known.numbers[located.FIRST_ROW, block]
        order = np.lexsort((rows, block))
        picks = np.empty(len(order), PICK)
        picks["row"], picks["to"] = rows[order], index[order]
        found, first, counts = np.unique(block[order], return_index=True, return_counts=True)
        keys = found * len(self._leaves) + known.index
        totals = known.numbers[located.END_ROW, found] - known.numbers[located.FIRST_ROW, found]
        out: Rows = values.reshape(len(values), -1).view(np.uint8)

        def taken(chosen: np.ndarray) -> np.ndarray:  # closes over what describes the picks
            """Takes the rows of some columns; returns those that are not in the cache."""
            columns, is_there = self._cache.find(keys[chosen])
            columns["total"], columns["first_pick"], columns["picks"] = totals[chosen], first[chosen], counts[chosen]
            is_there[is_there] = self._cache.take(columns[is_there], picks, out, known.wanted.dtype.itemsize)
            absent: np.ndarray = chosen[~is_there]
            return absent

        missing = taken(np.arange(len(found)))
        for group in self._groups(known, found, missing):
            admitted = [each for each in group.tolist() if self._add(known, int(found[each]), int(keys[each]))]
            for each in {*group.tolist()} - {*admitted} | {*taken(np.array(admitted, np.int64)).tolist()}:
                for pick in picks[first[each] : first[each] + counts[each]]:
                    to, begin = int(pick["to"]), int(pick["row"])
                    self._decode_into(known, int(found[each]), out[to : to + 1], begin)

    def _groups(self, known: _Leaf, blocks: np.ndarray, missing: np.ndarray) -> list[np.ndarray]:
        """Divides columns so that the cache can hold those of each part together."""
        if not len(missing):
            return []
        sizes = np.cumsum(known.sizes(blocks[missing]))
        return np.split(missing, np.flatnonzero(np.diff(sizes // max(1, self._limit // 4)) > 0) + 1)

    def _add(self, known: _Leaf, block: int, key: int) -> bool:
        """Adds a column to the cache; returns False if it is too large."""
        stored = known.wanted.layout(known.numbers[:, block])
        is_compact = bool(_IS_COMPACT[stored.filter])
        size = stored.row_count * stored.row_bytes
        if known.become_runs(*map(np.array, (stored.filter, stored.length, size))):
            rows = np.empty((stored.row_count, stored.row_bytes), np.uint8)
            self._decode_into(known, block, rows, 0)
            self._cache.put(key, pb.XOR_RUNS, runs(rows))
        elif not self._cache.admits(stored.decoded_length if is_compact else size):
            return False
        elif is_compact:
            try:
                plain = columns.decompressed(stored, self._payload(known, block).data, "")
            except FormatError as error:
                raise NotFoundError from error
            self._cache.put(key, stored.filter, plain)
        else:
            rows = np.empty((stored.row_count, stored.row_bytes), np.uint8)
            self._decode_into(known, block, rows, 0)
            self._cache.put(key, pb.IDENTITY, rows.reshape(-1))
        return True

    def _decode_into(self, known: _Leaf, block: int, out: Rows, begin: int) -> None:
        stored = known.wanted.layout(known.numbers[:, block])
        try:
            columns.decode_into(stored, self._payload(known, block).data, "", out, begin)
        except (DamagedError, FormatError) as error:
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
    """Reads the fields of one batch: each once, although parts of it are requested one after the other.

    Args:
      reader: of the steps.
      needs: by field, `[B]` or `[B, k]` int64, all steps at which it is requested.
    """

    def __init__(self, reader: RowReader, needs: Mapping[str, np.ndarray]) -> None:
        self._reader, self._needs = reader, needs
        self._latest = reader.locate(np.empty(0, np.int64))
        self._values: dict[str, Mapping[Leaf, tuple[np.ndarray, np.ndarray]]] = {}

    def take(self, name: str, steps: np.ndarray) -> tuple[Nest, Nest]:
        """Values of a field at steps of any shape `[...]`: the same as those of `Pool.take`.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        needs, leaves = self._needs[name], self._reader.leaves_of(name)
        if needs.ndim == 2 and steps.ndim == 1 and needs.shape[1] > 1:  # one of the steps of each sample
            if name not in self._values:
                self._values[name] = self._read(leaves, np.ascontiguousarray(needs.T))
            column = next(at for at, each in enumerate(needs.T) if np.array_equal(each, steps))
            found = {
                leaf: (values[column], is_there[column]) for leaf, (values, is_there) in self._values[name].items()
            }
        else:
            found = dict(self._read(leaves, steps))
        return nested(leaves, lambda leaf: found[leaf][0]), nested(leaves, lambda leaf: found[leaf][1])

    def _read(self, leaves: Sequence[Leaf], steps: np.ndarray) -> Mapping[Leaf, tuple[np.ndarray, np.ndarray]]:
        if not np.array_equal(self._latest.steps, steps):  # most fields have the same steps, which are found once
            self._latest = self._reader.locate(steps)
        return {leaf: self._reader.take(leaf, self._latest) for leaf in leaves}


def _runs(block: np.ndarray, row: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The first of each run: consecutive rows of a block that go to consecutive places."""
    is_next = (np.diff(block) == 0) & (np.diff(row) == 1) & (np.diff(index) == 1)
    return np.concatenate([[0], np.flatnonzero(~is_next) + 1])

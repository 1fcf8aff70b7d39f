"""A large field: its rows are read out of the files, or decoded from columns in a cache."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.loader.block_map import BlockMap, Steps
from rlds_kit.loader.layout import Leaf
from rlds_kit.loader.memory import batch_memory
from rlds_kit.loader.scratch import scratch
from rlds_kit.loader.shared_cache import PICK, SharedCache
from rlds_kit.storage import column as columns
from rlds_kit.storage import located
from rlds_kit.storage.located import Wanted
from rlds_kit.storage.rows import Rows
from rlds_kit.storage.runs import WIDE, runs
from rlds_kit.storage.shard_file import ShardFile

_UNKNOWN, _ABSENT, _PLAIN, _CODED = range(4)
"""What is known about a block: nothing; that it has no column; rows as they are; filtered or compressed ones."""
_IS_COMPACT: Final = np.isin(np.arange(256), (pb.IDENTITY, pb.XOR_RUNS, pb.SPARSE_XOR, pb.SHUFFLE))
"""Whether columns with a filter are cached without undoing it, by number of the filter: any row is decoded from them at
once, and frames take less memory."""
_MAY_BE_RUNS: Final = np.isin(np.arange(256), (pb.IDENTITY, pb.XOR, pb.REPEAT))
"""Whether frames with a filter may be cached as runs of changes, by number of the filter."""
_WORTH_RUNS: Final = 16
"""Frames that are compressed to a smaller part than this are cached as runs of changes."""
_IN_VAIN: Final = 3
"""If the rows of a leaf take this many times the cache, columns that would be cached as rows are not: most would be
evicted before they are used again, and it takes less to decode only the requested rows (docs/decisions/0083)."""
_RECENT: Final = 32
"""A column that was among the last so many that were decoded is cached nevertheless, because samples seem to be read in
order; but not if more columns than these are missing at once, as for a batch of a shuffle."""


class NotFoundError(Exception):
    """Raised if some steps can only be read by `Pool`."""


class StoredLeaf:
    """Where the columns of a leaf are, as far as they were found.

    Args:
      blocks: of all episodes.
      leaf: as it is stored.
      cache: of columns.
      key: of the leaf's first column in the cache.
      step: between the keys of columns of consecutive blocks.
      limit: bytes of the cache.
    """

    BLOCK_BYTES: Final = 8 * (located.NUMBERS + 1)
    """What is stored of each block."""

    def __init__(self, blocks: BlockMap, leaf: Leaf, cache: SharedCache, key: int, step: int, limit: int) -> None:
        self._blocks, self._cache, self._key, self._step, self._limit = blocks, cache, key, step, limit
        self.wanted = Wanted(leaf.path, leaf.dtype, leaf.shape)
        self._numbers = np.zeros((located.NUMBERS, len(blocks)), np.int64)  # memory is only taken for what is written
        self._kind = np.zeros(len(blocks), np.uint8)
        self._checked = np.zeros(len(blocks), np.bool_)  # whether the checksum of plain rows was compared
        self._is_large = int(blocks.row_counts().sum()) * self.wanted.row_bytes > _IN_VAIN * limit
        # Columns that were missing in the cache while it was in vain; and for each block, the count at its last time.
        self._decoded = _RECENT
        self._decoded_at = np.zeros(len(blocks), np.int64)

    def learn(self, file: ShardFile, part: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Adds what was found of some blocks; arguments and result as those of `CachedLeaf.learn`."""
        del file  # rows are read when they are requested
        self._numbers[:, part] = numbers.T
        status, number = numbers[:, located.STATUS], numbers[:, located.FILTER]
        kind = np.where(located.are_plain(numbers, self.wanted.row_bytes), _PLAIN, _CODED)
        kind[status == located.ABSENT] = _ABSENT
        self._kind[part] = kind
        is_sound: np.ndarray = (status != located.OTHER) & (number >= 0) & (number < len(_IS_COMPACT))
        return is_sound

    def cache_bytes(self, blocks: np.ndarray) -> int:
        """Bytes of the columns of some blocks in the cache; of frames that become runs, about."""
        return int(self._sizes(blocks[self._kind[blocks] == _CODED]).sum())

    def uses_cache(self, blocks: np.ndarray) -> bool:
        """Whether columns of some blocks are cached."""
        coded = blocks[self._kind[blocks] == _CODED]
        return not self._are_in_vain(coded).all()

    def has(self, at: Steps) -> np.ndarray:
        """`[n]` bool, at which steps there is a value in the blocks that are known."""
        return self._columns(at)[1]

    def take(self, at: Steps) -> tuple[np.ndarray, np.ndarray]:
        """Reads values; the result is as that of `CachedLeaf.take`.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        block, defined = self._columns(at)
        values = batch_memory.empty((len(block), *self.wanted.shape), self.wanted.dtype)
        if not defined.all():
            values[~defined] = 0
        kind = np.where(defined, self._kind[block], _ABSENT)
        for number, read in ((_PLAIN, self._take_plain), (_CODED, self._take_coded)):
            index = np.flatnonzero(kind == number)
            if len(index):
                read(block[index], at.row[index], index, values)
        return values, defined

    def _columns(self, at: Steps) -> tuple[np.ndarray, np.ndarray]:
        """`[n]` the block that has the column of each step, and `[n]` bool whether there is one."""
        first, end = self._numbers[located.FIRST_ROW], self._numbers[located.END_ROW]
        block = at.block
        defined = (first[block] <= at.row) & (at.row < end[block])
        if not defined.all():
            following = self._blocks.following(block)
            is_there = ~defined & (first[following] <= at.row) & (at.row < end[following])
            block = np.where(is_there, following, block)
            defined |= is_there
        return block, defined

    def _take_plain(self, block: np.ndarray, row: np.ndarray, index: np.ndarray, values: np.ndarray) -> None:
        """Copies rows out of the file."""
        self._check(block)
        blocks, size = self._blocks, self.wanted.row_bytes
        begins = _runs(block, row, index)
        requests = np.empty(len(begins), located.REQUEST)
        chosen = block[begins]
        requests["position"] = blocks.position[chosen]
        rows = row[begins] - self._numbers[located.FIRST_ROW, chosen]
        requests["offset"] = self._numbers[located.OFFSET, chosen] + rows * size
        requests["length"] = np.diff(begins, append=len(index)) * size
        requests["to"] = index[begins] * size
        out = values.reshape(-1).view(np.uint8)
        tables = blocks.table(chosen)
        for table in np.unique(tables).tolist():
            here = np.flatnonzero(tables == table)
            file = blocks.file(int(chosen[here[0]]))
            if file is None or located.read(file, requests[here], out, is_checked=False) < len(here):
                raise NotFoundError

    def _check(self, block: np.ndarray) -> None:
        """Compares the checksums of columns that were not read before."""
        fresh = np.unique(block[~self._checked[block]])
        if not len(fresh):
            return
        for file, part in self._blocks.parts(fresh):
            numbers = self._numbers[:, part].T
            memory = np.empty(int(numbers[:, located.LENGTH].max()), np.uint8)
            requests = self._blocks.requests(part, numbers, np.zeros(len(part), np.int64))
            if located.read(file, requests, memory, is_checked=True) < len(part):
                raise NotFoundError  # it raises the error
        self._checked[fresh] = True

    def _take_coded(self, block: np.ndarray, row: np.ndarray, index: np.ndarray, values: np.ndarray) -> None:
        """Decodes rows of columns, which are cached in a form from which any row is decoded at once."""
        rows = row - self._numbers[located.FIRST_ROW, block]
        order = np.lexsort((rows, block))
        picks = np.empty(len(order), PICK)
        picks["row"], picks["to"] = rows[order], index[order]
        found, first, counts = np.unique(block[order], return_index=True, return_counts=True)
        keys = found * self._step + self._key
        totals = self._numbers[located.END_ROW, found] - self._numbers[located.FIRST_ROW, found]
        out: Rows = values.reshape(len(values), -1).view(np.uint8)

        def taken(chosen: np.ndarray) -> np.ndarray:  # closes over what describes the picks
            """Takes the rows of some columns; returns those that are not in the cache."""
            columns, is_there = self._cache.find(keys[chosen])
            columns["total"], columns["first_pick"], columns["picks"] = totals[chosen], first[chosen], counts[chosen]
            is_there[is_there] = self._cache.take(columns[is_there], picks, out, self.wanted.dtype.itemsize)
            absent: np.ndarray = chosen[~is_there]
            return absent

        missing = taken(np.arange(len(found)))
        is_alone = self._are_in_vain(found[missing])
        if is_alone.any():
            is_alone &= ~self._note_recent(found[missing])
        alone = missing[is_alone].tolist()
        for group in self._groups(found, missing[~is_alone]):
            admitted = [each for each in group.tolist() if self._add(int(found[each]), int(keys[each]))]
            alone += {*group.tolist()} - {*admitted} | {*taken(np.array(admitted, np.int64)).tolist()}
        if not alone:
            return
        for each, payload in zip(alone, self._payloads(found[alone], is_checked=False), strict=True):
            self._decode_picks(int(found[each]), payload, picks[first[each] : first[each] + counts[each]], out)

    def _are_in_vain(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]` bool, which coded columns are likely to be evicted from the cache before they are used again."""
        if not self._is_large:
            return np.zeros(len(blocks), np.bool_)
        in_vain: np.ndarray = ~_IS_COMPACT[self._numbers[located.FILTER, blocks]] & ~self._become_runs(blocks)
        return in_vain

    def _note_recent(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]` bool, which columns were among the last that were missing in the cache; adds all of these to them.

        Threads need no lock: at worst a column is decoded once more, or cached in vain.
        """
        found: np.ndarray = (self._decoded_at[blocks] > self._decoded - _RECENT) & (len(blocks) <= _RECENT)
        self._decoded_at[blocks] = self._decoded + np.arange(1, len(blocks) + 1)
        self._decoded += len(blocks)
        return found

    def _decode_picks(self, block: int, payload: np.ndarray, picks: np.ndarray, out: Rows) -> None:
        """Decodes rows of a column, in ascending order, and those between them, without the cache."""
        rows, places = picks["row"].tolist(), picks["to"].tolist()
        first, end, begin = rows[0], rows[-1] + 1, places[0]
        if len(rows) == end - first and rows == [*range(first, end)] and places == [*range(begin, begin + len(rows))]:
            self._decode_into(block, payload, out[begin : begin + len(rows)], first)
            return
        decoded = scratch.array(self.wanted.path, (end - first, out.shape[1]), out.dtype)
        self._decode_into(block, payload, decoded, first)
        for row, place in zip(rows, places, strict=True):
            out[place] = decoded[row - first]

    def _groups(self, blocks: np.ndarray, missing: np.ndarray) -> list[np.ndarray]:
        """Divides columns so that the cache can hold those of each part together."""
        if not len(missing):
            return []
        sizes = np.cumsum(self._sizes(blocks[missing]))
        return np.split(missing, np.flatnonzero(np.diff(sizes // max(1, self._limit // 4)) > 0) + 1)

    def _sizes(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]`, bytes of coded columns in the cache; of frames that become runs, about."""
        is_compact, whole = _IS_COMPACT[self._numbers[located.FILTER, blocks]], self._row_bytes(blocks)
        sizes: np.ndarray = np.where(is_compact, self._numbers[located.DECODED, blocks], whole)
        become_runs = self._become_runs(blocks)
        sizes[become_runs] = whole[become_runs] // _WORTH_RUNS
        return sizes

    def _row_bytes(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]`, bytes of all rows of columns."""
        rows = self._numbers[located.END_ROW, blocks] - self._numbers[located.FIRST_ROW, blocks]
        return rows * self.wanted.row_bytes  # type: ignore[no-any-return]

    def _become_runs(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]` bool, which columns are cached as runs of changes."""
        number, length = self._numbers[located.FILTER, blocks], self._numbers[located.LENGTH, blocks]
        is_image = self.wanted.dtype.itemsize == 1 and self.wanted.row_bytes >= WIDE
        chosen: np.ndarray = _MAY_BE_RUNS[number] & (length * _WORTH_RUNS < self._row_bytes(blocks)) & is_image
        return chosen

    def _add(self, block: int, key: int) -> bool:
        """Adds a column to the cache; returns False if it is too large."""
        stored = self.wanted.layout(self._numbers[:, block])
        is_compact = bool(_IS_COMPACT[stored.filter])
        size = stored.row_count * stored.row_bytes
        become_runs = bool(self._become_runs(np.array([block]))[0])
        if not become_runs and not self._cache.admits(stored.decoded_length if is_compact else size):
            return False
        (payload,) = self._payloads(np.array([block]), is_checked=is_compact)
        if is_compact and not become_runs:
            try:
                plain = columns.decompressed(stored, payload.data, "")
            except FormatError as error:
                raise NotFoundError from error
            self._cache.put(key, stored.filter, plain)
            return True
        rows = np.empty((stored.row_count, stored.row_bytes), np.uint8)
        self._decode_into(block, payload, rows, 0)
        self._cache.put(key, *((pb.XOR_RUNS, runs(rows)) if become_runs else (pb.IDENTITY, rows.reshape(-1))))
        return True

    def _decode_into(self, block: int, payload: np.ndarray, out: Rows, begin: int) -> None:
        """Decodes rows of a column, whose checksum is compared."""
        stored = self.wanted.layout(self._numbers[:, block])
        try:
            columns.decode_into(stored, payload.data, "", out, begin)
        except (DamagedError, FormatError) as error:
            raise NotFoundError from error  # `Pool` raises the error, with its place

    def _payloads(self, blocks: np.ndarray, *, is_checked: bool) -> Iterator[np.ndarray]:
        """Reads columns, one after the other: `[length]` uint8.

        Args:
          blocks: of the columns.
          is_checked: whether to compare their checksums; False only if the caller does, as `_decode_into`.
        """
        numbers = self._numbers[:, blocks].T
        requests = self._blocks.requests(blocks, numbers, np.zeros(len(blocks), np.int64))
        latest, file = -1, None
        for at, table in enumerate(self._blocks.table(blocks).tolist()):
            if table != latest:  # one file at a time, because there may be more shards than files may be open
                latest, file = table, self._blocks.file(int(blocks[at]))
            payload = np.empty(int(requests["length"][at]), np.uint8)
            if file is None or located.read(file, requests[at : at + 1], payload, is_checked=is_checked) < 1:
                raise NotFoundError
            yield payload


def _runs(block: np.ndarray, row: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The first of each run: consecutive rows of a block that go to consecutive places."""
    is_next = (np.diff(block) == 0) & (np.diff(row) == 1) & (np.diff(index) == 1)
    return np.concatenate([[0], np.flatnonzero(~is_next) + 1])

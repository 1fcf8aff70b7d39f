"""A cache of recently decoded columns, so that the next step of the same block needs no decoding."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from rlds_kit.storage.block_layout import BlockLayout
from rlds_kit.storage.column import Column

CACHE_BYTES: Final = 64 << 20
LAYOUTS: Final = 1 << 15
"""Limit on the number of columns in all cached layouts; each takes some hundred bytes."""

COLUMN_BYTES: Final = 512
"""Overhead of a column besides its arrays, which matters for small fields."""

_PART: Final = 4
"""A column may take this part of the cache: a larger one would evict too many others."""

BlockKey = tuple[str, int]
"""A shard's name and a block's position in it."""


def weight(column: Column) -> int:
    """The bytes that a column takes in memory."""
    shapes = 0 if column.shapes is None else column.shapes.nbytes
    return COLUMN_BYTES + column.rows.nbytes + column.values.nbytes + shapes


class ColumnStore:
    """The cache of a dataset, for all its shards: bounded in bytes and thread-safe."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self.renew()

    def renew(self) -> None:
        """Empties the cache and creates a new lock."""
        self._lock = threading.Lock()
        self._columns: OrderedDict[BlockKey, dict[int, Column]] = OrderedDict()
        self._layouts: OrderedDict[BlockKey, BlockLayout] = OrderedDict()
        self._bytes = self._layout_columns = 0

    def columns(self, key: BlockKey) -> Mapping[int, Column]:
        """The cached columns of a block, by their offset."""
        if key not in self._columns:
            return {}
        with self._lock:
            found = self._columns.get(key)
            if found is None:
                return {}
            self._columns.move_to_end(key)
            return found.copy()

    def admits(self, nbytes: int) -> bool:
        """Whether a column with values of this many bytes is small enough for the cache."""
        return nbytes <= self._limit // _PART

    def add_columns(self, key: BlockKey, columns: Mapping[int, Column]) -> None:
        """Adds columns, and evicts those of the least recently used blocks."""
        small = {offset: column for offset, column in columns.items() if self.admits(weight(column))}
        if not small:
            return
        with self._lock:
            here = self._columns.setdefault(key, {})
            self._bytes += sum(weight(column) for offset, column in small.items() if offset not in here)
            here.update(small)
            self._columns.move_to_end(key)
            while self._bytes > self._limit:
                _, gone = self._columns.popitem(last=False)
                self._bytes -= sum(map(weight, gone.values()))

    def layout(self, key: BlockKey) -> BlockLayout | None:
        """The layout of a block, if it is cached."""
        return self._layouts.get(key)

    def add_layout(self, key: BlockKey, layout: BlockLayout) -> None:
        """Adds the layout of a block."""
        with self._lock:
            if key not in self._layouts:
                self._layout_columns += len(layout.paths) + 1
            self._layouts[key] = layout
            while self._layout_columns > LAYOUTS and len(self._layouts) > 1:
                self._layout_columns -= len(self._layouts.popitem(last=False)[1].paths) + 1


class BlockCache:
    """The part of a dataset's cache that belongs to one shard."""

    def __init__(self, store: ColumnStore, shard: str) -> None:
        self._store, self._shard = store, shard

    def columns(self, position: int) -> Mapping[int, Column]:
        """The cached columns of the block at `position`, by their offset."""
        return self._store.columns((self._shard, position))

    def add(self, position: int, columns: Mapping[int, Column]) -> None:
        """Adds columns of the block at `position`."""
        self._store.add_columns((self._shard, position), columns)

    def admits(self, nbytes: int) -> bool:
        """Whether a column with values of this many bytes is small enough for the cache."""
        return self._store.admits(nbytes)

    def layout(self, position: int) -> BlockLayout | None:
        """The layout of the block at `position`, if it is cached."""
        return self._store.layout((self._shard, position))

    def add_layout(self, position: int, layout: BlockLayout) -> None:
        """Adds the layout of the block at `position`."""
        self._store.add_layout((self._shard, position), layout)

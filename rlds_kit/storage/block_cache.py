"""Decoded columns that were read lately, so that the next step of the same block costs nothing."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from rlds_kit.storage.block_layout import BlockLayout
from rlds_kit.storage.column import Column

CACHE_BYTES: Final = 64 << 20
LAYOUTS: Final = 1 << 15
"""Columns, in all blocks whose layouts are kept: they take some hundred bytes each."""

COLUMN_BYTES: Final = 512
"""What a column takes beside its arrays, of which those of small fields are small."""

BlockKey = tuple[str, int]
"""A shard's name and a block's position in it."""


def weight(column: Column) -> int:
    """The bytes that a column takes in memory."""
    shapes = 0 if column.shapes is None else column.shapes.nbytes
    return COLUMN_BYTES + column.rows.nbytes + column.values.nbytes + shapes


class ColumnStore:
    """The cache of a dataset: of all its shards, bounded in bytes, safe to share between threads."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self.renew()

    def renew(self) -> None:
        """Begins anew, with a lock that nobody holds."""
        self._lock = threading.Lock()
        self._columns: OrderedDict[BlockKey, dict[int, Column]] = OrderedDict()
        self._layouts: OrderedDict[BlockKey, BlockLayout] = OrderedDict()
        self._bytes = self._layout_columns = 0

    def columns(self, key: BlockKey) -> Mapping[int, Column]:
        """The columns of a block that are still here, by their offset."""
        if key not in self._columns:
            return {}
        with self._lock:
            found = self._columns.get(key)
            if found is None:
                return {}
            self._columns.move_to_end(key)
            return found.copy()

    def add_columns(self, key: BlockKey, columns: Mapping[int, Column]) -> None:
        """Keeps columns, at the cost of those of the blocks not used for longest."""
        kept = {offset: column for offset, column in columns.items() if weight(column) <= self._limit // 4}
        if not kept:
            return
        with self._lock:
            here = self._columns.setdefault(key, {})
            self._bytes += sum(weight(column) for offset, column in kept.items() if offset not in here)
            here.update(kept)
            self._columns.move_to_end(key)
            while self._bytes > self._limit:
                _, gone = self._columns.popitem(last=False)
                self._bytes -= sum(map(weight, gone.values()))

    def layout(self, key: BlockKey) -> BlockLayout | None:
        """A block's layout, if it is still here."""
        return self._layouts.get(key)

    def add_layout(self, key: BlockKey, layout: BlockLayout) -> None:
        """Keeps a block's layout."""
        with self._lock:
            if key not in self._layouts:
                self._layout_columns += len(layout.columns) + 1
            self._layouts[key] = layout
            while self._layout_columns > LAYOUTS and len(self._layouts) > 1:
                self._layout_columns -= len(self._layouts.popitem(last=False)[1].columns) + 1


class BlockCache:
    """One shard's part of a dataset's cache."""

    def __init__(self, store: ColumnStore, shard: str) -> None:
        self._store, self._shard = store, shard

    def columns(self, position: int) -> Mapping[int, Column]:
        """Those columns of the block at `position` that are here, by their offset."""
        return self._store.columns((self._shard, position))

    def add(self, position: int, columns: Mapping[int, Column]) -> None:
        """Keeps columns of the block at `position`."""
        self._store.add_columns((self._shard, position), columns)

    def layout(self, position: int) -> BlockLayout | None:
        """The layout of the block at `position`, if it is here."""
        return self._store.layout((self._shard, position))

    def add_layout(self, position: int, layout: BlockLayout) -> None:
        """Keeps the layout of the block at `position`."""
        self._store.add_layout((self._shard, position), layout)

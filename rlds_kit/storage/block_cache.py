"""Decoded columns that were read lately, so that the next step of the same block costs nothing."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.block import BlockPrefix
from rlds_kit.storage.column import Column

CACHE_BYTES: Final = 64 << 20
PREFIXES: Final = 4096


class ColumnStore:
    """The cache of a dataset: of all its shards, bounded in bytes, safe to share between threads."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self.renew()

    def renew(self) -> None:
        """Begins anew, with a lock that nobody holds."""
        self._lock = threading.Lock()
        self._columns: OrderedDict[tuple[str, int, int], Column] = OrderedDict()
        self._prefixes: OrderedDict[tuple[str, int], BlockPrefix] = OrderedDict()
        self._bytes = 0

    def column(self, key: tuple[str, int, int]) -> Column | None:
        """A column, if it is still here."""
        with self._lock:
            column = self._columns.get(key)
            if column is not None:
                self._columns.move_to_end(key)
            return column

    def add_column(self, key: tuple[str, int, int], column: Column) -> None:
        """Keeps a column, at the cost of those not used for longest."""
        size = column.values.nbytes
        if size > self._limit // 4:
            return
        with self._lock:
            if key not in self._columns:
                self._bytes += size
            self._columns[key] = column
            while self._bytes > self._limit:
                self._bytes -= self._columns.popitem(last=False)[1].values.nbytes

    def prefix(self, key: tuple[str, int]) -> BlockPrefix | None:
        """A block's header, if it is still here."""
        return self._prefixes.get(key)

    def add_prefix(self, key: tuple[str, int], prefix: BlockPrefix) -> None:
        """Keeps a block's header."""
        with self._lock:
            self._prefixes[key] = prefix
            if len(self._prefixes) > PREFIXES:
                self._prefixes.popitem(last=False)


class BlockCache:
    """One shard's part of a dataset's cache."""

    def __init__(self, store: ColumnStore, shard: str) -> None:
        self._store, self._shard = store, shard

    def columns(self, position: int, headers: Iterable[pb.Column]) -> dict[int, Column]:
        """Those columns of the block at `position` that are here, by their offset."""
        found = {header.offset: self._store.column((self._shard, position, header.offset)) for header in headers}
        return {offset: column for offset, column in found.items() if column is not None}

    def add(self, position: int, columns: Mapping[int, Column]) -> None:
        """Keeps columns of the block at `position`."""
        for offset, column in columns.items():
            self._store.add_column((self._shard, position, offset), column)

    def prefix(self, position: int) -> BlockPrefix | None:
        """The header of the block at `position`, if it is here."""
        return self._store.prefix((self._shard, position))

    def add_prefix(self, position: int, prefix: BlockPrefix) -> None:
        """Keeps the header of the block at `position`."""
        self._store.add_prefix((self._shard, position), prefix)

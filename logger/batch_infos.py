"""Turns the batched infos of vector environments into columns.

Gymnasium batches infos key by key, with a mask under `_key` for the sub-environments that have it; see `vector_info`,
which splits them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.step import INFO
from rlds_kit.logger import vector_info
from rlds_kit.logger.batch_fields import as_array
from rlds_kit.spec.value import INT64_MAX, INT64_MIN
from rlds_kit.storage.array_columns import is_column
from rlds_kit.storage.batch_leaves import BatchLeaf
from rlds_kit.storage.declared import MAX_LEAVES, DeclaredFields
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey

Path = tuple[Any, ...]  # of names; other keys have no column
Found = tuple[ColumnKey, np.ndarray, np.ndarray]
"""A column, the values `[lanes, ...]`, and `[lanes]` bool, which lanes have one."""


class BatchInfos:
    """The columns of infos of so many lanes."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._all, self._none = np.ones(lanes, np.bool_), np.zeros(lanes, np.bool_)
        self._empty = np.broadcast_to(np.frombuffer(EMPTY_DICT, np.uint8), (lanes, len(EMPTY_DICT)))
        self._keys: dict[tuple[Path, object], ColumnKey | None] = {}

    def leaves(self, infos: Mapping[str, Any], fields: DeclaredFields) -> tuple[list[BatchLeaf], np.ndarray]:
        """The columns of infos, and `[lanes]` bool: which lanes have an info that must be recorded by itself.

        Raises:
          TypeError: they are no dict.
        """
        vector_info.check(infos)
        single = self._none.copy()
        found = list(self._walk(infos, (), self._all, single, fields))
        if len(found) > MAX_LEAVES:  # one by one, those that have so many are stored in another way
            return [], self._all
        leaves = []
        for key, values, mask in found:
            if mask.any():
                leaves.append(BatchLeaf(key, values, None if mask.all() else mask))
        return leaves, single

    def _walk(
        self, infos: Mapping[str, Any], path: Path, lanes: np.ndarray, single: np.ndarray, fields: DeclaredFields
    ) -> Iterator[Found]:
        """The columns below a path, of those lanes that have this path; marks lanes that must be recorded singly."""
        filled = self._none.copy()
        for key, item in infos.items():
            if vector_info.is_mask(key, infos):
                continue
            mask = lanes & self._mask(infos.get(f"_{key}"), single)
            filled |= mask
            batch = as_array(item)
            below = (*path, key)
            if isinstance(batch, Mapping):
                yield from self._walk(batch, below, mask, single, fields)
                continue
            if type(batch) in (bool, float) or (type(batch) is int and INT64_MIN <= batch <= INT64_MAX):
                batch = np.full(self._lanes, batch)
                column = self._key(below, item, fields)
            else:
                column = self._key(below, batch[0], fields) if is_column(batch, self._lanes) else None
            if column is None:
                single |= mask
            else:
                yield column, batch, mask
        empty = lanes & ~filled
        column = self._key(path, {}, fields) if empty.any() else None
        if column is not None:
            yield column, self._empty, empty

    def _mask(self, mask: Any, single: np.ndarray) -> np.ndarray:  # of any type in other people's infos
        if mask is None:
            return self._all
        if isinstance(mask, np.ndarray) and mask.shape == (self._lanes,) and mask.dtype == np.bool_:
            return mask
        single |= True
        return self._all

    def _key(self, path: Path, example: Any, fields: DeclaredFields) -> ColumnKey | None:  # an example of any type
        """The column of a value, as it is found for rows; None if it has no column of its own."""
        form = (example.dtype, example.ndim) if isinstance(example, np.ndarray | np.generic) else type(example)
        if (path, form) in self._keys:
            return self._keys[path, form]
        if len(self._keys) > MAX_LEAVES:
            self._keys.clear()
        info = example
        for name in reversed(path):
            info = {name: info}
        try:
            (key,) = fields.leaves({INFO: info}, {})[0].keys
        except RldsKitError:
            return None
        # A path cannot represent all keys; a dict that has others is recorded as one value.
        is_own = key.path.count("/") == len(path)
        self._keys[path, form] = key if is_own else None
        return self._keys[path, form]

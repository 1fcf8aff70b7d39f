"""Turns the batched infos of vector environments into columns.

Gymnasium batches infos key by key, with a mask under `_key` for the sub-environments that have it; see `vector_info`,
which splits them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.step import INFO
from rlds_kit.logger import vector_info
from rlds_kit.logger.batch_fields import as_array
from rlds_kit.spec.value import INT64_MAX, INT64_MIN
from rlds_kit.storage.array_columns import is_column
from rlds_kit.storage.array_form import example_of, is_alike
from rlds_kit.storage.batch_leaves import BatchLeaf
from rlds_kit.storage.declared import MAX_LEAVES, DeclaredFields
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey

Path = tuple[Any, ...]  # of names; other keys have no column
Found = tuple[ColumnKey, np.ndarray, np.ndarray]
"""A column, the values `[lanes, ...]`, and `[lanes]` bool, which lanes have one."""


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of infos that every lane has.

    Attributes:
      items: the name, an example and the column of each array; masks, which are true everywhere, have no column.
      empty: the column of infos without items.
    """

    items: list[tuple[str, np.ndarray, ColumnKey | None]]
    empty: list[BatchLeaf]


class BatchInfos:
    """The columns of infos of so many lanes."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._all, self._none = np.ones(lanes, np.bool_), np.zeros(lanes, np.bool_)
        self._empty = np.tile(np.frombuffer(EMPTY_DICT, np.uint8), (lanes, 1))  # in one piece: copied faster
        self._every = self._all.tobytes()
        self._keys: dict[tuple[Path, object], ColumnKey | None] = {}
        self._form: _Form | None = None

    def leaves(self, infos: Mapping[str, Any], fields: DeclaredFields) -> tuple[list[BatchLeaf], np.ndarray]:
        """The columns of infos, and `[lanes]` bool: which lanes have an info that must be recorded by itself.

        Raises:
          TypeError: they are no dict.
        """
        vector_info.check(infos)
        again = None if self._form is None else self._again(infos, self._form)
        if again is not None:
            return again, self._none
        single = self._none.copy()
        found = list(self._walk(infos, (), self._all, single, fields))
        if len(found) > MAX_LEAVES:  # recorded one by one, infos with so many items are stored differently
            return [], self._all
        leaves = []
        for key, values, mask in found:
            if mask.any():
                leaves.append(BatchLeaf(key, values, None if mask.all() else mask))
        self._form = None if single.any() else self._form_of(infos, leaves)
        return leaves, single

    def _again(self, infos: Mapping[str, Any], form: "_Form") -> list[BatchLeaf] | None:
        """The columns of infos of this form, all of which every lane has; None if they are of another one."""
        if len(infos) != len(form.items):
            return None
        leaves = []
        for (name, item), (known, example, column) in zip(infos.items(), form.items, strict=True):
            if name is not known and (type(name) is not str or name != known):
                return None
            if type(item) is not np.ndarray or not is_alike(item, example):
                return None
            if column is not None:
                leaves.append(BatchLeaf(column, item))
            elif item.tobytes() != self._every:
                return None
        return leaves or [*form.empty]

    def _form_of(self, infos: Mapping[str, Any], leaves: list[BatchLeaf]) -> "_Form | None":
        """The form of infos with these columns; None if a lane lacks a value, or a value is no array."""
        if not infos:
            return _Form([], leaves)
        items: list[tuple[str, np.ndarray, ColumnKey | None]] = []
        left = iter(leaves)
        for name, item in infos.items():
            if type(name) is not str or type(item) is not np.ndarray:
                return None
            column = None
            if not vector_info.is_mask(name, infos):
                leaf = next(left, None)
                if leaf is None or leaf.values is not item or leaf.mask is not None:
                    return None
                column = leaf.key
            items.append((name, example_of(item), column))
        return _Form(items, [])

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

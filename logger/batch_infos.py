"""Turns the batched infos of vector environments into columns.

Gymnasium batches infos key by key, with a mask under `_key` for the sub-environments that have it; see `vector_info`,
which splits them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.step import INFO
from rlds_kit.logger import vector_info
from rlds_kit.logger.batch_fields import as_array
from rlds_kit.spec.value import INT64_MAX, INT64_MIN
from rlds_kit.storage.array_columns import NotColumnsError, is_column
from rlds_kit.storage.batch_leaves import BatchLeaf
from rlds_kit.storage.declared import MAX_LEAVES, DeclaredFields
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey, Leaves
from rlds_kit.storage.row_form import MaskedForm, form_of

_FORMS: Final = 5
"""Maximum number of known forms: no infos, those of most steps, of steps with ends of episodes, and of resets."""
Path = tuple[Any, ...]  # of names; other keys have no column
Found = tuple[ColumnKey, np.ndarray, np.ndarray]
"""A column, the values `[lanes, ...]`, and `[lanes]` bool, which lanes have one."""


_VALUE, _ALL_TRUE, _ALIKE = range(3)
_EVERY, _SOME, _OTHERS = range(3)
"""Which lanes have a column: all, those for which the masks that are alike are true, or the others."""
_NO_ARRAY: Final = 255
"""As the number of an array; infos of a form have fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class InfoColumns:
    """The columns of infos of one form.

    Attributes:
      keys: of the columns.
    """

    keys: tuple[ColumnKey, ...]


class InfoRow(NamedTuple):
    """Infos of a known form.

    Attributes:
      columns: the same object for all infos of the form.
      values: of each column, `[lanes, ...]`.
      masks: of each column, `[lanes]` bool, which lanes have a value, or None for all; empty: all have all.
    """

    columns: InfoColumns
    values: tuple[np.ndarray, ...]
    masks: tuple[np.ndarray | None, ...]

    def leaves(self) -> list[BatchLeaf]:
        """The columns with their values."""
        masks = self.masks or (None,) * len(self.values)
        return [BatchLeaf(*each) for each in zip(self.columns.keys, self.values, masks, strict=True)]


class InfoForm(NamedTuple):
    """A known form.

    Attributes:
      masked: of the arrays.
      columns: of the infos.
    """

    masked: MaskedForm
    columns: InfoColumns


class BatchInfos:
    """The columns of infos of so many lanes.

    Args:
      lanes: number of environments.
      none: `[lanes]` bool, all False; returned where no lane must be recorded by itself.

    Attributes:
      forms: the known ones.
    """

    def __init__(self, lanes: int, none: np.ndarray) -> None:
        self._lanes = lanes
        self._all, self._none = np.ones(lanes, np.bool_), none
        self._empty = np.tile(np.frombuffer(EMPTY_DICT, np.uint8), (lanes, 1))  # in one piece: copied faster
        self._every = self._all.tobytes()
        self._keys: dict[tuple[Path, object], ColumnKey | None] = {}
        self._nothing = self._none.tobytes()
        self.forms: list[InfoForm] = []

    def leaves(self, infos: Mapping[str, Any], fields: DeclaredFields) -> tuple[list[BatchLeaf], np.ndarray]:
        """The columns of infos, and `[lanes]` bool: which lanes have an info that must be recorded by itself.

        Raises:
          NotColumnsError: they are no dict.
        """
        row = self.again(infos)
        if row is None:
            if not isinstance(infos, Mapping):
                raise NotColumnsError
            infos = as_array(infos)
            row = self.again(infos)
        if row is not None:
            return row.leaves(), self._none
        single = self._none.copy()
        found = list(self._walk(infos, (), self._all, single, fields))
        if len(found) > MAX_LEAVES:  # recorded one by one, infos with so many items are stored differently
            return [], self._all
        leaves = []
        for key, values, mask in found:
            if mask.any():
                leaves.append(BatchLeaf(key, values, None if mask.all() else mask))
        if not single.any():
            self._learn(infos, leaves)
        return leaves, single

    def again(self, infos: object) -> InfoRow | None:
        """Infos of a known form; None if they are of another one."""
        for masked, columns in self.forms:
            found = masked.masked(infos)
            if found is not None:
                return InfoRow(columns, *found)
        return None

    def _learn(self, infos: Mapping[str, Any], leaves: Sequence[BatchLeaf]) -> None:
        """Adds the form of infos with these columns to the known ones, if it has one."""
        items = list(_items(infos))
        if any(is_mask and not isinstance(item, np.ndarray) for item, is_mask in items):
            return  # None as a mask
        # The bytes of flags may be others than 0 and 1.
        masks = {number: (item & self._all).tobytes() for number, (item, is_mask) in enumerate(items) if is_mask}
        some = {each for each in masks.values() if each != self._every}
        if len(some) > 1 or self._nothing in some or _have_masked_masks(infos):
            return
        alike = [number for number, each in masks.items() if each in some]
        form = form_of(infos, Leaves([], [item for item, _ in items]))
        if form is None or len(items) >= _NO_ARRAY:
            return
        lanes_of = {self._every: _EVERY}
        if alike:
            mask = items[alike[0]][0] & self._all
            lanes_of |= {mask.tobytes(): _SOME, (~mask).tobytes(): _OTHERS}
        places = bytearray()
        left = (number for number, (item, is_mask) in enumerate(items) if not is_mask and item is not EMPTY_DICT)
        for _, values, mask in leaves:
            at = None if values is self._empty else next(left, None)
            if at is not None and items[at][0] is not values:
                return
            places += bytes((_NO_ARRAY if at is None else at, _EVERY if mask is None else lanes_of[mask.tobytes()]))
        kinds = bytes(
            _VALUE if number not in masks else _ALIKE if number in alike else _ALL_TRUE for number in range(len(items))
        )
        columns = InfoColumns(tuple(leaf.key for leaf in leaves))
        masked = MaskedForm(form.form, kinds, bytes(places), self._empty)
        self.forms = [*self.forms[1 - _FORMS :], InfoForm(masked, columns)]

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


def _items(infos: Mapping[str, Any]) -> Iterator[tuple[Any, bool]]:
    """The arrays and other values in infos, in their order, and whether each is a mask."""
    for name, item in infos.items():
        if isinstance(item, Mapping):
            yield from _items(item) if item else [(EMPTY_DICT, False)]
        else:
            yield item, vector_info.is_mask(name, infos)


def _have_masked_masks(infos: Mapping[str, Any]) -> bool:
    """Whether a mask has a mask, so that it is a value too."""
    return any(
        (type(name) is str and name[:1] == "_" and name[1:] in infos and f"_{name}" in infos)
        or (isinstance(item, Mapping) and _have_masked_masks(item))
        for name, item in infos.items()
    )

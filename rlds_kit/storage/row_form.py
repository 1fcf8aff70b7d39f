"""The form of rows: their names, and the types of their values.

Nearly all rows of an episode have the same form. So the results for one row, the columns of its values and that they
match the declaration, also apply to the next one, and the C extension compares forms much faster than Python could
check the values. Without the extension no form is cached, and every row is checked.
"""

import operator
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rlds_kit.extension import extension
from rlds_kit.storage.array_form import example_of
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey, Leaves

native: Final = extension("rlds_kit.storage", "_rows")

_SCALARS: Final = frozenset((bool, int, float, complex, str, bytes, type(None))) | {
    np.dtype(code).type for code in "?bhilqBHILQefdFD"
}
"""Types whose values all go to one column; not those of NumPy's dates, which have units."""


Masked: TypeAlias = tuple[tuple[np.ndarray, ...], tuple[np.ndarray | None, ...]]
"""The values of columns `[lanes, ...]`, and `[lanes]` bool, which lanes have one, or None for all."""


class RowForm:
    """The form of rows with the same columns.

    Args:
      form: nested: for a dict alternating names and forms, for an array an example, for an empty dict the value that is
        recorded instead, for any other value its type.
      keys: the columns.
    """

    __slots__ = ("_keys", "form")

    def __init__(self, form: tuple[Any, ...], keys: list[ColumnKey]) -> None:
        self.form, self._keys = form, keys

    def leaves(self, row: object) -> Leaves | None:
        """The leaves of a row of this form; None if it has another one."""
        items = self.items(row)
        return None if items is None else Leaves(self._keys, items)

    def items(self, row: object) -> list[Any] | None:
        """The values of a row of this form; None if it has another one."""
        return None if native is None else native.values(self.form, row)


class MaskedForm(NamedTuple):
    """The form of infos of lanes, whose values are arrays, and whose masks are true everywhere or alike.

    Attributes:
      form: of the infos, as in `RowForm`.
      kinds: what each array is: 0, a value; 1, a mask that must be true everywhere; 2, one that must be like the others
        of this kind, and true for some lanes, but not for all.
      columns: of each column, the number of its array, or 255 for `empty`; and which lanes have it: 0, all; 1, those
        for which the masks that are alike are true; 2, the others.
      empty: the value of columns without an array.
    """

    form: tuple[Any, ...]
    kinds: bytes
    columns: bytes
    empty: np.ndarray

    def masked(self, infos: object) -> Masked | None:
        """The values of columns of infos that have this form, and their masks; None if they have another one.

        No masks at all if none are alike.
        """
        return None if native is None else native.masked(self, infos)


def form_of(row: Mapping[str, Any], leaves: Leaves) -> RowForm | None:
    """The form of a row with these leaves; None if such rows must be checked one by one.

    >>> from rlds_kit.storage.branch import Branch
    >>> row = {"lives": 3, "frame": np.zeros((2, 2))}
    >>> form = form_of(row, Branch("info").leaves(row))
    >>> form is None or form.leaves({"lives": 2, "frame": np.ones((2, 2))}).items[0]
    2
    """
    if native is None:
        return None
    try:
        form = _form_of_dict(row)
    except (_FormlessError, RecursionError):  # a row is nested deeper than this recursive function supports
        return None
    found = native.values(form, row)
    is_whole = found is not None and len(found) == len(leaves.items) and all(map(operator.is_, found, leaves.items))
    return RowForm(form, leaves.keys) if is_whole else None


class _FormlessError(Exception):
    """A value, or one below it, has no form."""


def _form(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return _form_of_dict(value) if value else EMPTY_DICT
    if kind is np.ndarray and value.dtype.names is None and not value.dtype.hasobject:
        return example_of(value)  # comparing names of structured dtypes may run Python code, which the C code excludes
    if kind not in _SCALARS:
        raise _FormlessError
    return kind


def _form_of_dict(value: Mapping[Any, Any]) -> tuple[Any, ...]:
    if type(value) is not dict or any(type(name) is not str for name in value):
        raise _FormlessError
    return tuple(part for name, item in value.items() for part in (name, _form(item)))

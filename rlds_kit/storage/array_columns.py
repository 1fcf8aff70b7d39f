"""Turns fields that are given as arrays into columns, without a look at each row.

The first row is flattened and validated as any row is; that determines the columns of all others, because an array has
one dtype and one shape for all of them. What no array can have, such as text, is flattened row by row.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import RldsKitError
from rlds_kit.spec.by_form import fits_by_form
from rlds_kit.spec.dtypes import NUMERIC
from rlds_kit.spec.exact import holds_all
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.array_rows import ArrayRows, Nest, value_at
from rlds_kit.storage.column import Column
from rlds_kit.storage.declared import DeclaredFields
from rlds_kit.storage.leaf import ColumnKey, Leaves, field_of
from rlds_kit.storage.row_buffer import RowBuffer

_DTYPES: Final = frozenset(map(np.dtype, NUMERIC))
"""In the byte order of this machine."""
_BUFFER_BYTES: Final = 1 << 30


class Sides(NamedTuple):
    """The columns of some rows.

    Attributes:
      observed: of the observation side.
      acted: of the action side.
    """

    observed: list[Column]
    acted: list[Column]


class NotColumnsError(Exception):
    """Arrays have values that must be recorded one by one."""


def is_column(values: Any, rows: int) -> bool:
    """Whether values are an array of one number, or array of numbers, for each row.

    >>> is_column(np.zeros((2, 3)), 2), is_column(["a", "b"], 2)
    (True, False)
    """
    return type(values) is np.ndarray and values.ndim > 0 and len(values) == rows and values.dtype in _DTYPES


def all_fit(values: np.ndarray, spec: specs.Spec | None) -> bool:
    """Whether all values fit a spec if the first one does: numbers of another dtype depend on the value.

    >>> all_fit(np.array([1, 300]), specs.Array((), np.int8)), all_fit(np.array([1, 2]), specs.Array((), np.int8))
    (False, True)
    """
    if values.ndim > 1 or spec is None:
        return True
    if isinstance(spec, specs.Array):
        return values.dtype == spec.dtype or holds_all(spec.dtype, values)
    return fits_by_form(spec, values[0])


def is_each(found: list[ColumnKey], arrays: list[np.ndarray]) -> bool:
    """Whether the columns of a row are those of the elements of arrays, in order."""
    return len(found) == len(arrays) and all(
        key.dtype == array.dtype and key.rank == array.ndim - 1 for key, array in zip(found, arrays, strict=True)
    )


def columns_of(
    observed: ArrayRows, acted: ArrayRows, first_observed: int, first_acted: int, fields: DeclaredFields
) -> Sides:
    """The columns of rows that are given as arrays. They have the memory of the arrays.

    Args:
      observed: the observation side.
      acted: the action side.
      first_observed: the number of the first row of the observation side.
      first_acted: likewise.
      fields: validates rows and flattens them.

    Raises:
      SpecError: a declared field does not match; or a field is on both sides.
      UnsupportedTypeError: a value cannot be recorded.
    """
    rows = [{name: value_at(side.columns[name], 0) for name in _present(side)} for side in (observed, acted)]
    leaves = fields.leaves(rows[0], rows[1])
    met = fields.met
    try:
        return Sides(
            _columns(observed, leaves[0], first_observed, fields, is_acted=False),
            _columns(acted, leaves[1], first_acted, fields, is_acted=True),
        )
    except BaseException:
        fields.forget(met)
        raise


def _present(side: ArrayRows) -> list[str]:
    """The fields with a value in some row."""
    return [name for name in side.columns if side.range_of(name)]


def _columns(side: ArrayRows, first: Leaves, first_row: int, fields: DeclaredFields, *, is_acted: bool) -> list[Column]:
    keys: dict[str, list[ColumnKey]] = {}
    for key in first.keys:
        keys.setdefault(field_of(key.path), []).append(key)
    found = []
    for name in _present(side):
        within = side.range_of(name)
        rows = np.arange(first_row + within.start, first_row + within.stop)
        values = side.columns[name]
        try:
            spec = None if fields.takes_any(name) else fields.declared.fields.get(name)
            arrays = list(_arrays(values, len(rows), spec))
            if not is_each(keys.get(name, []), arrays):
                raise NotColumnsError
            found += [Column(key, rows, array) for key, array in zip(keys[name], arrays, strict=True)]
        except NotColumnsError:
            found += _row_by_row(name, values, rows, fields, is_acted=is_acted)
    return found


def _arrays(values: Nest, rows: int, spec: specs.Spec | None) -> Iterator[np.ndarray]:
    """The arrays in a nest, in the order of the leaves of a row.

    Raises:
      NotColumnsError: something in it is no array of numbers, or some row may not fit the spec.
    """
    if isinstance(values, dict):
        if not values or not isinstance(spec, specs.Dict | None):
            raise NotColumnsError
        for name, each in values.items():
            yield from _arrays(each, rows, None if spec is None else spec.fields.get(name))
    elif isinstance(values, tuple):
        items: tuple[specs.Spec | None, ...] = spec.items if isinstance(spec, specs.Tuple) else (None,) * len(values)
        if not values or len(items) != len(values) or not isinstance(spec, specs.Tuple | None):
            raise NotColumnsError
        for item, each in zip(values, items, strict=True):
            yield from _arrays(item, rows, each)
    else:
        array = values.view(np.ndarray) if type(values) is np.memmap else values
        if not is_column(array[:rows], rows) or not all_fit(array[:rows], spec):
            raise NotColumnsError
        yield array[:rows]


def _row_by_row(name: str, values: Nest, rows: np.ndarray, fields: DeclaredFields, *, is_acted: bool) -> list[Column]:
    buffer, nothing = RowBuffer(len(rows), _BUFFER_BYTES, ArrayPool(0)), Leaves([], [])
    for number, row in enumerate(rows.tolist()):
        value = {name: value_at(values, number)}
        try:
            found = fields.leaves({}, value)[1] if is_acted else fields.leaves(value, {})[0]
            buffer.add(row, found, nothing)
        except RldsKitError as error:
            error.add_note(f"This is the value of {name} in step {row}. Nothing of these steps is recorded.")
            raise
    return buffer.seal()

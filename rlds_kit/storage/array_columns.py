"""Converts fields that are given as arrays to columns, without processing each row.

The first row is flattened and validated as any row is; that determines the columns of all others, because an array has
one dtype and one shape for all of them. What no array can have, such as text, is flattened row by row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import RldsKitError
from rlds_kit.spec.by_form import fits_by_form
from rlds_kit.spec.dtypes import NUMERIC
from rlds_kit.spec.exact import holds_all
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.array_rows import ArrayRows, Nest, value_at
from rlds_kit.storage.buffer import column_of
from rlds_kit.storage.column import Column
from rlds_kit.storage.declared import DeclaredFields
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey, Kind, Leaves, field_of
from rlds_kit.storage.row_buffer import RowBuffer

_DTYPES: Final = frozenset(map(np.dtype, NUMERIC))
"""In the byte order of this machine."""
_BUFFER_BYTES: Final = 1 << 30
_VALUE_BYTES: Final = 16
"""Approximate memory of a value that is no array."""
PLAIN: Final[dict[type, Kind]] = {
    str: pb.TEXT,
    bytes: pb.BYTES,
    float: pb.FLOAT,
    bool: pb.BOOL,
    type(None): pb.NONE,
    dict: pb.TREE,
}
"""Types whose values all go to one column, which is that of the first one; ints may need more than 64 bits, and dicts
must be empty, as most infos are."""


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


def is_each(keys: Sequence[ColumnKey], columns: Sequence[np.ndarray | list[Any]]) -> bool:
    """Whether the columns of a row are those of the elements of arrays, and lists of values of one type, in order."""
    return len(keys) == len(columns) and all(map(_is_of, keys, columns))


def _is_of(key: ColumnKey, values: np.ndarray | list[Any]) -> bool:
    if isinstance(values, np.ndarray):
        return key.dtype == values.dtype and key.rank == values.ndim - 1
    return key.kind == PLAIN[type(values[0])]


class LateColumns:
    """The columns of values that are flattened one by one, when their block is written.

    Args:
      name: of the field.
      values: one for each row.
      rows: that have a value.
      row_bytes: of the first one, approximately.
      leaves: flattens the values of a row.
    """

    def __init__(
        self, name: str, values: Nest, rows: range, row_bytes: int, leaves: Callable[[Mapping[str, Any]], Leaves]
    ) -> None:
        self._name, self._values, self._rows, self._leaves = name, values, rows, leaves
        self.nbytes = row_bytes * len(rows)

    def between(self, begin: int, end: int) -> list[Column]:
        """The part of the columns in rows `[begin, end)`.

        Raises:
          SpecError: a value does not match the declaration.
          UnsupportedTypeError: a value cannot be recorded.
        """
        rows = range(max(begin, self._rows.start), min(end, self._rows.stop))
        buffer, nothing = RowBuffer(max(1, len(rows)), _BUFFER_BYTES, ArrayPool(0)), Leaves([], [])
        for row in rows:
            value = {self._name: value_at(self._values, row - self._rows.start)}
            try:
                buffer.add(row, self._leaves(value), nothing)
            except RldsKitError as error:
                error.add_note(f"This is the value of {self._name} in step {row}.")
                raise
        return buffer.seal()


@dataclass(frozen=True)
class SideColumns:
    """The columns of one side of some rows.

    Attributes:
      known: those that are known.
      late: others.
    """

    known: list[Column]
    late: list[LateColumns]

    @property
    def nbytes(self) -> int:
        """Bytes of the values, approximately."""
        return sum(column.values.nbytes for column in self.known) + sum(each.nbytes for each in self.late)

    def between(self, begin: int, end: int) -> list[Column]:
        """The part of the columns in rows `[begin, end)`. Errors as in `LateColumns.between`."""
        parts = [column.between(begin, end) for column in self.known]
        parts += [column for each in self.late for column in each.between(begin, end)]
        return [part for part in parts if len(part.rows)]


def columns_of(
    observed: ArrayRows, acted: ArrayRows, first_observed: int, first_acted: int, fields: DeclaredFields
) -> tuple[SideColumns, SideColumns]:
    """The columns of the two sides of rows that are given as arrays. They have the memory of the arrays.

    Values in arrays and lists are validated before this returns. Those of other sequences, which may compute a value on
    each access, are validated when their block is written.

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
        return (
            _side(observed, leaves[0], first_observed, fields, lambda row: fields.leaves(row, {})[0]),
            _side(acted, leaves[1], first_acted, fields, lambda row: fields.leaves({}, row)[1]),
        )
    except BaseException:
        fields.forget(met)
        raise


def _present(side: ArrayRows) -> list[str]:
    """The fields with a value in some row."""
    return [name for name in side.columns if side.range_of(name)]


def _side(
    side: ArrayRows,
    first: Leaves,
    first_row: int,
    fields: DeclaredFields,
    leaves: Callable[[Mapping[str, Any]], Leaves],
) -> SideColumns:
    """The columns of a side; `first` are the leaves of the first value of each field."""
    found: dict[str, Leaves] = {}
    for key, item in first:
        found.setdefault(field_of(key.path), Leaves([], [])).add(key, item)
    result = SideColumns([], [])
    for name in _present(side):
        within, own = side.range_of(name), found.get(name, Leaves([], []))
        rows = range(first_row + within.start, first_row + within.stop)
        values = side.columns[name]
        try:
            spec = None if fields.takes_any(name) else fields.declared.fields.get(name)
            parts = list(_parts(values, len(rows), spec))
            if not is_each(own.keys, parts) or any(key.kind == pb.TREE and item != EMPTY_DICT for key, item in own):
                raise NotColumnsError
            numbers = np.arange(rows.start, rows.stop)
            result.known.extend(_column(key, numbers, part) for key, part in zip(own.keys, parts, strict=True))
        except NotColumnsError:
            late = LateColumns(name, values, rows, _bytes_of(own), leaves)
            if _is_in_memory(values):
                try:
                    result.known.extend(late.between(rows.start, rows.stop))
                except RldsKitError as error:
                    error.add_note("Nothing of these steps is recorded.")
                    raise
            else:
                result.late.append(late)
    return result


def _parts(values: Nest, rows: int, spec: specs.Spec | None) -> Iterator[np.ndarray | list[Any]]:
    """The arrays, and lists of values of one type, in a nest, in the order of the leaves of a row.

    Raises:
      NotColumnsError: something in it is none of these, or some row may not fit the spec.
    """
    if isinstance(values, dict):
        if not values or not isinstance(spec, specs.Dict | None):
            raise NotColumnsError
        for name, each in values.items():
            yield from _parts(each, rows, None if spec is None else spec.fields.get(name))
    elif isinstance(values, tuple):
        items: tuple[specs.Spec | None, ...] = spec.items if isinstance(spec, specs.Tuple) else (None,) * len(values)
        if not values or len(items) != len(values) or not isinstance(spec, specs.Tuple | None):
            raise NotColumnsError
        for item, each in zip(values, items, strict=True):
            yield from _parts(item, rows, each)
    elif isinstance(values, np.ndarray):
        array = values[:rows].view(np.ndarray) if type(values) is np.memmap else values[:rows]
        if not is_column(array, rows) or not all_fit(array, spec):
            raise NotColumnsError
        yield array
    elif type(values) is list:
        found = values[:rows]
        kinds = set(map(type, found))
        if kinds == {dict} and any(found):  # they have values of their own
            raise NotColumnsError
        if len(kinds) > 1 or not kinds <= PLAIN.keys() or not (spec is None or fits_by_form(spec, found[0])):
            raise NotColumnsError
        yield found
    else:
        raise NotColumnsError


def _column(key: ColumnKey, rows: np.ndarray, values: np.ndarray | list[Any]) -> Column:
    if isinstance(values, np.ndarray):
        return Column(key, rows, values)
    return column_of(key, rows, [EMPTY_DICT] * len(rows) if key.kind == pb.TREE else values)


def _is_in_memory(values: Nest) -> bool:
    """Whether all values of a nest are in memory, and none is computed on access."""
    if isinstance(values, dict):
        return all(map(_is_in_memory, values.values()))
    if isinstance(values, tuple):
        return all(map(_is_in_memory, values))
    return isinstance(values, np.ndarray | list)


def _bytes_of(leaves: Leaves) -> int:
    return sum(getattr(item, "nbytes", _VALUE_BYTES) for item in leaves.items)

"""Checks whether the values of declared fields fit their specs, block by block."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.spec.problem import Problem
from rlds_kit.storage import restore
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import elements, field_of, nest
from rlds_kit.storage.stacking import spec_at


class Misfit(NamedTuple):
    """A value that does not fit; `problem.kind` is "bounds" or "charset" if only its limits are violated."""

    row: int
    problem: Problem


def by_field(columns: Sequence[Column]) -> dict[str, list[Column]]:
    """The columns of each field."""
    found: dict[str, list[Column]] = {}
    for column in columns:
        if len(column.rows):
            found.setdefault(field_of(column.key.path), []).append(column)
    return found


def misfits(name: str, spec: specs.Spec, columns: Sequence[Column]) -> Iterator[Misfit]:
    """All values in `columns`, the columns of field `name` in one block, that do not fit `spec`."""
    if all(_is_uniform(column, _leaf_spec(spec, column)) for column in columns):
        for row in _representatives(columns):
            yield from (Misfit(row, problem) for problem in specs.problems(spec, _value(columns, row), name))
        for column in columns:
            yield from _beyond_bounds(column, _leaf_spec(spec, column))
        return
    for row, value in _values(columns).items():
        yield from (Misfit(row, problem) for problem in specs.problems(spec, value, name))
        yield from (Misfit(row, problem) for problem in specs.out_of_bounds(spec, value, name))


def _leaf_spec(spec: specs.Spec, column: Column) -> specs.Spec | None:
    return spec_at(spec, "/".join(elements(column.key.path)[1:]))


def _is_uniform(column: Column, spec: specs.Spec | None) -> bool:
    """Whether all values fit if one does: the spec has only a dtype and a shape, and these are the same."""
    return (
        isinstance(spec, specs.Array)
        and column.shapes is None
        and column.key.kind in restore.NUMERIC
        and column.values.dtype == spec.dtype
    )


def _representatives(columns: Sequence[Column]) -> list[int]:
    """One row for each set of columns that have a value together."""
    rows = np.unique(np.concatenate([column.rows for column in columns]))
    present = np.stack([np.isin(rows, column.rows) for column in columns])
    _, first = np.unique(present, axis=1, return_index=True)
    chosen: list[int] = rows[first].tolist()
    return chosen


def _value(columns: Sequence[Column], row: int) -> Any:  # whatever was recorded
    return _values([column.between(row, row + 1) for column in columns])[row]


def _values(columns: Sequence[Column]) -> dict[int, Any]:
    flat: dict[int, dict[str, Any]] = {}
    for column in columns:
        below = "/".join(elements(column.key.path)[1:])
        for row, item in zip(column.rows.tolist(), restore.exact(column), strict=True):
            flat.setdefault(row, {})[below] = item
    return {row: nest(leaves) for row, leaves in sorted(flat.items())}


def _beyond_bounds(column: Column, spec: specs.Spec | None) -> Iterator[Misfit]:
    if not isinstance(spec, specs.Array) or (spec.lowest is None and spec.highest is None):
        return
    inside = np.ones(len(column.rows), np.bool_)
    with np.errstate(invalid="ignore"):
        if spec.lowest is not None:
            inside &= (column.values >= spec.lowest).reshape(len(inside), -1).all(axis=1)
        if spec.highest is not None:
            inside &= (column.values <= spec.highest).reshape(len(inside), -1).all(axis=1)
    outside = np.flatnonzero(~inside).tolist()
    for index in outside[:1]:
        yield from (
            Misfit(int(column.rows[index]), problem)
            for problem in specs.out_of_bounds(spec, column.values[index], column.key.path)
        )

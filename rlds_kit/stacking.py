"""Columns of an episode as stacked arrays, in the shape and dtype that the spec promises."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.storage.leaf import elements, nest, unescape
from rlds_kit.storage.restore import Stack


def stack_field(
    path: str, building: Mapping[str, Stack], spec: specs.Spec | None, begin: int, end: int
) -> tuple[Any, np.ndarray]:
    """A field, or a part of one, over rows `[begin, end)`.

    Args:
      path: the field's.
      building: the leaves at or below `path`, by their paths.
      spec: what was declared for it; None for a dynamic field.
      begin: first row.
      end: one past the last.

    Returns:
      A nest of arrays `[end - begin, ...]`, with zeros of the spec where nothing is defined; and `[end - begin]` bool,
      the rows where anything of the field is.
    """
    present = np.zeros(end - begin, np.bool_)
    stacks, masks = {}, {}
    for leaf_path, stack in building.items():
        below = leaf_path[len(path) + 1 :]
        values, defined = stack.result()
        if defined.any():
            stacks[below] = as_declared(values, None if spec is None else spec_at(spec, below))
            masks[below] = defined
            present |= defined
    if not present.any():
        return _undefined(spec, end - begin), present
    if "" in stacks and len(stacks) > 1:
        return _mixed(stacks, masks, end - begin), present
    return nest(stacks), present


def spec_at(spec: specs.Spec, path: str) -> specs.Spec | None:
    """The part of a spec that a path relative to it leads to; None when nothing was declared there."""
    here: specs.Spec | None = spec
    for element in elements(path) if path else ():
        if isinstance(here, specs.Dict):
            here = here.fields.get(unescape(element))
        elif isinstance(here, specs.Tuple | specs.List) and element[:1] in ("(", "["):
            here = here.items[int(element[1:-1])]
        else:
            return None
    return here


def as_declared(values: np.ndarray, spec: specs.Spec | None) -> np.ndarray:
    """`values` in the declared dtype where that changes none of them: a reward of 1 becomes 1.0."""
    if not isinstance(spec, specs.Array) or values.dtype in (spec.dtype, object):
        return values
    with np.errstate(all="ignore"):
        cast = values.astype(spec.dtype)
        unchanged = np.array_equal(cast.astype(values.dtype), values, equal_nan=values.dtype.kind in "fc")
    return cast if unchanged else values


def _undefined(spec: specs.Spec | None, count: int) -> Any:  # a nest of arrays
    match spec:
        case specs.Array(shape, dtype) if None not in shape:
            return np.zeros((count, *shape), dtype)
        case specs.Dict(fields):
            return {key: _undefined(field, count) for key, field in fields.items()}
        case specs.Tuple(items):
            return tuple(_undefined(item, count) for item in items)
        case specs.List(items):
            return [_undefined(item, count) for item in items]
    stacked = np.empty(count, object)
    for index in range(count):
        stacked[index] = None if spec is None else specs.zeros(spec)
    return stacked


def _mixed(stacks: Mapping[str, np.ndarray], defined: Mapping[str, np.ndarray], count: int) -> np.ndarray:
    """A dynamic field that is sometimes a container and sometimes not: what each row has."""
    stacked = np.empty(count, object)
    for index in range(count):
        present = {path: stack[index] for path, stack in stacks.items() if defined[path][index]}
        if present:
            stacked[index] = nest(present)
    return stacked

"""Stacks columns of an episode to arrays with the shape and dtype of the spec."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.spec.describe import describe_spec, describe_value
from rlds_kit.storage.leaf import elements, nest, unescape
from rlds_kit.storage.restore import Stack, exact_array, survives

CURE: Final = "`steps` gives each value as it was recorded"
"""The advice in errors for values that are not an array."""
SHOWN: Final = 3
"""Maximum number of kinds of values in an error."""


def stack_field(
    path: str, building: Mapping[str, Stack], spec: specs.Spec | None, begin: int, end: int
) -> tuple[Any, np.ndarray]:
    """A field, or a part of one, over rows `[begin, end)`.

    Args:
      path: the field's.
      building: the leaves at or below `path`, by their paths.
      spec: of the declared field; None for a dynamic field.
      begin: first row.
      end: one past the last.

    Returns:
      A nest of arrays `[end - begin, ...]`, with zeros of the spec in undefined rows; and `[end - begin]` bool, True
      for rows with a value of the field.
    """
    present = np.zeros(end - begin, np.bool_)
    stacks, masks = {}, {}
    for leaf_path, stack in building.items():
        below = leaf_path[len(path) + 1 :]
        values, defined = stack.result()
        if defined.any():
            leaf = None if spec is None else spec_at(spec, below)
            stacks[below] = dense(values, defined, leaf)
            if isinstance(leaf, specs.Array) and stacks[below].dtype == object and _is_one_array(leaf):
                raise SpecError(_not_one(leaf_path, leaf, values[defined]))
            masks[below] = defined
            present |= defined
    if not present.any():
        return _undefined(spec, end - begin), present
    if mixed := _mixed_places(stacks):
        at = None if spec is None else spec_at(spec, mixed[0])
        if at is not None and not isinstance(at, specs.Any):
            place = f"{path}/{mixed[0]}" if mixed[0] else path
            raise SpecError(f"{place}: expected {describe_spec(at)}, got something else in some steps; {CURE}")
        return _mixed(stacks, masks, end - begin), present
    return nest(stacks), present


def _is_one_array(spec: specs.Array) -> bool:
    """Whether values of a spec stack to an array of numbers; values of unknown shape become objects."""
    return spec.dtype.kind in "biufc" and None not in spec.shape


def _mixed_places(paths: Iterable[str]) -> list[str]:
    """The places with a value in some steps and a container in others, or containers of several kinds."""
    kinds: dict[str, set[str]] = {}
    for path in paths:
        parts = elements(path) if path else []
        for depth, element in enumerate(parts):
            kinds.setdefault("/".join(parts[:depth]), set()).add(element[0] if element[:1] in ("(", "[") else "")
        kinds.setdefault(path, set()).add("value")
    return sorted(place for place, found in kinds.items() if len(found) > 1)


def _not_one(path: str, spec: specs.Array, values: np.ndarray) -> str:
    """The reason why values cannot become an array of the declared type."""
    kinds = dict.fromkeys(describe_value(value) for value in values.tolist())
    came = ", ".join(list(kinds)[:SHOWN])
    return f"{path}: expected {describe_spec(spec)}, got {came}, and no dtype holds all exactly; {CURE}"


def dense(values: np.ndarray, defined: np.ndarray, spec: specs.Spec | None) -> np.ndarray:
    """Converts a stack of recorded values to the declared shape and dtype, as far as that changes no number.

    Lists and tuples of numbers become arrays, dimensions of one element are added or removed, and the dtype is the
    declared one if it represents all values, else a wider one.

    Args:
      values: `[steps, ...]`, or `[steps]` objects.
      defined: `[steps]` bool.
      spec: of a value; None if nothing was declared.

    Returns:
      `[steps, *shape]`; `values` unchanged if there is no such array.

    >>> values = np.empty(3, object)
    >>> values[:2] = [1, 2], np.array([1.5, 2.5], np.float32)
    >>> dense(values, np.array([True, True, False]), specs.Array((2,), np.float64))
    array([[1. , 2. ],
           [1.5, 2.5],
           [0. , 0. ]])
    """
    if not isinstance(spec, specs.Array) or not _is_one_array(spec):
        return as_declared(values, spec)
    if values.dtype != object:
        return as_declared(_reshaped(values, spec.shape), spec)
    arrays = [exact_array(value) for value in values[defined].tolist()]
    found = [None if each is None else _reshaped(each[None], spec.shape)[0] for each in arrays]
    known = [each for each in found if each is not None and each.shape == spec.shape]
    if not known or len(known) < len(arrays):
        return values
    common = np.result_type(*known)
    if common.kind not in "biufc" or not all(survives(each, common) for each in known):
        return values
    stacked = np.zeros((len(values), *known[0].shape), common)
    stacked[defined] = known
    return as_declared(stacked, spec)


def _reshaped(values: np.ndarray, shape: tuple[int | None, ...]) -> np.ndarray:
    """Reshapes `[steps, ...]` to a declared shape that differs only in dimensions of one element."""
    own = values.shape[1:]
    if own == shape or [size for size in own if size != 1] != [size for size in shape if size != 1]:
        return values
    return values.reshape(len(values), *(size or 0 for size in shape))


def spec_at(spec: specs.Spec, path: str) -> specs.Spec | None:
    """The part of a spec at a relative path; None if nothing was declared there."""
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
    """Converts `values` to the declared dtype if that changes none of them: a reward of 1 becomes 1.0."""
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
    """The value of each row of a dynamic field that is sometimes a container and sometimes not."""
    stacked = np.empty(count, object)
    for index in range(count):
        present = {path: stack[index] for path, stack in stacks.items() if defined[path][index]}
        if present:
            stacked[index] = nest(present)
    return stacked

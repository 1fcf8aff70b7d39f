"""The arrays in which a loader stores the values of fields: one for each leaf, with known dtype and shape."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.storage import leaf as leaves
from rlds_kit.storage.restore import Stack
from rlds_kit.storage.stacking import dense, spec_at

OBJECT_BYTES = 256
"""Assumed bytes of a value that is not an array of known shape."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of a field.

    Attributes:
      path: of its column.
      below: its path inside the field; empty if the field is not nested.
      spec: an array of known shape; None for values of any other kind, which are stored as recorded.
      is_cast: whether the caller chose the dtype, so that values may change.
    """

    path: str
    below: str
    spec: specs.Array | None
    is_cast: bool = False

    def __hash__(self) -> int:
        return hash(self.path)  # computed once: the property of the spec is slower than all other work for a small leaf

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values of many steps."""
        return np.dtype(object) if self.spec is None else self.spec.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value of one step."""
        return () if self.spec is None else tuple(size or 0 for size in self.spec.shape)

    @property
    def row_bytes(self) -> int:
        """The bytes of the value of one step."""
        return OBJECT_BYTES if self.spec is None else self.spec.dtype.itemsize * math.prod(self.shape)


def layout(spec: specs.Dict, name: str, dtypes: Mapping[str, np.dtype[Any]]) -> tuple[Leaf, ...]:
    """The leaves of a field, which may be named by a path into a nest: "info/lives".

    Args:
      spec: of all fields.
      name: of the field.
      dtypes: to cast to, by path of a leaf or of its container.

    Raises:
      KeyError: there is no such field.
    """
    path = leaves.escape(name) if name in spec.fields else name
    found = spec_at(spec, path)
    if found is None:
        raise KeyError(f"there is no field {name!r}; there are {', '.join(sorted(spec.fields))}")
    return tuple(_cast(leaf, dtypes) for leaf in _leaves(path, "", found))


def require_cast(layouts: Mapping[str, Sequence[Leaf]], dtypes: Mapping[str, np.dtype[Any]]) -> None:
    """Raises an error for dtypes that apply to no leaf.

    Raises:
      KeyError: there is no array of that name, or of a path below it.
    """
    arrays = [leaf.path for found in layouts.values() for leaf in found if leaf.spec is not None]
    for name in dtypes:
        if not any(_is_below(path, name) for path in arrays):
            raise KeyError(f"dtypes: there is no array {name!r} to convert; there are {', '.join(sorted(arrays))}")


def _is_below(path: str, name: str) -> bool:
    """Whether a leaf is at or below `name`, which is a path, or the name of a field that contains a slash."""
    return any(leaves.is_at_or_below(path, each) for each in (name, leaves.escape(name)))


def _cast(leaf: Leaf, dtypes: Mapping[str, np.dtype[Any]]) -> Leaf:
    chosen = [name for name in dtypes if _is_below(leaf.path, name)]
    if not chosen or leaf.spec is None:
        return leaf
    dtype = dtypes[max(chosen, key=len)]  # the dtype of a part has precedence over that of the whole
    return replace(leaf, spec=specs.Array(leaf.spec.shape, dtype), is_cast=True)


def _leaves(path: str, below: str, spec: specs.Spec) -> list[Leaf]:
    match spec:
        case specs.Array(shape) if None not in shape:
            return [Leaf(path, below, spec)]
        case specs.Dict(fields) if fields:
            items = [(leaves.escape(key), item) for key, item in fields.items()]
        case specs.Tuple(parts) if parts:
            items = [(f"({index})", item) for index, item in enumerate(parts)]
        case specs.List(parts) if parts:
            items = [(f"[{index}]", item) for index, item in enumerate(parts)]
        case _:
            return [Leaf(path, below, None)]
    return [leaf for key, item in items for leaf in _leaves(f"{path}/{key}", f"{below}/{key}" if below else key, item)]


def nested(layout: Sequence[Leaf], value: Callable[[Leaf], Any]) -> Any:  # a nest
    """Builds a field from the results of `value` for each of its leaves."""
    return leaves.nest({leaf.below: value(leaf) for leaf in layout})


def read_leaf(leaf: Leaf, stacks: Mapping[str, Stack], begin: int, end: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The values of a leaf in rows `[begin, end)` of an episode; None if there are none.

    Returns:
      `[end - begin, *leaf.shape]`, in the leaf's dtype unless that would change a value, and `[end - begin]` bool,
      which rows have one.
    """
    here = {
        path: stack for path, stack in stacks.items() if leaves.is_at_or_below(path, leaf.path) and not stack.is_empty
    }
    if not here:
        return None
    if leaf.spec is not None and here.keys() == {leaf.path}:
        values, defined = here[leaf.path].result()
        if leaf.is_cast and values.dtype != object and values.shape[1:] == leaf.shape:
            return values, defined
        return dense(values, defined, leaf.spec), defined
    return _objects(leaf.path, here, end - begin)


def _objects(path: str, stacks: Mapping[str, Stack], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The exact value of each row, which must not depend on the rows that are read together."""
    exact = {below[len(path) + 1 :]: stack.exact() for below, stack in stacks.items()}
    values = np.empty(count, object)
    defined = np.any([has for _, has in exact.values()], axis=0)
    for row in np.flatnonzero(defined).tolist():
        values[row] = leaves.nest({below: items[row] for below, (items, has) in exact.items() if has[row]})
    return values, defined

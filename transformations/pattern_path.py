"""Paths of the fields in a nested step."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a leaf of a step."""


def leaves(structure: Any) -> list[Any]:
    """The items of a nest of dicts and tuples, in the order of tf.nest."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in leaves(structure[key])]
    if isinstance(structure, tuple):
        return [leaf for item in structure for leaf in leaves(item)]
    return [structure]


def place_of(path: Path) -> str:
    """The expression that leads to a field."""
    return "step" + "".join(f"[{key!r}]" for key in path)


def map_paths(function: Callable[[Path], Any], structure: Any, path: Path = ()) -> Any:
    """The structure, with a function of each leaf's path in place of the leaf."""
    if isinstance(structure, Mapping):
        return {key: map_paths(function, inner, (*path, key)) for key, inner in structure.items()}
    if isinstance(structure, tuple | list):
        items = [map_paths(function, inner, (*path, index)) for index, inner in enumerate(structure)]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    return function(path)

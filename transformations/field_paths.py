"""Fields of nested steps by path: "observation/camera" is the field `camera` of the field `observation`."""

from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf


def leaves(tree: Any) -> dict[str, Any]:
    """The tensors, or specs, of a nest of dicts and tuples, by path.

    >>> leaves({"observation": {"camera": 1, "arm": (2, 3)}})
    {'observation/arm/0': 2, 'observation/arm/1': 3, 'observation/camera': 1}
    """
    return dict(zip(tf.nest.flatten(_paths(tree, "")), tf.nest.flatten(tree), strict=True))


def with_leaves(tree: Any, new: Mapping[str, Any]) -> Any:
    """A copy of a nest with some of its leaves replaced, by path.

    >>> with_leaves({"observation": {"camera": 1, "arm": (2, 3)}}, {"observation/arm/1": 4})
    {'observation': {'camera': 1, 'arm': (2, 4)}}
    """
    return tf.nest.pack_sequence_as(tree, [new.get(path, leaf) for path, leaf in leaves(tree).items()])


def paths_of(known: Iterable[str], fields: Iterable[str]) -> list[str]:
    """The leaves that fields mean: a field is a leaf, or all that is nested in it.

    Raises:
      TypeError: `fields` is one string.
      ValueError: there is no such field.

    >>> paths_of(["action", "observation/arm", "observation/camera"], ["observation"])
    ['observation/arm', 'observation/camera']
    """
    if isinstance(fields, str):
        raise TypeError(f"expected a list of fields, got one string; write [{fields!r}]")
    known = list(known)
    found: dict[str, None] = {}
    for field in fields:
        paths = [path for path in known if path == field or path.startswith(f"{field}/")]
        if not paths:
            raise ValueError(f"there is no field {field!r}; there are {', '.join(sorted(known)) or 'none'}")
        found |= dict.fromkeys(paths)
    return list(found)


def _paths(tree: Any, path: str) -> Any:
    prefix = f"{path}/" if path else ""
    if isinstance(tree, Mapping):
        return {key: _paths(value, f"{prefix}{key}") for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_paths(value, f"{prefix}{index}") for index, value in enumerate(tree)]
    return path

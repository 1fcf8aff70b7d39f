"""Functions on all arrays of nested dicts, tuples and lists."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def map_arrays(function: Callable[..., Any], nest: Any, *others: Any) -> Any:
    """Applies `function` to each array, together with the arrays at the same place in `others`.

    >>> map_arrays(lambda x, y: x + y, {"a": np.int64(1)}, {"a": np.int64(2)})
    {'a': np.int64(3)}
    """
    match nest:
        case dict():
            return {key: map_arrays(function, item, *(other[key] for other in others)) for key, item in nest.items()}
        case tuple() | list():
            items = zip(nest, *others, strict=True)
            return type(nest)(map_arrays(function, *parts) for parts in items)
    return function(nest, *others)


def concatenated(batches: Sequence[Any]) -> Any:
    """Concatenates nests of arrays `[n, ...]`."""
    if len(batches) == 1:
        return batches[0]
    # The dtype is passed because NumPy would convert the byte order.
    return map_arrays(lambda *parts: np.concatenate(parts, dtype=parts[0].dtype), batches[0], *batches[1:])


def flattened(nest: Any, path: str = "") -> dict[str, Any]:
    """The arrays of a nest by their path.

    >>> list(flattened({"a": {"b": np.int64(1)}, "c": (np.int64(2),)}))
    ['a/b', 'c/0']
    """
    if not isinstance(nest, dict | tuple | list):
        return {path: nest}
    found: dict[str, Any] = {}
    for key, item in nest.items() if isinstance(nest, dict) else enumerate(nest):
        found |= flattened(item, f"{path}/{key}" if path else str(key))
    return found

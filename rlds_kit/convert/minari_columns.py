"""Rows as the columns that Minari stores: one array, or list of text, for each leaf."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit.convert.minari_spaces import Space
from rlds_kit.convert.protocol import ConversionError, Loss

LARGEST_ATTRIBUTE: Final = 60_000
"""Bytes; HDF5 itself has a limit of 64 KiB."""
_NUMBERS: Final = "biufc"


def column(values: Sequence[Any], space: Space, place: str) -> Any:
    """The values of a field in the nest of its space.

    Raises:
      ConversionError: they are no column: they differ in dtype or shape, or are no numbers or text.
    """
    if isinstance(space, spaces.Dict):
        return {key: column([each[key] for each in values], inner, f"{place}/{key}") for key, inner in space.items()}
    if isinstance(space, spaces.Tuple):
        parts = enumerate(space.spaces)
        return tuple(column([each[i] for each in values], inner, f"{place}/{i}") for i, inner in parts)
    found, why = uniform(values, space.dtype)
    if found is None:
        raise ConversionError(f"{place}: Minari cannot hold these values: {why}")
    return found


def uniform(values: Sequence[Any], dtype: Any = None) -> tuple[Any, str]:
    """The values as one array or list of text, or None and why that is impossible.

    Args:
      values: of one leaf.
      dtype: that they may be cast to where that changes none of them and they have no common one.

    >>> uniform([1, 2])
    (array([1, 2]), '')
    >>> uniform([1, None])
    (None, 'a value is None')
    """
    if all(isinstance(each, str) for each in values):
        return (list(values), "") if all(map(_is_plain, values)) else (None, "text with NUL or lone surrogates")
    for each in values:
        if each is None or not isinstance(each, bool | int | float | complex | np.ndarray | np.generic):
            return None, f"a value is {'None' if each is None else type(each).__name__}"
    arrays = [np.asarray(each) for each in values]
    if any(each.dtype.kind not in _NUMBERS for each in arrays):
        return None, "a value is neither a number nor text"
    if len({each.shape for each in arrays}) > 1:
        return None, "values differ in shape"
    if len({each.dtype for each in arrays}) > 1:
        cast = np.stack(arrays).astype(dtype) if dtype is not None else None
        if cast is None or not all(np.array_equal(one, each) for one, each in zip(cast, arrays, strict=True)):
            return None, "values differ in dtype"
        return cast, ""
    return np.stack(arrays), ""


def leaves(rows: Sequence[Any], name: str) -> tuple[dict[str, Any], list[Loss]]:
    """The columns of dicts of any keys, and what of them is no column.

    Args:
      rows: a dict for each step, or None where a step has none.
      name: of the field, for the losses.

    Returns:
      A nest of columns, without those that are lost.
    """
    found: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for row in rows:
        for path, value in _flat(row):
            found[path].append(value)
    nest: dict[str, Any] = {}
    losses = []
    for path, values in found.items():
        made, why = uniform(values)
        if len(values) < len(rows):
            why = "not every step has it"
        elif any("/" in key or key in ("", ".") for key in path):
            why = "a name with a slash, or an empty one"
        if why or not path:
            losses.append(Loss("/".join((name, *path)), why or "is no dict", len(values)))
            continue
        inner = nest
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = made
    return nest, losses


def _flat(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, (*path, str(key)))
    elif value is not None or path:
        yield path, value


def attributes(nest: Mapping[Any, Any], name: str, prefix: str = "") -> tuple[dict[str, Any], list[Loss]]:
    """The entries of a dict as attributes of HDF5, whose names are paths, and what of them is none."""
    found: dict[str, Any] = {}
    losses: list[Loss] = []
    for key, value in nest.items():
        path = f"{prefix}/{key}" if prefix else str(key)
        if not isinstance(key, str) or "/" in key or not key:
            losses.append(Loss(f"{name}/{path}", "a name that is no text, is empty, or has a slash"))
        elif isinstance(value, Mapping) and value:
            inner, lost = attributes(value, name, path)
            found |= inner
            losses += lost
        elif (why := _unfit(value)) is not None:
            losses.append(Loss(f"{name}/{path}", why))
        else:
            found[path] = value
    return found, losses


def _unfit(value: Any) -> str | None:
    if isinstance(value, str):
        fits = _is_plain(value) and len(value.encode()) < LARGEST_ATTRIBUTE
        return None if fits else "text that is too long, or has NUL or lone surrogates"
    if isinstance(value, bool | int | float | complex | np.ndarray | np.generic):
        array = np.asarray(value)
        fits = array.dtype.kind in _NUMBERS and 0 < array.nbytes < LARGEST_ATTRIBUTE
        return None if fits else "no number of 64 bits, or an array that is empty, too large or of text"
    return f"is of type {type(value).__name__}"


def _is_plain(text: str) -> bool:
    """Whether HDF5 gives a text back as it is."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def unflattened(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """A nest, of names with slashes, which are paths.

    >>> unflattened({"a/b": 1, "a/c": 2})
    {'a': {'b': 1, 'c': 2}}
    """
    nest: dict[str, Any] = {}
    for path, value in attributes.items():
        *groups, own = path.split("/")
        inner = nest
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[own] = value
    return nest

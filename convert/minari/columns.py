"""Converts rows to the columns that Minari stores: one array, or list of text, for each leaf."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit.convert.episode_content import same
from rlds_kit.convert.minari.spaces import Space
from rlds_kit.convert.protocol import ConversionError, Loss

LARGEST_ATTRIBUTE: Final = 60_000
"""Bytes; HDF5 itself has a limit of 64 KiB."""
_NUMBERS: Final = "biufc"


def column(values: Sequence[Any], space: Space, place: str) -> Any:
    """The values of a field in the nest of its space.

    Raises:
      ConversionError: they cannot form columns: they differ in dtype or shape, are no numbers or text, or have other
        parts than the space.
    """
    if isinstance(space, spaces.Dict):
        if any(each.keys() != space.spaces.keys() for each in values):
            named = ", ".join(space.spaces)
            raise ConversionError(f"{place}: Minari needs the keys {named} in every value, and no other")
        return {key: column([each[key] for each in values], inner, f"{place}/{key}") for key, inner in space.items()}
    if isinstance(space, spaces.Tuple):
        parts = enumerate(space.spaces)
        return tuple(column([each[i] for each in values], inner, f"{place}/{i}") for i, inner in parts)
    found, why = uniform(values, space.dtype)
    if found is None:
        raise ConversionError(f"{place}: Minari cannot store these values: {why}")
    return found


def uniform(values: Sequence[Any], dtype: Any = None) -> tuple[Any, str]:
    """The values as one array or list of text; or None, and the reason why that is impossible.

    Args:
      values: of one leaf.
      dtype: to cast them to if they have no common one, and if that changes none of them.

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
    if not all(each.dtype.isnative for each in arrays):
        return None, "a value has the bytes of its numbers in another order than this machine"
    if len({each.shape for each in arrays}) > 1:
        return None, "values differ in shape"
    if len({each.dtype for each in arrays}) > 1:
        cast = [] if dtype is None else [one for each in arrays if (one := _cast(each, dtype)) is not None]
        return (np.stack(cast), "") if len(cast) == len(arrays) else (None, "values differ in dtype")
    return np.stack(arrays), ""


def _cast(array: np.ndarray, dtype: Any) -> np.ndarray | None:
    """Converts numbers to another dtype; None if it cannot represent them exactly."""
    if array.dtype == dtype:
        return array
    if not np.can_cast(array.dtype, dtype, "same_kind") and not {array.dtype.kind, np.dtype(dtype).kind} <= {*"iu"}:
        return None  # a float as an integer would lose the sign of zero
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
    # Compared as Python's numbers: NumPy calls 2**53 + 1 and 2.0**53 equal.
    return cast if cast.tolist() == array.tolist() else None


def leaves(rows: Sequence[Any], name: str, unfit: Callable[[Any], str | None]) -> tuple[dict[str, Any], list[Loss]]:
    """The columns of dicts, and the losses.

    Args:
      rows: a dict for each step, empty for a step without one.
      name: of the field, for the losses.
      unfit: returns the reason why a column cannot be stored.

    Returns:
      A nest of columns, without the lost ones.
    """
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in rows:
        for path, value in _flat(row):
            found[path].append(value)
    nest: dict[str, Any] = {}
    losses = []
    for path, values in found.items():
        made, why = uniform(values)
        if len(values) < len(rows):
            why = "not every step has it"
        elif not all(map(is_name, path)):
            why = "a name that is no text, is empty, or has a slash, NUL or lone surrogates"
        elif not why:
            why = unfit(made) or ""
        if why or not path:
            losses.append(Loss("/".join((name, *map(str, path))), why or "is no dict", len(values)))
            continue
        inner = nest
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = made
    return nest, losses


def _flat(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The items of a dict. An empty dict is no value if it is the whole, but a value if it is nested in another one."""
    if isinstance(value, Mapping) and (value or not path):
        for key, each in value.items():
            yield from _flat(each, (*path, key))
    else:
        yield path, value


def is_name(key: Any) -> bool:
    """Whether every storage of Minari accepts a name for a column."""
    return isinstance(key, str) and "/" not in key and key not in ("", ".") and _is_plain(key)


def attributes(nest: Mapping[Any, Any], name: str, prefix: str = "") -> tuple[dict[str, Any], list[Loss]]:
    """The entries of a dict as attributes of HDF5, whose names are paths; and the losses."""
    found: dict[str, Any] = {}
    losses: list[Loss] = []
    for key, value in nest.items():
        path = f"{prefix}/{key}" if prefix else str(key)
        if not isinstance(key, str) or "/" in key or not key or not _is_plain(key):
            reason = "a name that is no text, is empty, or has a slash, NUL or lone surrogates"
            losses.append(Loss(f"{name}/{path}", reason))
        elif isinstance(value, Mapping) and value:
            inner, lost = attributes(value, name, path)
            found |= inner
            losses += lost
        elif (why := _unfit(value)) is not None:
            losses.append(Loss(f"{name}/{path}", why))
        else:
            found[path] = value
    return found, losses


def in_json(content: Mapping[Any, Any], place: str) -> tuple[dict[str, Any], list[Loss]]:
    """The values that JSON, as Python reads it, represents exactly; and the losses.

    >>> in_json({"a": {"b": np.float64(1.5), "c": (1,)}}, "options")
    ({'a': {'b': 1.5}}, [Loss(field='options/a/c', reason='JSON cannot represent it exactly', values=1)])
    """
    exact: dict[str, Any] = {}
    losses: list[Loss] = []
    for key, value in content.items():
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(key, str) and isinstance(value, Mapping) and value:
            exact[key], lost = in_json(value, f"{place}/{key}")
            losses += lost
        elif isinstance(key, str) and _is_exact(plain, value):
            exact[key] = plain
        else:
            losses.append(Loss(f"{place}/{key}", "JSON cannot represent it exactly"))
    return exact, losses


def _is_exact(plain: Any, value: Any) -> bool:
    try:
        return same(json.loads(json.dumps(plain)), value)
    except (TypeError, ValueError, RecursionError):
        return False


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
    """Whether HDF5 returns a text unchanged."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)

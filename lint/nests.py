"""Nests of values as leaves by path."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rlds_kit.lint.subject import Leaf
from rlds_kit.storage.array_rows import length_of
from rlds_kit.storage.leaf import escape


def flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a nest, by the paths that they have in the format.

    >>> list(flat({"a": 1, "b": (2, [3])}, "info"))
    [('info/a', 1), ('info/b/(0)', 2), ('info/b/(1)/[0]', 3)]
    """
    match value:
        case Mapping():
            for key, item in value.items():
                yield from flat(item, f"{path}/{escape(str(key))}")
        case tuple() | list():
            opening, closing = "()" if isinstance(value, tuple) else "[]"
            for index, item in enumerate(value):
                yield from flat(item, f"{path}/{opening}{index}{closing}")
        case _:
            yield path, value


def leaves_of(rows: Sequence[Mapping[str, Any]], first: int, names: Sequence[str] | None = None) -> dict[str, Leaf]:
    """The leaves of consecutive rows.

    Args:
      rows: fields by name.
      first: the number of the first row.
      names: of the fields that count; None: all.

    >>> leaves_of([{"reward": 0.0}, {}, {"reward": 1.0}], 5)["reward"].rows.tolist()
    [5, 7]
    """
    found: dict[str, Leaf] = {}
    for name in dict.fromkeys(name for row in rows for name in row if names is None or name in names):
        numbered = [(number, row[name]) for number, row in enumerate(rows, first) if name in row]
        found |= _listed(numbered, escape(name))
    return found


def columns_between(columns: Mapping[str, Any], begin: int, end: int, wanted: Callable[[str], bool]) -> dict[str, Leaf]:
    """The leaves of rows `[begin, end)` of columns, which may end sooner.

    Args:
      columns: by field: an array `[rows, ...]`, a list, or a dict or tuple of these.
      begin: first row.
      end: one past the last.
      wanted: returns whether a path counts.

    >>> columns_between({"action": {"x": np.arange(3)}}, 1, 5, lambda path: True)["action/x"].rows.tolist()
    [1, 2]
    """
    found: dict[str, Leaf] = {}
    for name, nest in columns.items():
        last = min(end, length_of(nest))
        for path, column in _columns(nest, escape(name)):
            if last > begin and wanted(path):
                if isinstance(column, np.ndarray):
                    found[path] = Leaf(column[begin:last], np.arange(begin, last))
                else:  # images are decoded one by one
                    found |= _listed(((row, column[row]) for row in range(begin, last)), path)
    return found


def _columns(nest: Any, path: str) -> Iterator[tuple[str, Any]]:
    match nest:
        case Mapping():
            for key, item in nest.items():
                yield from _columns(item, f"{path}/{escape(str(key))}")
        case tuple():
            for index, item in enumerate(nest):
                yield from _columns(item, f"{path}/({index})")
        case _:
            yield path, nest


def _listed(numbered: Iterable[tuple[int, Any]], path: str) -> dict[str, Leaf]:
    """The leaves of values with the numbers of their rows."""
    found: dict[str, list[tuple[int, Any]]] = {}
    for number, item in numbered:
        for below, value in flat(item, path):
            found.setdefault(below, []).append((number, value))
    return {
        below: Leaf(stacked([value for _, value in pairs]), np.array([number for number, _ in pairs], np.int64))
        for below, pairs in found.items()
    }


def stacked(items: Sequence[Any]) -> np.ndarray:
    """Values as one array; objects where they have no common dtype and shape.

    >>> stacked([1, 2]).tolist(), stacked(["a", None]).dtype
    ([1, 2], dtype('O'))
    """
    arrays = [np.asarray(item) for item in items]
    if len({(each.dtype, each.shape) for each in arrays}) == 1 and arrays[0].dtype.kind in "biufc":
        return np.stack(arrays)
    made = np.empty(len(items), object)
    for index, item in enumerate(items):
        made[index] = item
    return made

"""Leaves: the single values of a step, with their kinds and their paths in the nested structure.

A leaf's path is the text of `Column.path` in the format: keys joined by "/", "(0)" for an element of a tuple, "[0]" of
a list. Containers of declared fields, and dictionaries with text keys, become paths; every other container is one leaf
of kind TREE. `branch.py` flattens steps.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rlds_kit.base.errors import SpecError, UnsupportedTypeError
from rlds_kit.spec import value as values

Kind: TypeAlias = int
"""A number of `rlds_kit_pb2.Kind`."""


class ColumnKey(NamedTuple):
    """Identifies a column: path, kind, dtype and rank of its values."""

    path: str
    kind: Kind
    dtype: np.dtype[Any] | None
    rank: int


class Leaves:
    """The values of one step, as given, and their columns; for a TREE the serialized message.

    Attributes:
      keys: the column of each value; steps of the same structure share these objects.
      items: the values.
    """

    __slots__ = ("items", "keys")

    def __init__(self, keys: list[ColumnKey], items: list[Any]) -> None:
        self.keys, self.items = keys, items

    def __iter__(self) -> Iterator[tuple[ColumnKey, Any]]:
        return zip(self.keys, self.items, strict=True)

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, key: ColumnKey, item: Any) -> None:
        """Adds a value."""
        self.keys.append(key)
        self.items.append(item)

    def cut(self, count: int) -> None:
        """Removes all but the first `count`."""
        del self.keys[count:], self.items[count:]


EMPTY_DICT: Final = values.encode({}).SerializeToString()
"""The encoded empty dict, precomputed because most infos are empty."""


@functools.lru_cache(maxsize=4096)
def escape(key: str) -> str:
    """A dictionary's key as an element of a path.

    Raises:
      UnsupportedTypeError: the key is not text.
      SpecError: UTF-8 cannot encode it.

    >>> escape("a/b"), escape("(0)"), escape("~"), escape("")
    ('a~1b', '~2(0)', '~0', '~2')
    """
    if type(key) is not str:
        raise UnsupportedTypeError("a key", key)
    if _SURROGATE.search(key):
        raise SpecError(f"expected a key without lone surrogates, got {key!r}")
    escaped = key.replace("~", "~0").replace("/", "~1")
    return f"~2{escaped}" if escaped[:1] in ("(", "[", "") else escaped


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INDEX: Final = re.compile(r"[(\[](\d+)[)\]]")


@functools.lru_cache(maxsize=4096)
def field_of(path: str) -> str:
    """The field that a column belongs to.

    >>> field_of("observation/pixels"), field_of("a~1b")
    ('observation', 'a/b')
    """
    return unescape(elements(path)[0])


def is_at_or_below(path: str, other: str) -> bool:
    """Whether a path is another one, or that of a part of what is there.

    >>> is_at_or_below("observation/pixels", "observation"), is_at_or_below("observation_valid", "observation")
    (True, False)
    """
    return path == other or path.startswith(f"{other}/")


def elements(path: str) -> list[str]:
    """The escaped elements of a path."""
    return path.split("/")


def unescape(element: str) -> str:
    """The inverse of `escape`."""
    return element.removeprefix("~2").replace("~1", "/").replace("~0", "~")


def nest(flat: Mapping[str, Any]) -> Any:  # the nest of recorded values has any type
    """Rebuilds a nested value from its leaves: the inverse of `leaves` for paths relative to one field.

    >>> nest({"a/(0)": 1, "a/(1)": 2, "b~1c": 3})
    {'a': (1, 2), 'b/c': 3}
    >>> nest({"": 5})
    5
    """
    if "" in flat:
        return flat[""]
    groups: dict[str, dict[str, Any]] = {}
    for path, item in flat.items():
        head, _, rest = path.partition("/")
        groups.setdefault(head, {})[rest] = item
    first = next(iter(groups))
    if not _INDEX.fullmatch(first):
        return {unescape(head): nest(group) for head, group in groups.items()}
    ordered = sorted(groups, key=lambda head: int(head[1:-1]))
    items = [nest(groups[head]) for head in ordered]
    return tuple(items) if first[0] == "(" else items

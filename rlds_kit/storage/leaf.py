"""A step as leaves: what each value is, and where in the nest it stands.

A leaf's path is the text of `Column.path` in the format: keys joined by "/", "(0)" for an element of a tuple, "[0]" of
a list. Containers of declared fields, and dictionaries with text keys, become paths; every other container is one leaf
of kind TREE.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.errors import SpecError, UnsupportedTypeError
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage import value as values

Kind: TypeAlias = int
"""A number of `rlds_kit_pb2.Kind`."""


class ColumnKey(NamedTuple):
    """What all values of one column share."""

    path: str
    kind: Kind
    dtype: np.dtype[Any] | None
    rank: int


class Leaf(NamedTuple):
    """One value of one step, and the column it goes to."""

    key: ColumnKey
    value: Any  # as given; of a TREE the serialized message


_PYTHON_KINDS: Final[dict[type, Kind]] = {
    bool: pb.BOOL,
    float: pb.FLOAT,
    complex: pb.COMPLEX,
    str: pb.TEXT,
    bytes: pb.BYTES,
    type(None): pb.NONE,
    np.str_: pb.NUMPY_TEXT,
    np.bytes_: pb.NUMPY_BYTES,
}
_RANKS: Final[dict[Kind, int]] = {
    pb.TEXT: 1,
    pb.BYTES: 1,
    pb.BIG_INT: 1,
    pb.TREE: 1,
    pb.NUMPY_TEXT: 1,
    pb.NUMPY_BYTES: 1,
    pb.NONE: 1,
}
EMPTY_DICT: Final = values.encode({}).SerializeToString()
"""Most infos are empty: then nothing need be encoded."""
_ARRAY_TYPES: Final = (np.ndarray, np.memmap)


def leaves(path: str, value: object, spec: specs.Spec | None) -> list[Leaf]:
    """Takes a field apart.

    Args:
      path: where `value` stands.
      value: what was given.
      spec: what the field was declared to be; None for a dynamic field.

    Raises:
      UnsupportedTypeError: something inside cannot be recorded.

    >>> [leaf.key.path for leaf in leaves("info", {"lives": 3, "a/b": {"t": 0.5}}, None)]
    ['info/lives', 'info/a~1b/t']
    """
    found: list[Leaf] = []
    _collect(path, value, spec, found)
    return found


def as_tree(path: str, value: object) -> Leaf:
    """The whole of `value` as one leaf, however it is nested."""
    return Leaf(_key(path, pb.TREE), values.encode(value, path).SerializeToString())


def _collect(path: str, value: Any, spec: specs.Spec | None, found: list[Leaf]) -> None:  # any recordable value
    # Every value of every step comes here: the ordinary cases first, and no generator.
    kind = _PYTHON_KINDS.get(type(value))
    if kind is not None:
        found.append(Leaf(_key(path, kind), value))
    elif type(value) in _ARRAY_TYPES:
        found.append(Leaf(_numpy_key(path, pb.ARRAY, value.dtype, value.ndim), value))
    elif type(value) is int:
        found.append(_int_leaf(path, value))
    elif type(value) is dict and not value:
        found.append(Leaf(_key(path, pb.TREE), EMPTY_DICT))
    elif isinstance(value, np.generic):
        found.append(Leaf(_numpy_key(path, pb.SCALAR, value.dtype, 0), value))
    elif isinstance(value, Mapping) and value and all(type(key) is str for key in value):
        _collect_mapping(path, value, spec, found)
    elif isinstance(value, tuple | list) and isinstance(spec, specs.Tuple | specs.List) and value:
        _collect_items(path, value, spec, found)
    elif isinstance(value, int):
        found.append(_int_leaf(path, int(value)))
    else:
        found.append(as_tree(path, value))


def _collect_mapping(path: str, value: Mapping[str, Any], spec: specs.Spec | None, found: list[Leaf]) -> None:
    fields = spec.fields if isinstance(spec, specs.Dict) else {}
    try:
        names = [escape(key) for key in value]
    except SpecError:  # a path cannot hold such a key; a tree can
        found.append(as_tree(path, value))
        return
    for name, (key, item) in zip(names, value.items(), strict=True):
        _collect(f"{path}/{name}", item, fields.get(key), found)


def _collect_items(
    path: str, value: tuple[Any, ...] | list[Any], spec: specs.Tuple | specs.List, found: list[Leaf]
) -> None:
    opening, closing = "()" if isinstance(spec, specs.Tuple) else "[]"
    for index, (item, item_spec) in enumerate(zip(value, spec.items, strict=True)):
        _collect(f"{path}/{opening}{index}{closing}", item, item_spec, found)


def _int_leaf(path: str, value: int) -> Leaf:
    fits = values.INT64_MIN <= value <= values.INT64_MAX
    return Leaf(_key(path, pb.INT if fits else pb.BIG_INT), value)


# The same key object for the same column, as long as it is in use: then a buffer is found by identity.


@functools.lru_cache(maxsize=4096)
def _key(path: str, kind: Kind) -> ColumnKey:
    return ColumnKey(path, kind, None, _RANKS.get(kind, 0))


@functools.lru_cache(maxsize=4096)
def _numpy_key(path: str, kind: Kind, dtype: np.dtype[Any], rank: int) -> ColumnKey:
    return ColumnKey(path, kind, dtype, rank)


@functools.lru_cache(maxsize=4096)
def escape(key: str) -> str:
    """A dictionary's key as an element of a path.

    Raises:
      UnsupportedTypeError: the key is no text.
      SpecError: UTF-8 cannot hold it.

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


def field_of(path: str) -> str:
    """The field that a column belongs to.

    >>> field_of("observation/pixels"), field_of("a~1b")
    ('observation', 'a/b')
    """
    return unescape(elements(path)[0])


def elements(path: str) -> list[str]:
    """The escaped elements of a path."""
    return path.split("/")


def unescape(element: str) -> str:
    """The inverse of `escape`."""
    return element.removeprefix("~2").replace("~1", "/").replace("~0", "~")


def nest(flat: Mapping[str, Any]) -> Any:  # the nest of recorded values has any type
    """Puts leaves together again: the inverse of `leaves` for paths relative to one field.

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

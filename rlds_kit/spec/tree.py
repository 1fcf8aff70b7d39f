"""A spec describes what a field contains: one frozen dataclass for each kind, immutable and compared by value."""

import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from rlds_kit.spec.array import Array, utf8

__all__ = [
    "NONE",
    "Any",
    "Array",
    "Bytes",
    "Dict",
    "Graph",
    "List",
    "OneOf",
    "Optional",
    "Sequence",
    "Spec",
    "Text",
    "Tuple",
]


@dataclass(frozen=True, repr=False)
class Text:
    """A Python string.

    `charset` holds the allowed characters; its order means nothing and is sorted.

    >>> Text(max_length=5, charset="cba")
    Text(max_length=5, charset='abc')
    """

    name: str = ""
    min_length: int | None = None
    max_length: int | None = None
    charset: str | None = None

    def __post_init__(self) -> None:
        utf8(self.name, "name")
        if self.charset is not None:
            object.__setattr__(self, "charset", utf8("".join(sorted(set(self.charset))), "charset"))

    def __repr__(self) -> str:
        given = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if getattr(self, each.name)]
        return f"Text({', '.join(given)})"


@dataclass(frozen=True)
class Bytes:
    """A Python byte string."""

    name: str = ""


@dataclass(frozen=True, repr=False)
class Dict:
    """A dict with these keys. The order is preserved and, as between dicts, plays no part in equality.

    A key may be absent from a value where its spec is `Optional` or `Any`.

    >>> Dict({"lives": Array((), "int64")})
    Dict({'lives': Array((), int64)})
    """

    fields: Mapping[str, "Spec"]

    def __post_init__(self) -> None:
        items = {utf8(key, "key"): spec for key, spec in self.fields.items()}
        object.__setattr__(self, "fields", MappingProxyType(items))

    def __hash__(self) -> int:
        return hash(frozenset(self.fields.items()))

    def __reduce__(self) -> tuple[object, ...]:  # a mappingproxy cannot be pickled
        return Dict, (dict(self.fields),)

    def __repr__(self) -> str:
        return f"Dict({dict(self.fields)!r})"


@dataclass(frozen=True)
class Tuple:
    """A tuple with one item for each spec."""

    items: tuple["Spec", ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(self.items))


@dataclass(frozen=True)
class List:
    """A list with one item for each spec."""

    items: tuple["Spec", ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(self.items))


@dataclass(frozen=True)
class Sequence:
    """A sequence of any number of elements: in a tuple or, when `stacked`, batched as in `rlds_kit.spec.stacked`."""

    element: "Spec"
    stacked: bool = False


@dataclass(frozen=True)
class Optional:
    """A value or None. In a `Dict`, the key may also be absent."""

    spec: "Spec"


@dataclass(frozen=True)
class OneOf:
    """A pair `(index, value)`: which of the alternatives, and a value of it. Without alternatives nothing fits."""

    alternatives: tuple["Spec", ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "alternatives", tuple(self.alternatives))


@dataclass(frozen=True)
class Graph:
    """A tuple `(nodes, edges, edge_links)`, as Gymnasium's GraphInstance.

    Nodes and edges are batched as in `rlds_kit.spec.stacked`; `edge_links` is an integer array (edges, 2) of node
    numbers. A graph without edges has None for both. When `edge` is None, edges carry nothing and are always None.
    """

    node: "Spec"
    edge: "Spec | None" = None


@dataclass(frozen=True)
class Any:
    """A dynamic value: any recordable value, or absence from a dict."""

    name: str = ""


Spec: typing.TypeAlias = Array | Text | Bytes | Dict | Tuple | List | Sequence | Optional | OneOf | Graph | Any

NONE: typing.Final = Optional(OneOf(()))
"""The spec of a value that is always None."""

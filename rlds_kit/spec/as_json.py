"""Specs as JSON that a person reads easily: how `dataset.json` shows them."""

import math
import typing
from collections.abc import Callable

import numpy as np

from rlds_kit.base.errors import FormatError
from rlds_kit.spec import dtypes
from rlds_kit.spec.problem import at_item, at_key
from rlds_kit.spec.tree import Any, Array, Bytes, Dict, Graph, List, OneOf, Optional, Sequence, Spec, Text, Tuple

# JSON's own types are only known at run time.
Json: typing.TypeAlias = typing.Any

KIND: typing.Final = "kind"
NOT_NUMBERS: typing.Final = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
"""Floats that JSON lacks, by the names that protobuf gives them."""


def to_json(spec: Spec) -> Json:
    """Converts a spec for `json.dumps`: a dict of specs to an object of its fields, others to one with a "kind".

    A dict that has a field called "kind" is written out as {"kind": "dict", "fields": {...}}.

    >>> to_json(Dict({"observation": Array((210, None), np.uint8, minimum=0, maximum=255)}))
    {'observation': {'kind': 'array', 'dtype': 'uint8', 'shape': [210, None], 'minimum': 0, 'maximum': 255}}
    """
    match spec:
        case Array():
            return _array(spec)
        case Text(name, low, high, charset):
            given = {"name": name or None, "min_length": low, "max_length": high, "charset": charset}
            return {KIND: "text", **_known(given)}
        case Bytes(name):
            return {KIND: "bytes", **_known({"name": name or None})}
        case Dict(fields):
            shown = {key: to_json(field) for key, field in fields.items()}
            return {KIND: "dict", "fields": shown} if KIND in shown else shown
        case Tuple(items):
            return {KIND: "tuple", "items": [to_json(item) for item in items]}
        case List(items):
            return {KIND: "list", "items": [to_json(item) for item in items]}
        case Sequence(element, stacked):
            return {KIND: "sequence", "element": to_json(element), "stacked": stacked}
        case Optional(inner):
            return {KIND: "optional", "spec": to_json(inner)}
        case OneOf(alternatives):
            return {KIND: "one_of", "alternatives": [to_json(each) for each in alternatives]}
        case Graph(node, edge):
            return {KIND: "graph", "node": to_json(node), **({} if edge is None else {"edge": to_json(edge)})}
        case Any(name):
            return {KIND: "any", **_known({"name": name or None})}


def from_json(data: Json, place: str = "spec") -> Spec:
    """Converts what `to_json` returns to a spec.

    Raises:
      FormatError: `data` is not what `to_json` writes; the message names the place inside it.
    """
    if not isinstance(data, dict):
        raise FormatError(f"{place}: expected an object, got {data!r}")
    if KIND not in data:
        return Dict({key: from_json(field, at_key(place, key)) for key, field in data.items()})
    reader = _READERS.get(data[KIND]) if isinstance(data[KIND], str) else None
    if reader is None:
        raise FormatError(f"{place}: expected a kind among {', '.join(_READERS)}, got {data[KIND]!r}")
    try:
        return reader(data, place)
    except FormatError:
        raise
    except KeyError as error:
        raise FormatError(f"{place}: expected {error} beside the kind {data[KIND]!r}, got {', '.join(data)}") from error
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise FormatError(f"{place}: {error}") from error


def _known(given: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in given.items() if value is not None}


def _array(spec: Array) -> Json:
    given = {
        "name": spec.name or None,
        "minimum": None if spec.minimum is None else _numbers(spec.minimum),
        "maximum": None if spec.maximum is None else _numbers(spec.maximum),
        "num_values": spec.num_values,
    }
    return {KIND: "array", "dtype": dtypes.name_of(spec.dtype, spec.name), "shape": list(spec.shape), **_known(given)}


def _numbers(array: np.ndarray) -> Json:
    if array.ndim:
        return [_numbers(np.asarray(item)) for item in array]
    return _float(array) if array.dtype.kind in "fV" else array.item()


def _float(number: np.ndarray) -> float | str:
    """The shortest number that comes back as the same float; a name where JSON has no number."""
    if not np.isfinite(number):
        return "NaN" if np.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    short = float(str(number))
    return short if number.dtype.type(short) == number else float(number)


def _read_array(data: Json, _place: str) -> Array:
    low, high = (None if data.get(key) is None else _read_numbers(data[key]) for key in ("minimum", "maximum"))
    dtype = dtypes.from_name(data["dtype"])
    return Array(data["shape"], dtype, data.get("name", ""), low, high, data.get("num_values"))


def _read_numbers(data: Json) -> Json:
    if isinstance(data, list):
        return [_read_numbers(item) for item in data]
    return NOT_NUMBERS[data] if isinstance(data, str) else data


def _read_items(data: Json, key: str, place: str) -> tuple[Spec, ...]:
    return tuple(from_json(item, at_item(place, index)) for index, item in enumerate(data[key]))


def _read_dict(data: Json, place: str) -> Dict:
    return Dict({key: from_json(field, at_key(place, key)) for key, field in data["fields"].items()})


def _read_graph(data: Json, place: str) -> Graph:
    edge = from_json(data["edge"], at_item(place, 1)) if "edge" in data else None
    return Graph(from_json(data["node"], at_item(place, 0)), edge)


_READERS: typing.Final[dict[str, Callable[[Json, str], Spec]]] = {
    "array": _read_array,
    "text": lambda data, _: Text(
        data.get("name", ""), data.get("min_length"), data.get("max_length"), data.get("charset")
    ),
    "bytes": lambda data, _: Bytes(data.get("name", "")),
    "dict": _read_dict,
    "tuple": lambda data, place: Tuple(_read_items(data, "items", place)),
    "list": lambda data, place: List(_read_items(data, "items", place)),
    "sequence": lambda data, place: Sequence(from_json(data["element"], at_item(place, 0)), bool(data["stacked"])),
    "optional": lambda data, place: Optional(from_json(data["spec"], place)),
    "one_of": lambda data, place: OneOf(_read_items(data, "alternatives", place)),
    "graph": _read_graph,
    "any": lambda data, _: Any(data.get("name", "")),
}

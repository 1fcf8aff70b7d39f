"""Whether a value that fits its spec is also within the bounds, lengths and characters that the spec states."""

import typing
from collections.abc import Callable, Mapping

import numpy as np

from rlds_kit.spec.batches import lengths, stacked
from rlds_kit.spec.fit import problems
from rlds_kit.spec.limits import short
from rlds_kit.spec.problem import Problem, at_entry, at_item, at_key
from rlds_kit.spec.tree import Any, Array, Bytes, Dict, Graph, List, OneOf, Optional, Sequence, Spec, Text, Tuple

MENTIONED: typing.Final = 5
"""Most characters outside a charset that a message names."""


def out_of_bounds(spec: Spec, value: object, place: str = "") -> list[Problem]:
    """Lists everything in `value` outside the bounds of `spec`; what does not fit at all is passed over.

    Bounds that the dtype itself cannot exceed cost nothing: the data is not read. A NaN is outside any real bound.

    >>> print(*out_of_bounds(Array((2,), np.float32, maximum=1), np.array([0.5, 3], np.float32), "action"))
    action: 1 of 2 elements outside [None, 1.0]; the first is 3.0 at (1,)
    """
    found: list[Problem] = []
    _CHECKS[type(spec)](spec, value, place, found)
    return found


def _array(spec: Array, value: object, place: str, found: list[Problem]) -> None:
    low, high = spec.lowest, spec.highest
    if (low is None and high is None) or problems(spec, value):
        return
    elements = np.asarray(value)
    with np.errstate(invalid="ignore"):  # bfloat16 warns where it meets NaN
        inside: np.ndarray | np.bool_ = np.True_ if low is None else elements >= low
        if high is not None:
            inside = inside & (elements <= high)
    if not np.all(inside):
        found.append(Problem(place, _outside(spec, elements, np.asarray(~inside)), "bounds"))


def _outside(spec: Array, elements: np.ndarray, outside: np.ndarray) -> str:
    limits = f"[{short(spec.minimum)}, {short(spec.maximum)}]"
    if not elements.ndim:
        return f"{elements} is outside {limits}"
    first = tuple(int(index) for index in np.argwhere(outside)[0])
    count = int(np.count_nonzero(outside))
    return f"{count} of {elements.size} elements outside {limits}; the first is {elements[first]} at {first}"


def _text(spec: Text, value: object, place: str, found: list[Problem]) -> None:
    if not isinstance(value, str):
        return
    low, high = spec.min_length or 0, spec.max_length
    if len(value) < low or (high is not None and len(value) > high):
        found.append(Problem(place, f"length {len(value)} is outside [{low}, {high}]", "bounds"))
    strange = sorted(set(value) - set(spec.charset)) if spec.charset is not None else []
    if strange:
        names = ", ".join(map(repr, strange[:MENTIONED])) + (", ..." if len(strange) > MENTIONED else "")
        found.append(Problem(place, f"characters outside the charset: {names}", "charset"))


def _dict(spec: Dict, value: object, place: str, found: list[Problem]) -> None:
    if isinstance(value, Mapping):
        for key, field in spec.fields.items():
            if key in value:
                _CHECKS[type(field)](field, value[key], at_key(place, key), found)


def _items(spec: Tuple | List, value: object, place: str, found: list[Problem]) -> None:
    at = at_item if isinstance(spec, Tuple) else at_entry
    if isinstance(value, tuple | list):
        for index, (item, part) in enumerate(zip(spec.items, value, strict=False)):
            _CHECKS[type(item)](item, part, at(place, index), found)


def _sequence(spec: Sequence, value: object, place: str, found: list[Problem]) -> None:
    if spec.stacked:
        found.extend(out_of_bounds(stacked(spec.element), value, place))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            found.extend(out_of_bounds(spec.element, item, at_item(place, index)))


def _optional(spec: Optional, value: object, place: str, found: list[Problem]) -> None:
    if value is not None:
        _CHECKS[type(spec.spec)](spec.spec, value, place, found)


def _one_of(spec: OneOf, value: object, place: str, found: list[Problem]) -> None:
    if not problems(spec, value):
        index, item = typing.cast("tuple[int, object]", value)  # it fits
        found.extend(out_of_bounds(spec.alternatives[index], item, at_item(place, 1)))


def _graph(spec: Graph, value: object, place: str, found: list[Problem]) -> None:
    if problems(spec, value):
        return
    nodes, edges, links = typing.cast("tuple[object, object, np.ndarray | None]", value)  # it fits
    found.extend(out_of_bounds(stacked(spec.node), nodes, at_item(place, 0)))
    if edges is not None and spec.edge is not None:
        found.extend(out_of_bounds(stacked(spec.edge), edges, at_item(place, 1)))
    for count in lengths(stacked(spec.node), nodes):
        if links is not None and np.any((links < 0) | (links >= count)):
            message = f"expected node numbers below {count}, got {links.min()} to {links.max()}"
            found.append(Problem(at_item(place, 2), message, "bounds"))


def _anything(_spec: Spec, _value: object, _place: str, _found: list[Problem]) -> None:
    """No bounds."""


# Each check takes its own kind of spec; the type of a table from kind to check cannot express that, hence Any.
_CHECKS: typing.Final[dict[type, Callable[[typing.Any, object, str, list[Problem]], None]]] = {
    Array: _array,
    Text: _text,
    Bytes: _anything,
    Dict: _dict,
    Tuple: _items,
    List: _items,
    Sequence: _sequence,
    Optional: _optional,
    OneOf: _one_of,
    Graph: _graph,
    Any: _anything,
}

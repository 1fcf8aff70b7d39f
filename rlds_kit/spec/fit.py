"""Whether a value fits a spec: structure, dtype and shape. Bounds are a separate question (`bounds.py`)."""

import typing
from collections.abc import Callable, Mapping

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.spec import exact
from rlds_kit.spec.batches import lengths, stacked
from rlds_kit.spec.describe import describe_spec, describe_value
from rlds_kit.spec.problem import Problem, ProblemKind, at_entry, at_item, at_key
from rlds_kit.spec.tree import Any, Array, Bytes, Dict, Graph, List, OneOf, Optional, Sequence, Spec, Text, Tuple

_GRAPH_PARTS: typing.Final = 3
_PAIR: typing.Final = 2


def problems(spec: Spec, value: object, place: str = "") -> list[Problem]:
    """Lists everything about `value` that does not fit `spec`; empty when it fits.

    An array of shape `()` may be a 0-d array or any scalar whose value the dtype holds exactly (a Python int for a
    float64, never a float for an integer, a bool only for bool). Other arrays must be NumPy arrays of exactly the
    dtype.

    Args:
      spec: what is expected.
      value: to check.
      place: path of the value, for the messages.

    >>> spec = Dict({"pixels": Array((210, 160, 3), np.uint8), "lives": Array((), np.int64)})
    >>> for problem in problems(spec, {"pixels": np.zeros((84, 84), np.float32)}, "observation"):
    ...     print(problem)
    observation/pixels: expected uint8 (210, 160, 3), got float32 (84, 84)
    observation/lives: missing, expected int64 ()
    """
    found: list[Problem] = []
    _CHECKS[type(spec)](spec, value, place, found)
    return found


def require(spec: Spec, value: object, place: str = "") -> None:
    """Checks that `value` fits `spec`.

    Raises:
      SpecError: it does not; the message lists every problem, one a line.

    >>> require(Array((), np.float64), 1, "reward")
    """
    found = problems(spec, value, place)
    if found:
        raise SpecError("\n".join(map(str, found)))


def fits_shape(shape: tuple[int | None, ...], spec_shape: tuple[int | None, ...]) -> bool:
    """Whether an array of `shape` has the known lengths of `spec_shape`."""
    if shape == spec_shape:
        return True
    return len(shape) == len(spec_shape) and all(
        want is None or have == want for have, want in zip(shape, spec_shape, strict=True)
    )


def _unfit(spec: Spec, value: object, place: str, kind: ProblemKind) -> Problem:
    return Problem(place, f"expected {describe_spec(spec)}, got {describe_value(value)}", kind)


def _array(spec: Array, value: object, place: str, found: list[Problem]) -> None:
    if isinstance(value, np.ndarray):
        same_shape = fits_shape(value.shape, spec.shape)
        if same_shape and (value.dtype == spec.dtype or exact.holds(spec.dtype, value)):
            return
        found.append(_unfit(spec, value, place, "shape" if value.dtype == spec.dtype else "dtype"))
    elif spec.shape or not isinstance(value, np.generic | bool | int | float | complex | str | bytes):
        found.append(_unfit(spec, value, place, "type"))
    elif not exact.holds(spec.dtype, value):
        reason = f"which {spec.dtype.name} cannot hold exactly"
        found.append(Problem(place, f"expected {describe_spec(spec)}, got {describe_value(value)}, {reason}", "value"))


def _instance(kind: type) -> Callable[[Spec, object, str, list[Problem]], None]:
    def check(spec: Spec, value: object, place: str, found: list[Problem]) -> None:
        if not isinstance(value, kind):
            found.append(_unfit(spec, value, place, "type"))

    return check


def _dict(spec: Dict, value: object, place: str, found: list[Problem]) -> None:
    if not isinstance(value, dict | Mapping):  # most are dicts, and this test is faster
        found.append(_unfit(spec, value, place, "type"))
        return
    for key, field in spec.fields.items():
        if key in value:
            _CHECKS[type(field)](field, value[key], at_key(place, key), found)
        elif not isinstance(field, Optional | Any):
            found.append(Problem(at_key(place, key), f"missing, expected {describe_spec(field)}", "missing"))
    if not value.keys() <= spec.fields.keys():
        _unexpected(spec, value, place, found)


def _unexpected(spec: Dict, value: Mapping[object, object], place: str, found: list[Problem]) -> None:
    for key, item in value.items():
        if key not in spec.fields:
            known = ", ".join(spec.fields) or "no fields"
            message = f"unexpected {describe_value(item)}; the spec has {known}"
            found.append(Problem(at_key(place, key), message, "unexpected"))


def _fixed(kind: type, at: Callable[[str, int], str]) -> Callable[[Tuple | List, object, str, list[Problem]], None]:
    def check(spec: Tuple | List, value: object, place: str, found: list[Problem]) -> None:
        if not isinstance(value, kind):
            found.append(_unfit(spec, value, place, "type"))
        elif len(value) != len(spec.items):  # type: ignore[arg-type]  # a tuple or a list
            found.append(_unfit(spec, value, place, "length"))
        else:
            for index, item in enumerate(spec.items):
                _CHECKS[type(item)](item, value[index], at(place, index), found)  # type: ignore[index]  # as above

    return check


def _sequence(spec: Sequence, value: object, place: str, found: list[Problem]) -> None:
    if spec.stacked:
        _batch(spec.element, value, place, found)
    elif not isinstance(value, tuple):
        found.append(_unfit(spec, value, place, "type"))
    else:
        check = _CHECKS[type(spec.element)]
        for index, item in enumerate(value):
            check(spec.element, item, at_item(place, index), found)


def _batch(element: Spec, value: object, place: str, found: list[Problem]) -> int | None:
    """Checks a batch of elements and returns how many there are, None when that is unknown."""
    spec = stacked(element)
    own = problems(spec, value, place)
    counts = sorted(lengths(spec, value)) if not own else []
    if len(counts) > 1:
        own.append(Problem(place, f"expected one length in all parts of the batch, got {counts}", "length"))
    found.extend(own)
    return counts[0] if len(counts) == 1 else None


def _optional(spec: Optional, value: object, place: str, found: list[Problem]) -> None:
    if value is None:
        return
    if spec.spec == OneOf(()):
        found.append(_unfit(spec, value, place, "type"))
    else:
        _CHECKS[type(spec.spec)](spec.spec, value, place, found)


def _one_of(spec: OneOf, value: object, place: str, found: list[Problem]) -> None:
    if not isinstance(value, tuple) or len(value) != _PAIR:
        found.append(_unfit(spec, value, place, "type"))
        return
    index = value[0]
    if isinstance(index, bool) or not isinstance(index, int | np.integer):
        found.append(Problem(at_item(place, 0), f"expected an integer, got {describe_value(index)}", "type"))
    elif not 0 <= index < len(spec.alternatives):
        message = f"expected an index below {len(spec.alternatives)}, got {index}"
        found.append(Problem(at_item(place, 0), message, "index"))
    else:
        alternative = spec.alternatives[index]
        _CHECKS[type(alternative)](alternative, value[1], at_item(place, 1), found)


def _graph(spec: Graph, value: object, place: str, found: list[Problem]) -> None:
    if not isinstance(value, tuple) or len(value) != _GRAPH_PARTS:
        found.append(_unfit(spec, value, place, "type"))
        return
    nodes, edges, links = value
    _batch(spec.node, nodes, at_item(place, 0), found)
    count = None
    if edges is not None and spec.edge is None:
        message = f"expected None, for the edges carry nothing, got {describe_value(edges)}"
        found.append(Problem(at_item(place, 1), message, "type"))
    elif edges is not None and spec.edge is not None:
        count = _batch(spec.edge, edges, at_item(place, 1), found)
    _links(links, count, place, found, needed=edges is not None, allowed=edges is not None or spec.edge is None)


def _links(links: object, count: int | None, place: str, found: list[Problem], *, needed: bool, allowed: bool) -> None:
    """Checks the (edges, 2) node numbers, of which there must be `count` when that is known."""
    expected = f"an integer array ({'?' if count is None else count}, 2)" if allowed else "None, for there are no edges"
    good = isinstance(links, np.ndarray) and links.dtype.kind in "iu" and fits_shape(links.shape, (count, 2))
    if not (allowed and good) and not (links is None and not needed):
        found.append(Problem(at_item(place, 2), f"expected {expected}, got {describe_value(links)}", "type"))


# Each check takes its own kind of spec; the type of a table from kind to check cannot express that, hence Any.
_CHECKS: typing.Final[dict[type, Callable[[typing.Any, object, str, list[Problem]], object]]] = {
    Array: _array,
    Text: _instance(str),
    Bytes: _instance(bytes),
    Dict: _dict,
    Tuple: _fixed(tuple, at_item),
    List: _fixed(list, at_entry),
    Sequence: _sequence,
    Optional: _optional,
    OneOf: _one_of,
    Graph: _graph,
    Any: lambda _spec, _value, _place, _found: None,
}

"""Gymnasium spaces as specs, and back."""

from collections import OrderedDict
from typing import Any as AnySpace  # a space's type parameter is only known at run time
from typing import Final

import gymnasium
import numpy as np
from gymnasium import spaces

from rlds_kit.base.errors import SpecError
from rlds_kit.spec import dtypes, limits
from rlds_kit.spec.describe import describe_spec
from rlds_kit.spec.problem import at_item, at_key
from rlds_kit.spec.tree import Array, Dict, Graph, OneOf, Sequence, Spec, Text, Tuple

Space = gymnasium.Space[AnySpace]

KNOWN: Final = "Box, Discrete, MultiBinary, MultiDiscrete, Text, Dict, Tuple, Sequence, Graph, OneOf"
_BINARY: Final = 2


def from_gymnasium(space: Space, place: str = "space") -> Spec:
    """The spec of what `space` samples, bounds included.

    `Discrete`, `MultiBinary` and `MultiDiscrete` become arrays with `num_values`; a `Box` without any bound on one side
    has None there, and bounds that are all the same become one number.

    Args:
      space: any nesting of Gymnasium's ten kinds of space, and subclasses of them.
      place: path of the field, for errors.

    Raises:
      SpecError: a space of another kind, or a dict with keys that are not strings; the message names its place.
      UnsupportedTypeError: a dtype that cannot be recorded.

    >>> from_gymnasium(spaces.Discrete(4, start=1))
    Array((), int64, minimum=1, maximum=4, num_values=4)
    """
    match space:
        case spaces.Box() | spaces.Discrete() | spaces.MultiBinary() | spaces.MultiDiscrete():
            return _array(space, place)
        case spaces.Text():
            return Text("", space.min_length, space.max_length, space.characters)
        case spaces.Dict():
            each_key = [_key(key, place) for key in space.spaces]
            return Dict({key: from_gymnasium(space.spaces[key], at_key(place, key)) for key in each_key})
        case spaces.Tuple() | spaces.OneOf():
            items = tuple(from_gymnasium(each, at_item(place, index)) for index, each in enumerate(space.spaces))
            return Tuple(items) if isinstance(space, spaces.Tuple) else OneOf(items)
        case spaces.Sequence():
            return Sequence(from_gymnasium(space.feature_space, at_item(place, 0)), space.stack)
        case spaces.Graph():
            edge = None if space.edge_space is None else from_gymnasium(space.edge_space, at_item(place, 1))
            return Graph(from_gymnasium(space.node_space, at_item(place, 0)), edge)
        case _:
            raise SpecError(_unknown(space, place))


def to_gymnasium(spec: Spec, place: str = "spec") -> Space:
    """The Gymnasium space that `from_gymnasium` turns into `spec`, names aside.

    Raises:
      SpecError: Gymnasium has no such space: an unknown length, bytes, a list, an optional or dynamic value, text
        without a largest length or a charset; the message names its place.

    >>> to_gymnasium(Array((2,), np.float32, minimum=0, maximum=1))
    Box(0.0, 1.0, (2,), float32)
    """
    match spec:
        case Array(shape, dtype) if None not in shape and dtype.kind in "biuf":
            return _space(spec, tuple(length for length in shape if length is not None))
        case Text(_, low, int(high), str(charset)):
            return spaces.Text(high, min_length=low or 0, charset=charset)
        case Dict(fields):
            inner = OrderedDict((key, to_gymnasium(field, at_key(place, key))) for key, field in fields.items())
            return spaces.Dict(inner)
        case Tuple(items):
            return spaces.Tuple([to_gymnasium(each, at_item(place, index)) for index, each in enumerate(items)])
        case OneOf(items) if items:
            return spaces.OneOf([to_gymnasium(each, at_item(place, index)) for index, each in enumerate(items)])
        case Sequence(element, stacked):
            return spaces.Sequence(to_gymnasium(element, at_item(place, 0)), stack=stacked)
        case Graph(node, edge):
            edges = None if edge is None else to_gymnasium(edge, at_item(place, 1))
            return spaces.Graph(to_gymnasium(node, at_item(place, 0)), edges)
        case _:
            raise SpecError(f"{place}: Gymnasium has no space for {describe_spec(spec)} ({spec!r})")


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise SpecError(
            f"{place}: expected strings as keys of a Dict space, got {key!r}. Rename the keys in a wrapper around the "
            "environment, in its space and in its values."
        )
    return key


def _unknown(space: object, place: str) -> str:
    name = f"{type(space).__module__}.{type(space).__qualname__}"
    return (
        f"{place}: expected a space that is or derives from {KNOWN}, got {name}. Wrap the environment so that space "
        "and values are made of these, or give the field a spec from rlds_kit.spec yourself."
    )


def _array(space: Space, place: str) -> Array:
    dtype = np.dtype(space.dtype)
    dtypes.name_of(dtype, place)
    try:
        match space:
            case spaces.Discrete(n=n, start=start):
                return Array((), dtype, "", start, int(start) + int(n) - 1, int(n))
            case spaces.MultiDiscrete(nvec=nvec, start=start, shape=shape):
                return Array(shape, dtype, "", start, start + (nvec - 1), int(nvec.max(initial=1)))
            case spaces.Box(low=low, high=high, shape=shape):
                minimum = _uniform(low) if np.any(space.bounded_below) else None
                return Array(shape, dtype, "", minimum, _uniform(high) if np.any(space.bounded_above) else None)
            case _:
                return Array(space.shape or (), dtype, "", 0, 1, _BINARY)
    except SpecError as error:
        raise SpecError(f"{place}: {space} has no values that {dtype.name} can hold: {error}") from error


def _uniform(bound: np.ndarray) -> np.ndarray:
    """One number instead of an image of them: a uint8 frame would carry 100 kB of bounds into every shard."""
    first = bound.reshape(-1)[:1]
    return first.reshape(()) if first.size and np.all(bound == first) else bound


def _space(spec: Array, shape: tuple[int, ...]) -> Space:
    if spec.num_values is None or spec.minimum is None or spec.maximum is None:
        return _box(spec, shape)
    if not shape:
        return spaces.Discrete(spec.num_values, start=int(spec.minimum), dtype=spec.dtype.type)
    # Bounds in one number distinguish MultiBinary from MultiDiscrete, which has one for each element.
    if spec.dtype == np.int8 and spec.num_values == _BINARY and spec.minimum.ndim == 0 and spec.minimum == 0:
        return spaces.MultiBinary(shape if len(shape) > 1 else shape[0])
    counts = spec.maximum - spec.minimum + 1
    start = np.broadcast_to(spec.minimum, shape)
    return spaces.MultiDiscrete(np.broadcast_to(counts, shape), dtype=spec.dtype.type, start=start)


def _box(spec: Array, shape: tuple[int, ...]) -> Space:
    low = _edge(spec.minimum, spec.dtype, shape, -np.inf, limits.bottom(spec.dtype))
    high = _edge(spec.maximum, spec.dtype, shape, np.inf, limits.top(spec.dtype))
    return spaces.Box(low, high, shape, spec.dtype.type)


def _edge(
    bound: np.ndarray | None, dtype: np.dtype[AnySpace], shape: tuple[int, ...], infinite: float, extreme: float
) -> np.ndarray | float:
    """A bound as Gymnasium takes it: infinite where there is none, save for unsigned integers and bool, which end."""
    if bound is None:
        return extreme if dtype.kind in "ub" else infinite
    full = np.broadcast_to(bound, shape).copy()
    if dtype.kind == "f":
        full[np.isnan(full)] = infinite
    return full

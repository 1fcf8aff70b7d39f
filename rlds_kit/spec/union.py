"""The union of two specs, from which the specs of dynamic fields are inferred step by step."""

import typing
from functools import reduce
from itertools import zip_longest

import numpy as np

from rlds_kit.spec import limits
from rlds_kit.spec.tree import Any, Array, Bytes, Dict, Graph, List, OneOf, Optional, Sequence, Spec, Text, Tuple

NOTHING: typing.Final[Spec] = OneOf(())
"""The spec that no value fits: the neutral element of `merge`."""

BATCHED_AS_TUPLES: typing.Final = (Text, Bytes, List, Sequence, OneOf, Graph)
"""The kinds that `stacked` makes tuples of."""


def merge(a: Spec, b: Spec) -> Spec:
    """The narrowest spec that every value of `a` and every value of `b` fits.

    Lengths that differ become unknown, None and absence become `Optional`, tuples of several lengths become a
    `Sequence`, and what has no other common spec (another kind, dtype or number of dimensions) becomes `Any`. Bounds
    widen, names that differ are dropped. The order of the arguments plays no part.

    >>> merge(Array((2, 3), np.int8), Array((4, 3), np.int8))
    Array((None, 3), int8)
    >>> merge(Dict({"lives": Array((), np.int64)}), Dict({}))
    Dict({'lives': Optional(spec=Array((), int64))})
    """
    if a in (b, NOTHING):
        return b
    if b == NOTHING:
        return a
    if isinstance(a, Optional) or isinstance(b, Optional):
        return _optional(merge(_required(a), _required(b)))
    if isinstance(a, Tuple | Sequence) and isinstance(b, Tuple | Sequence):
        return _tuples(a, b)
    return _same_kind(a, b)


def _same_kind(a: Spec, b: Spec) -> Spec:
    match a, b:
        case Array(), Array() if a.dtype == b.dtype and len(a.shape) == len(b.shape):
            return _arrays(a, b)
        case Text(), Text():
            return _texts(a, b)
        case Bytes(), Bytes():
            return Bytes(_name(a, b))
        case Dict(), Dict():
            return _dicts(a, b)
        case List(), List() if len(a.items) == len(b.items):
            return List(tuple(map(merge, a.items, b.items)))
        case OneOf(), OneOf():
            pairs = zip_longest(a.alternatives, b.alternatives, fillvalue=NOTHING)
            return OneOf(tuple(merge(x, y) for x, y in pairs))
        case Graph(), Graph():
            return _graphs(a, b)
        case _:
            return Any(_name(a, b))


def _name(a: Spec, b: Spec) -> str:
    names = {getattr(a, "name", ""), getattr(b, "name", "")}
    return str(names.pop()) if len(names) == 1 else ""


def _required(spec: Spec) -> Spec:
    while isinstance(spec, Optional):
        spec = spec.spec
    return spec


def _optional(spec: Spec) -> Spec:
    return spec if isinstance(spec, Optional | Any) else Optional(spec)


def _arrays(a: Array, b: Array) -> Array:
    shape = tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True))
    low = limits.widest(a.minimum, b.minimum, shape, np.minimum)
    high = limits.widest(a.maximum, b.maximum, shape, np.maximum)
    merged = Array(shape, a.dtype, _name(a, b), low, high)
    same = a.num_values == b.num_values and limits.same(a.minimum, b.minimum) and limits.same(a.maximum, b.maximum)
    if not same or a.num_values is None:
        return merged
    return Array(shape, a.dtype, merged.name, merged.minimum, merged.maximum, a.num_values)


def _texts(a: Text, b: Text) -> Text:
    low = None if a.min_length is None or b.min_length is None else min(a.min_length, b.min_length)
    high = None if a.max_length is None or b.max_length is None else max(a.max_length, b.max_length)
    charset = None if a.charset is None or b.charset is None else a.charset + b.charset
    return Text(_name(a, b), low, high, charset)


def _dicts(a: Dict, b: Dict) -> Dict:
    fields = {}
    for key in [*a.fields, *(key for key in b.fields if key not in a.fields)]:
        both = key in a.fields and key in b.fields
        one = merge(a.fields.get(key, NOTHING), b.fields.get(key, NOTHING))
        fields[key] = one if both else _optional(one)
    return Dict(fields)


def _tuples(a: Tuple | Sequence, b: Tuple | Sequence) -> Spec:
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        return Tuple(tuple(map(merge, a.items, b.items)))
    if isinstance(a, Sequence) and isinstance(b, Sequence) and a.stacked and b.stacked:
        return Sequence(_batched(a.element, b.element), stacked=True)
    if any(isinstance(spec, Sequence) and spec.stacked for spec in (a, b)):
        return Any()
    elements = [each for spec in (a, b) for each in (spec.items if isinstance(spec, Tuple) else (spec.element,))]
    return Sequence(reduce(merge, elements, NOTHING))


def _graphs(a: Graph, b: Graph) -> Spec:
    if a.edge is None or b.edge is None:  # both None or the graphs differ: edges that carry nothing are no values
        return Graph(_batched(a.node, b.node)) if a.edge is b.edge else Any()
    return Graph(_batched(a.node, b.node), _batched(a.edge, b.edge))


def _batched(a: Spec, b: Spec) -> Spec:
    """The union of two specs whose values come `stacked`: `Any` unless batches of it have room for batches of both.

    This differs from `merge`: a number and a string have a union, but batches of numbers are
    arrays and batches of strings are tuples.
    """
    if a == b:
        return a
    match a, b:
        case Array(), Array():
            whole = merge(a, b)
            return whole if isinstance(whole, Array) else Any()
        case Tuple(), Tuple() if len(a.items) == len(b.items):
            return Tuple(tuple(map(_batched, a.items, b.items)))
        case Dict(), Dict():
            absent = Any()
            names = [*a.fields, *(key for key in b.fields if key not in a.fields)]
            return Dict({key: _batched(a.fields.get(key, absent), b.fields.get(key, absent)) for key in names})
        case _ if isinstance(a, BATCHED_AS_TUPLES) and isinstance(b, BATCHED_AS_TUPLES):
            whole = merge(a, b)
            return whole if isinstance(whole, BATCHED_AS_TUPLES) else Any()
        case _:
            return Any()

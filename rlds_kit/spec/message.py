"""Specs as protobuf messages: how a shard stores them."""

import math

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import FormatError
from rlds_kit.spec import dtypes, value
from rlds_kit.spec.tree import Any, Array, Bytes, Dict, Graph, List, OneOf, Optional, Sequence, Spec, Text, Tuple

UNKNOWN = -1
_MOST_NUMBERS = 1 << 31
"""Maximum numbers in one value: no more can be stored."""
"""A dimension of unknown length."""


def to_message(spec: Spec) -> pb.Spec:
    """The message that stores `spec`.

    >>> from_message(to_message(Array((None, 3), "float32"))) == Array((None, 3), "float32")
    True
    """
    match spec:
        case Array():
            return pb.Spec(array=_array_message(spec))
        case Text(name, low, high, charset):
            return pb.Spec(text=pb.TextSpec(name=name, min_length=low, max_length=high, charset=charset))
        case Bytes(name):
            return pb.Spec(bytes=pb.BytesSpec(name=name))
        case Dict(fields):
            return pb.Spec(dict=pb.DictSpec(key=list(fields), value=map(to_message, fields.values())))
        case Tuple(items):
            return pb.Spec(tuple=pb.TupleSpec(item=map(to_message, items)))
        case List(items):
            return pb.Spec(list=pb.ListSpec(item=map(to_message, items)))
        case Sequence(element, stacked):
            return pb.Spec(sequence=pb.SequenceSpec(element=to_message(element), stacked=stacked))
        case Optional(inner):
            return pb.Spec(optional=pb.OptionalSpec(spec=to_message(inner)))
        case OneOf(alternatives):
            return pb.Spec(one_of=pb.OneOfSpec(alternative=map(to_message, alternatives)))
        case Graph(node, edge):
            edges = None if edge is None else to_message(edge)
            return pb.Spec(graph=pb.GraphSpec(node=to_message(node), edge=edges))
        case Any(name):
            return pb.Spec(any=pb.AnySpec(name=name))


def from_message(message: pb.Spec) -> Spec:
    """The inverse of `to_message`.

    Raises:
      FormatError: the message is of a kind that this version does not know, or contradicts itself.
    """
    match message.WhichOneof("kind"):
        case "array":
            return _array(message.array)
        case "text":
            return _text(message.text)
        case "bytes":
            return Bytes(message.bytes.name)
        case "dict":
            return _dict(message.dict)
        case "tuple":
            return Tuple(tuple(map(from_message, message.tuple.item)))
        case "list":
            return List(tuple(map(from_message, message.list.item)))
        case "sequence":
            return Sequence(from_message(message.sequence.element), message.sequence.stacked)
        case "optional":
            return Optional(from_message(message.optional.spec))
        case "one_of":
            return OneOf(tuple(map(from_message, message.one_of.alternative)))
        case "graph":
            edge = from_message(message.graph.edge) if message.graph.HasField("edge") else None
            return Graph(from_message(message.graph.node), edge)
        case "any":
            return Any(message.any.name)
        case _:
            raise FormatError("expected a Spec of a known kind, got an empty one; a newer rlds_kit may know it")


def _array_message(spec: Array) -> pb.ArraySpec:
    return pb.ArraySpec(
        dtype=dtypes.name_of(spec.dtype, spec.name),
        shape=[UNKNOWN if length is None else length for length in spec.shape],
        name=spec.name,
        minimum=None if spec.minimum is None else value.encode(spec.minimum),
        maximum=None if spec.maximum is None else value.encode(spec.maximum),
        num_values=spec.num_values,
    )


def _array(message: pb.ArraySpec) -> Array:
    if (size := math.prod(length for length in message.shape if length != UNKNOWN)) > _MOST_NUMBERS:
        raise FormatError(f"expected an ArraySpec that makes sense: it claims {size} numbers")
    try:
        return Array(
            [None if length == UNKNOWN else length for length in message.shape],
            dtypes.from_name(message.dtype),
            message.name,
            _bound(message.minimum) if message.HasField("minimum") else None,
            _bound(message.maximum) if message.HasField("maximum") else None,
            message.num_values if message.HasField("num_values") else None,
        )
    except (ValueError, TypeError) as error:
        raise FormatError(f"expected an ArraySpec that makes sense: {error}") from error


def _bound(message: pb.Value) -> np.ndarray:
    return np.asarray(value.decode(message))


def _text(message: pb.TextSpec) -> Text:
    return Text(
        message.name,
        message.min_length if message.HasField("min_length") else None,
        message.max_length if message.HasField("max_length") else None,
        message.charset if message.HasField("charset") else None,
    )


def _dict(message: pb.DictSpec) -> Dict:
    if len(message.key) != len(message.value):
        raise FormatError(f"expected a spec for each of {len(message.key)} keys, got {len(message.value)}")
    return Dict({key: from_message(spec) for key, spec in zip(message.key, message.value, strict=True)})

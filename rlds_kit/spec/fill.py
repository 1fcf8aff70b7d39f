"""Placeholder values for undefined entries."""

import typing

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.spec.batches import stacked
from rlds_kit.spec.tree import Array, Bytes, Dict, Graph, List, OneOf, Sequence, Spec, Text, Tuple


def zeros(spec: Spec) -> typing.Any:
    """A value of zeros that fits `spec`; bounds are ignored, as in RLDS.

    Unknown lengths are 0, shape `()` gives a NumPy scalar, optional and dynamic values are None, and `OneOf` takes its
    first alternative.

    Raises:
      SpecError: a `OneOf` without alternatives: it has no values.

    >>> zeros(Dict({"pixels": Array((None, 2), np.uint8), "note": Text()}))
    {'pixels': array([], shape=(0, 2), dtype=uint8), 'note': ''}
    """
    match spec:
        case Array(shape, dtype):
            return np.zeros([length or 0 for length in shape], dtype)[()]
        case Text():
            return ""
        case Bytes():
            return b""
        case Dict(fields):
            return {key: zeros(field) for key, field in fields.items()}
        case Tuple(items):
            return tuple(zeros(item) for item in items)
        case List(items):
            return [zeros(item) for item in items]
        case Sequence(element, batched):
            return zeros(stacked(element)) if batched else ()
        case OneOf(()):
            raise SpecError("expected a OneOf with an alternative to take zeros of, got none")
        case OneOf(alternatives):
            return (0, zeros(alternatives[0]))
        case Graph(node):
            return (zeros(stacked(node)), None, None)
        case _:
            return None

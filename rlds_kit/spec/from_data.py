"""Specs from data: of one value (`infer`), and of all values so far (`merge`)."""

from collections.abc import Mapping

import numpy as np

from rlds_kit.base.errors import UnsupportedTypeError
from rlds_kit.spec import dtypes
from rlds_kit.spec.problem import at_entry, at_item, at_key
from rlds_kit.spec.tree import NONE, Any, Array, Bytes, Dict, List, Spec, Text, Tuple
from rlds_kit.spec.union import merge
from rlds_kit.spec.value import INT64_MAX, INT64_MIN

__all__ = ["infer", "merge"]


def infer(value: object, place: str = "value") -> Spec:
    """The narrowest spec that `value` fits.

    Dicts with keys other than strings that UTF-8 can hold, and ints beyond 64 bits, are `Any`.

    Raises:
      UnsupportedTypeError: a type that cannot be recorded stands somewhere inside.

    >>> infer({"pixels": np.zeros((84, 84), np.uint8), "note": None})
    Dict({'pixels': Array((84, 84), uint8), 'note': Optional(spec=OneOf(alternatives=()))})
    """
    match value:
        case None:
            return NONE
        case str():
            return Text()
        case bytes():
            return Bytes()
        case np.ndarray() | np.generic():
            dtypes.name_of(value.dtype, place)
            return Array(value.shape, value.dtype)
        case bool() | float() | complex():
            return Array((), type(value))
        case int():
            return Array((), np.int64) if INT64_MIN <= value <= INT64_MAX else Any()
        case Mapping():
            return _infer_dict(value, place)
        case list():
            return List(tuple(infer(item, at_entry(place, index)) for index, item in enumerate(value)))
        case tuple():
            return Tuple(tuple(infer(item, at_item(place, index)) for index, item in enumerate(value)))
        case _:
            raise UnsupportedTypeError(place, value)


def _infer_dict(value: Mapping[object, object], place: str) -> Spec:
    fields = {key: infer(item, at_key(place, key)) for key, item in value.items()}
    named = {key: spec for key, spec in fields.items() if isinstance(key, str) and _is_utf8(key)}
    return Dict(named) if len(named) == len(fields) else Any()


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

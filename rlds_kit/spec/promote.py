"""Widens the spec of a declared field that also has values of other types."""

from typing import Any as Anything
from typing import Final

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.spec.tree import Any, Array, Dict, List, OneOf, Optional, Spec, Tuple

_EXACT_IN_FLOATS: Final = 4
"""Bytes of the widest integers that every float which NumPy promotes them to holds exactly."""


def promoted(declared: Spec, came: Spec) -> Spec:
    """The declared spec, widened where every value of both specs fits without a loss.

    A dtype is widened if the wider one holds all values of both; what is None or missing at some steps becomes
    `Optional`, and so does an item that was not declared. A container with other values in its place is `Any`.
    Everything else stays as it was declared: reading such values as arrays raises an error that names the episode.

    Args:
      declared: what was expected.
      came: the spec of the other values; the items of a tuple or list by their element of the path, as in "(0)".

    >>> promoted(Array((3,), np.float32), Array((3,), np.float64))
    Array((3,), float64)
    >>> promoted(Array((), np.int64), Array((), np.float64))
    Array((), int64)
    """
    match declared, came:
        case Any(), _:
            return declared
        case Optional(inner), _:
            return Optional(promoted(inner, came.spec if isinstance(came, Optional) else came))
        case _, Optional(inner):
            widened = declared if inner == OneOf(()) else promoted(declared, inner)
            return Optional(widened)
        case Array(), Array() if came.shape == declared.shape:
            return _array(declared, came.dtype)
        case Dict(fields), Dict(others):
            known = {key: promoted(item, others[key]) if key in others else item for key, item in fields.items()}
            return Dict(known | {key: _optional(item) for key, item in others.items() if key not in fields})
        case Tuple(items), Dict(others):
            return Tuple(tuple(_item(item, others.get(f"({index})")) for index, item in enumerate(items)))
        case List(items), Dict(others):
            return List(tuple(_item(item, others.get(f"[{index}]")) for index, item in enumerate(items)))
        case Dict() | Tuple() | List(), _:
            return Any()
    return declared


def _item(declared: Spec, came: Spec | None) -> Spec:
    return declared if came is None else promoted(declared, came)


def _optional(spec: Spec) -> Spec:
    return spec if isinstance(spec, Optional | Any) else Optional(spec)


def _array(declared: Array, dtype: np.dtype[Anything]) -> Array:
    common = common_dtype(declared.dtype, dtype)
    if common is None or common == declared.dtype:
        return declared
    count = declared.num_values if common.kind in "iu" else None
    try:
        return Array(declared.shape, common, declared.name, declared.minimum, declared.maximum, count)
    except SpecError:
        return Array(declared.shape, common, declared.name)


def common_dtype(one: np.dtype[Anything], other: np.dtype[Anything]) -> np.dtype[Anything] | None:
    """The dtype that holds every value of both exactly; None if there is none.

    >>> common_dtype(np.dtype("f4"), np.dtype("f8")), common_dtype(np.dtype("i8"), np.dtype("f8"))
    (dtype('float64'), None)
    """
    if one == other:
        return one
    if one.kind not in "biufc" or other.kind not in "biufc":
        return None
    common = np.result_type(one, other)
    # NumPy calls int64 to float64 safe, but 2**53 + 1 is not.
    wide = [each for each in (one, other) if each.kind in "iu" and each.itemsize > _EXACT_IN_FLOATS]
    return None if common.kind in "fc" and wide else common

"""Whether all values of one type, dtype and shape fit a spec: then it is enough to check the first of them."""

import typing
from typing import Final

import numpy as np

from rlds_kit.spec.tree import Array, Dict, Spec, Text

_PYTHON: Final = {np.dtype(kind): kind for kind in (bool, int, float, complex)}


def fitting_types(spec: Spec) -> frozenset[type]:
    """The types of which every number fits a spec; of int every number of 64 bits.

    >>> fitting_types(Array((), np.float64)) == {float, np.float64}
    True
    """
    if not isinstance(spec, Array) or spec.shape != () or spec.dtype.kind not in "biufc":
        return frozenset()
    native_order = spec.dtype.newbyteorder("=")
    return frozenset((spec.dtype.type, _PYTHON.get(native_order, spec.dtype.type)))


def fits_by_form(spec: Spec, item: typing.Any) -> bool:
    """Whether every value of the same form as one that fits a spec fits it, too.

    >>> fits_by_form(Array((), np.int8), 3), fits_by_form(Array((), np.int64), 3)
    (False, True)
    """
    kind = type(item)
    if kind is dict and isinstance(spec, Dict):
        return all(name in spec.fields and fits_by_form(spec.fields[name], below) for name, below in item.items())
    if kind is np.ndarray:
        return bool(item.ndim)  # one of shape () may be of another dtype, if that holds the value
    return kind in fitting_types(spec) or (kind is str and isinstance(spec, Text))

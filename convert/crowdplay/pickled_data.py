"""The names that a pickle of data may contain, and the values they create: NumPy arrays, dates, ordered dicts.

`ndarray.__reduce__` and `dtype.__reduce__` define the parts of NumPy's objects. They are created here from validated
shapes, dtypes and bytes; NumPy's own functions of these names are not called.
"""

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

_DTYPE: Final = re.compile(r"b1|[iu][1248]|f[248]|c8|c16|\?")
_DIMENSIONS: Final = 32
_DATETIME_BYTES: Final = 10


@dataclass(frozen=True)
class Global:
    """A name in a pickle.

    Attributes:
      name: with its module.
      make: creates its value; None: it is only an argument.
    """

    name: str
    make: Callable[..., Any] | None = None


class DtypeShell:
    """An unfinished dtype: first its kind and size, then, as its state, its byte order."""

    def __init__(self, code: object, align: object = False, copy: object = False) -> None:
        del align, copy  # arguments of the constructor, not properties of the dtype
        if not isinstance(code, str) or not _DTYPE.fullmatch(code):
            raise ValueError(f"has the dtype {code!r}; expected numbers or bool, such as 'u1'")
        self._dtype = np.dtype(code)

    def fill(self, version: object, order: object, *rest: object) -> None:
        """Sets the state."""
        subdtype, names, fields = (*rest, None, None, None)[:3]
        if version not in {3, 4} or order not in {"<", ">", "|", "="} or (subdtype, names, fields) != (None,) * 3:
            raise ValueError("has a dtype with fields or a byte order that is none")
        if order in {"<", ">"}:
            self._dtype = self._dtype.newbyteorder(str(order))  # type: ignore[arg-type]  # one of the two

    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return self._dtype


class ArrayShell:
    """An unfinished array: its state has shape, dtype and bytes."""

    def __init__(self) -> None:
        self._array: np.ndarray | None = None
        self.nbytes = 0

    def fill(self, version: object, shape: object, dtype: object, is_fortran: object, data: object) -> None:
        """Sets the state."""
        if version != 1 or self._array is not None:
            raise ValueError(f"has an array whose state is of version {version!r}, or given twice")
        self._array = _array(data, dtype, shape, "F" if is_fortran else "C")
        self.nbytes = self._array.nbytes

    def array(self) -> np.ndarray:
        """The array."""
        if self._array is None:
            raise ValueError("has an array without its content")
        return self._array


def _array(data: object, dtype: object, shape: object, order: object) -> np.ndarray:
    """An array whose memory is `data` itself."""
    if not isinstance(data, bytes):
        raise TypeError(f"has an array whose elements are a {type(data).__name__}; expected bytes")
    if not isinstance(dtype, DtypeShell) or order not in {"C", "F"}:
        raise ValueError("has an array of which dtype or order is none")
    if not isinstance(shape, tuple) or len(shape) > _DIMENSIONS or not all(_is_size(size) for size in shape):
        raise ValueError(f"has an array of the shape {shape!r}; expected a tuple of at most {_DIMENSIONS} sizes")
    kind = dtype.dtype()
    needed = math.prod(shape) * kind.itemsize
    if needed != len(data):
        raise ValueError(f"has an array of shape {shape} and dtype {kind}, which takes {needed} bytes, in {len(data)}")
    return np.ndarray(shape, kind, data, order="F" if order == "F" else "C")


def _is_size(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 0


def _reconstruct(kind: object, shape: object, code: object) -> ArrayShell:
    if kind is not _NDARRAY or shape != (0,) or code not in (b"b", "b"):
        raise ValueError("makes an array in a way that NumPy does not")
    return ArrayShell()


def _from_buffer(data: object, dtype: object, shape: object, order: object) -> ArrayShell:
    shell = ArrayShell()
    shell.fill(1, shape, dtype, order == "F", data)
    return shell


def _scalar(dtype: object, data: object) -> Any:  # a NumPy scalar of that dtype
    scalar: Any = _array(data, dtype, (), "C")[()]
    return scalar


def _datetime(state: object) -> dt.datetime:
    """Decodes ten bytes: year (two bytes), month, day, hour, minute, second, microsecond (three bytes).

    The highest bit of the month is the fold: the second of two equal times at the end of summer time.
    """
    if not isinstance(state, bytes) or len(state) != _DATETIME_BYTES:
        raise ValueError("has a datetime that is not ten bytes")
    year, microsecond = int.from_bytes(state[:2], "big"), int.from_bytes(state[7:], "big")
    month, fold = state[2] & 0x7F, state[2] >> 7
    day, hour, minute, second = state[3:7]
    return dt.datetime(year, month, day, hour, minute, second, microsecond, fold=fold)  # noqa: DTZ001  it has no zone


def _timedelta(days: object, seconds: object, microseconds: object) -> dt.timedelta:
    if not (isinstance(days, int) and isinstance(seconds, int) and isinstance(microseconds, int)):
        raise TypeError("has a timedelta that is not three integers")
    return dt.timedelta(days, seconds, microseconds)


def _ordered_dict(*items: object) -> dict[Any, Any]:
    if items:
        raise ValueError("makes an OrderedDict in a way that Python does not")
    return {}


_NDARRAY: Final = Global("numpy.ndarray")
_NUMPY: Final[Mapping[tuple[str, str], Callable[..., Any]]] = {
    ("multiarray", "_reconstruct"): _reconstruct,
    ("multiarray", "scalar"): _scalar,
    ("numeric", "_frombuffer"): _from_buffer,
}

GLOBALS: Final[Mapping[tuple[str, str], Global]] = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): Global("numpy.dtype", DtypeShell),
    ("collections", "OrderedDict"): Global("collections.OrderedDict", _ordered_dict),
    ("datetime", "datetime"): Global("datetime.datetime", _datetime),
    ("datetime", "timedelta"): Global("datetime.timedelta", _timedelta),
    **{  # NumPy 1 and 2 have different names for the same module
        (f"numpy.{core}.{module}", name): Global(f"numpy.{core}.{module}.{name}", make)
        for (module, name), make in _NUMPY.items()
        for core in ("core", "_core")
    },
}
"""The allowed names, by module and name."""

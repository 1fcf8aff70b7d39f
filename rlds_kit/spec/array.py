"""The spec of an array: the leaf that most fields are made of."""

import operator
import typing
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rlds_kit.base.errors import SpecError
from rlds_kit.spec import dtypes, limits


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Array:
    """A NumPy array or, when the shape is `()`, a scalar.

    Args:
      shape: one length for each dimension; None where it is unknown.
      dtype: a recordable dtype, or what `np.dtype` makes one of.
      name: for people.
      minimum: smallest value, inclusive; broadcasts to `shape`; None, or NaN in an element, is unbounded.
      maximum: largest value, likewise.
      num_values: values are categories `minimum`, `minimum + 1`, ..., and this is how many (the most that any element
        has). Without bounds of their own, categories count from 0.

    Raises:
      SpecError: bounds do not fit dtype or shape, or cross, or belong to values that have no order.
      UnsupportedTypeError: a dtype that cannot be recorded.

    >>> Array((210, 160, 3), np.uint8, minimum=0, maximum=255)
    Array((210, 160, 3), uint8, minimum=0, maximum=255)
    """

    shape: tuple[int | None, ...]
    dtype: np.dtype[typing.Any]
    name: str = ""
    minimum: np.ndarray | None = None
    maximum: np.ndarray | None = None
    num_values: int | None = None

    def __init__(
        self,
        shape: Iterable[int | None],
        dtype: npt.DTypeLike,
        name: str = "",
        minimum: npt.ArrayLike | None = None,
        maximum: npt.ArrayLike | None = None,
        num_values: int | None = None,
    ) -> None:
        label = name or "Array"
        shape = tuple(_dimension(length, label) for length in shape)
        dtype = np.dtype(dtype)
        dtypes.name_of(dtype, label)
        if num_values is not None:
            num_values = limits.check_count(num_values, dtype, label)
            minimum = 0 if minimum is None else minimum
            maximum = limits.last_category(minimum, num_values) if maximum is None else maximum
        low, high = (limits.bound(value, dtype, shape, label) for value in (minimum, maximum))
        limits.check_order(low, high, shape, label)
        values = (shape, dtype, utf8(name, "name"), low, high, num_values)
        for each, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, each.name, value)

    @cached_property
    def lowest(self) -> np.ndarray | None:
        """`minimum`, or None when no value of the dtype is below it."""
        return limits.effective(self.minimum, limits.bottom(self.dtype), np.less_equal)

    @cached_property
    def highest(self) -> np.ndarray | None:
        """`maximum`, or None when no value of the dtype is above it."""
        return limits.effective(self.maximum, limits.top(self.dtype), np.greater_equal)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        bounds = (limits.bits(self.minimum), limits.bits(self.maximum))
        return (self.shape, self.dtype, self.name, bounds, self.num_values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple[object, ...]:  # an unpickled array would be writable; the constructor's is not
        return Array, tuple(getattr(self, each.name) for each in fields(self))

    def __repr__(self) -> str:
        name = [f"name={self.name!r}"] if self.name else []
        low = [f"minimum={limits.short(self.minimum)}"] if self.minimum is not None else []
        high = [f"maximum={limits.short(self.maximum)}"] if self.maximum is not None else []
        count = [f"num_values={self.num_values}"] if self.num_values is not None else []
        return f"Array({', '.join([str(self.shape), self.dtype.name, *name, *low, *high, *count])})"


def _dimension(length: int | None, label: str) -> int | None:
    if length is None:
        return None
    if operator.index(length) < 0:
        raise SpecError(f"{label}: expected lengths of 0 or more, or None for unknown, got {length} in the shape")
    return operator.index(length)


def utf8(text: str, what: str) -> str:
    """`text`, which must be a string that UTF-8 can hold.

    Raises:
      SpecError: it is not; `what` describes its purpose.
    """
    if not isinstance(text, str):
        raise SpecError(f"expected a string as {what}, got {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SpecError(f"expected a {what} without lone surrogates, got {text!r}") from error
    return text

"""The smallest and largest values of an `Array`: what may be given as a bound, and what it excludes."""

import math
import operator
import typing

import numpy as np
import numpy.typing as npt

from rlds_kit.base.errors import SpecError

SHORT: typing.Final = 6
"""Most elements of a bound that `short` spells out."""


def bound(
    value: npt.ArrayLike | None, dtype: np.dtype[typing.Any], shape: tuple[int | None, ...], label: str
) -> np.ndarray | None:
    """`value` as a read-only array of `dtype`, every NaN the same; None when it bounds nothing.

    Raises:
      SpecError: `dtype` has no order or cannot hold the value, or the value does not broadcast to `shape`.
    """
    if value is None:
        return None
    # Python numbers stay what they are: NumPy would make float64 of a list of large integers.
    given = value if isinstance(value, np.ndarray | np.generic) else np.asarray(value, dtype=object)
    if dtype.kind in "cUS" or given.dtype.kind not in "biufVO":
        raise SpecError(f"{label}: expected bounds only on numbers that have an order, got {given} for {dtype.name}")
    bound = _cast(given, dtype)
    if bound is None:
        raise SpecError(f"{label}: expected bounds that {dtype.name} can hold, got {given}; leave out an infinite one")
    if not broadcasts(bound.shape, shape):
        raise SpecError(f"{label}: expected a bound that broadcasts to {shape}, got one of shape {bound.shape}")
    if not bound.size:
        return None
    if dtype.kind in "fV":
        bound[np.isnan(bound)] = math.nan
    bound.setflags(write=False)
    return bound


def _cast(given: np.ndarray | np.generic, dtype: np.dtype[typing.Any]) -> np.ndarray | None:
    """A copy in `dtype`, rounded where that is a float; None where an integer would be another."""
    try:
        with np.errstate(all="ignore"):
            cast = np.array(given).astype(dtype)
    except (OverflowError, TypeError, ValueError):
        return None
    return cast if dtype.kind not in "biu" or np.array_equal(cast, given) else None


def broadcasts(small: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    """Whether an array of shape `small` broadcasts to every array of `shape`."""
    if len(small) > len(shape):
        return False
    return all(have in (1, want) for have, want in zip(reversed(small), reversed(shape), strict=False))


def check_count(num_values: int, dtype: np.dtype[typing.Any], label: str) -> int:
    """`num_values` as an int.

    Raises:
      SpecError: it is not positive, or the dtype does not count.
    """
    if operator.index(num_values) < 1 or dtype.kind not in "iu":
        raise SpecError(
            f"{label}: expected num_values of 1 or more and an integer dtype, got {num_values} and {dtype.name}"
        )
    return operator.index(num_values)


def last_category(first: npt.ArrayLike, num_values: int) -> np.ndarray:
    """`first + num_values - 1` for each element, in Python's integers: a small dtype would wrap round."""
    firsts = np.asarray(first, dtype=object)
    lasts = [each + num_values - 1 for each in firsts.reshape(-1).tolist()]
    return np.asarray(lasts, dtype=object).reshape(firsts.shape)


def check_order(low: np.ndarray | None, high: np.ndarray | None, shape: tuple[int | None, ...], label: str) -> None:
    """Checks that no minimum is above its maximum.

    Raises:
      SpecError: one is.
    """
    with np.errstate(invalid="ignore"):  # bfloat16 warns where it meets NaN
        crossed = low is not None and high is not None and np.any(low > high)
    if crossed:
        raise SpecError(f"{label}: expected minimum <= maximum, got {short(low)} and {short(high)} for shape {shape}")


def bottom(dtype: np.dtype[typing.Any]) -> float:
    """The smallest value of a dtype that has an order."""
    return int(np.iinfo(dtype).min) if dtype.kind in "iu" else 0 if dtype.kind == "b" else -math.inf


def top(dtype: np.dtype[typing.Any]) -> float:
    """The largest value of a dtype that has an order."""
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" else 1 if dtype.kind == "b" else math.inf


def effective(limit: np.ndarray | None, extreme: float, excludes_nothing: np.ufunc) -> np.ndarray | None:
    """`limit` with its NaNs at the dtype's own extreme; None when it excludes nothing, so that nothing is scanned."""
    if limit is None:
        return None
    if limit.dtype.kind in "fV":
        limit = np.where(np.isnan(limit), limit.dtype.type(extreme), limit)
    return None if np.all(excludes_nothing(limit, extreme)) else limit


def bits(limit: np.ndarray | None) -> tuple[tuple[int, ...], bytes] | None:
    """What makes two bounds of one dtype the same."""
    return None if limit is None else (limit.shape, limit.tobytes())


def short(limit: np.ndarray | None) -> str:
    """A bound for people: its values when they are few, else its shape."""
    if limit is None:
        return "None"
    return str(limit.tolist()) if limit.size <= SHORT else f"<{' x '.join(map(str, limit.shape))} values>"


def same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Whether two bounds of one dtype are the same, bit for bit."""
    return bits(a) == bits(b)


def widest(
    a: np.ndarray | None, b: np.ndarray | None, shape: tuple[int | None, ...], wider: np.ufunc
) -> np.ndarray | None:
    """The bound that allows all that `a` or `b` allows; one number where theirs do not broadcast to `shape`."""
    if a is None or b is None or unbounded(a) or unbounded(b):
        return None
    if not (broadcasts(a.shape, shape) and broadcasts(b.shape, shape)):
        a, b = np.asarray(wider.reduce(a, axis=None)), np.asarray(wider.reduce(b, axis=None))
    if same(a, b):
        return a
    merged = np.asarray(wider(a, b))
    # Which zero of -0.0 and 0.0 wins depends on the order of the arguments; the sum is always 0.0.
    return merged + merged.dtype.type(0) if merged.dtype.kind in "fV" else merged


def unbounded(limit: np.ndarray) -> bool:
    """Whether a NaN leaves some element without a bound."""
    return limit.dtype.kind in "fV" and bool(np.isnan(limit).any())

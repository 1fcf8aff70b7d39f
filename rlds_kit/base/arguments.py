"""Validates arguments: integers of any type, positive numbers, offsets of chunks."""

import operator
from collections.abc import Iterable, Mapping


def integer(name: str, value: object) -> int:
    """The value as Python's int, so that a saved state and an order do not depend on its type.

    Raises:
      TypeError: it is no integer.

    >>> integer("seed", np.int64(3))
    3
    """
    try:
        if not isinstance(value, bool):  # bool has __index__, but a mask is not an index
            return int(operator.index(value))  # type: ignore[arg-type]  # raises TypeError without __index__
    except TypeError:
        pass
    raise TypeError(f"expected {name} to be an integer, got {value!r}")


def positive(name: str, value: object) -> int:
    """Checks that an argument is a whole number of at least 1, and returns it as an int.

    Raises:
      TypeError: it is no integer.
      ValueError: it is less than 1.
    """
    number = integer(name, value)
    if number < 1:
        raise ValueError(f"expected {name} of at least 1, got {number}")
    return number


def offsets(given: object) -> dict[str, tuple[int, ...]]:
    """The offsets of each field of a chunk.

    Raises:
      TypeError: they are no mapping of names to several integers.

    >>> offsets({"action": range(3)})
    {'action': (0, 1, 2)}
    """
    if not isinstance(given, Mapping) or not all(isinstance(where, Iterable) for where in given.values()):
        raise TypeError(f'expected offsets for each field, such as {{"action": range(8)}}, got {given!r}')
    return {name: tuple(where) for name, where in given.items()}

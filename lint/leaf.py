"""The values of a leaf: what every field of an episode comes apart into."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Leaf:
    """The values that some rows of an episode have for one leaf.

    Attributes:
      values: `[n, ...]`; objects where there is no common dtype and shape.
      rows: `[n]` of the episode, ascending.
    """

    values: np.ndarray
    rows: np.ndarray

    @property
    def kind(self) -> str:
        """The kind of the dtype: "f" for floats, "O" for objects."""
        return self.values.dtype.kind


def content(value: Any) -> bytes:
    """The bytes of a value that has no common dtype and shape with others: all of them, where `repr` leaves some out.

    >>> content(np.arange(2000)) == content(np.arange(2000)[::-1]), content("a")
    (False, b"'a'")
    """
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype.str}{value.shape}".encode() + value.tobytes()
    return repr(value).encode()

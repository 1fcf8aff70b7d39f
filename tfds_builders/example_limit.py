"""How large an episode may be: TFDS makes one `tf.train.Example` of each, and none above 2 GiB can be read."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import SpecError

MAX_BYTES: Final = 2**31 - 1
"""Protobuf writes longer messages, and then cannot read them."""
SAFE_PART: Final = 2
"""An episode whose values count for less than this part of the limit cannot exceed it: no encoding makes more than two
bytes of one that is counted."""
SIGNED_BYTES: Final = 5
"""Bytes that a signed integer counts for: a negative one is stored in ten."""
VALUE_BYTES: Final = 128
"""What an encoding may add to a value: the largest is PNG, for its header."""


def require_size(example: Mapping[str, Any], features: Any, place: str, *, limit: int = MAX_BYTES) -> None:
    """Refuses an episode that would be written and never read.

    Only an episode of a gigabyte or more is encoded to find out.

    Args:
      example: as `features.encode_example` takes it.
      features: of the example.
      place: what to call it in a message.
      limit: in bytes.

    Raises:
      SpecError: it is too large.
    """
    if value_bytes(example) <= limit // SAFE_PART:
        return
    size = len(features.serialize_example(example))
    if size > limit:
        raise SpecError(
            f"{place}: expected at most {limit:,} bytes, which is what a tf.train.Example can have, got {size:,}; "
            "record shorter episodes, leave fields out with `select`, or publish the recording itself: "
            "`rlds-kit publish` and `builder_from_directory` have no such limit"
        )


def value_bytes(nest: Any) -> int:
    """The bytes of the arrays and texts of a nest, and what an encoding may add to each value.

    >>> value_bytes({"reward": np.zeros(3), "task": "push"})
    540
    """
    if isinstance(nest, Mapping):
        return sum(value_bytes(item) for item in nest.values())
    if isinstance(nest, str | bytes):
        return len(nest) + VALUE_BYTES
    if isinstance(nest, np.ndarray) and nest.dtype != object:
        size = max(nest.nbytes, SIGNED_BYTES * nest.size) if nest.dtype.kind == "i" else nest.nbytes
        return int(size) + VALUE_BYTES * (len(nest) if nest.ndim else 1)
    return sum(map(value_bytes, nest)) if isinstance(nest, np.ndarray | list | tuple) else VALUE_BYTES

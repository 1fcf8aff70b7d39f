"""Limits that every record of a shard satisfies, and validation of its specs."""

from typing import Final

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, RldsKitError

ID_BYTES: Final = 16
DIGEST_BYTES: Final = 16
BLOCK_ROWS_LIMIT: Final = 1 << 24
"""Upper limit for rows of a block, which no writer reaches: each row costs memory, even without a value."""
ROWS_LIMIT: Final = 1 << 48
"""Upper limit for rows of an episode."""


def require_spec(spec: pb.Spec, place: object) -> None:
    """Validates a spec.

    Raises:
      DamagedError: it is not valid.
    """
    try:
        specs.from_message(spec)
    except (RldsKitError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DamagedError(f"{place}: a spec that makes no sense: {error}") from error

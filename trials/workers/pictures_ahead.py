"""Pictures of possible next steps, encoded as they are sent, and whether they came true."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xxhash

from rlds_kit.trials.environments.look_ahead import LookAhead
from rlds_kit.trials.frames.picture import Encoded, Encoder, Picture, Quality


class PicturesAhead:
    """Encodes pictures of possible next steps; they have an encoder of their own, so others are as without them.

    Args:
      look_ahead: draws them.
    """

    def __init__(self, look_ahead: LookAhead) -> None:
        self._look_ahead, self._encoder = look_ahead, Encoder()
        self._sums: dict[int, bytes] = {}

    def encoded(self, action: int, quality: Quality) -> Encoded:
        """What there would be to see after an action."""
        picture = self._look_ahead.picture(action)
        self._sums[action] = _sum(picture)
        return self._encoder.encode(picture, quality)

    def came_true(self, action: Any, draw: Callable[[], Picture]) -> bool | None:
        """Whether the picture after a step is the one that was drawn ahead; that of other actions is forgotten.

        Args:
          action: of the step.
          draw: returns the picture after it; called only if it is needed.

        Returns:
          None if there was none.
        """
        sums, self._sums = self._sums, {}
        expected = sums.get(int(action)) if sums and action is not None else None
        return None if expected is None else expected == _sum(draw())

    def forget(self) -> None:
        """The environment was reset."""
        self._sums = {}


def _sum(picture: Picture) -> bytes:
    """The digest of a picture, exact in every pixel."""
    if not isinstance(picture, np.ndarray):
        return repr(picture).encode()
    return (
        xxhash.xxh3_128_digest(np.ascontiguousarray(picture).data) + repr((picture.shape, str(picture.dtype))).encode()
    )

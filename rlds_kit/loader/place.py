"""Positions of samples: the step of each anchor, and the steps that a sample may use."""

from dataclasses import dataclass

import numpy as np

from rlds_kit.base.errors import DamagedError
from rlds_kit.base.step import IS_FIRST, IS_TERMINAL
from rlds_kit.loader.segments import Segments


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The anchors of B samples.

    Attributes:
      row: `[B]` int64, the anchor's number in its episode.
      segment: the segments of the anchors, of length B.
    """

    row: np.ndarray
    segment: Segments

    def reach(self, offsets: np.ndarray, *, spare: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Steps at offsets from each anchor.

        Args:
          offsets: `[L]` int64.
          spare: how many of the segment's last steps count as outside.

        Returns:
          `[B, L]` int64 numbers in the episode, moved to the segment's first or last step if they would be outside; and
          `[B, L]` bool, False for those that were moved.
        """
        rows = self.row[:, None] + offsets
        first = self.segment.begin[:, None]
        clipped = np.clip(rows, first, np.maximum(first, self.segment.end[:, None] - 1 - spare))
        return clipped, clipped == rows

    def steps(self, rows: np.ndarray) -> np.ndarray:
        """Converts numbers in the episode, `[B]` or `[B, L]`, to numbers among all steps."""
        numbers: np.ndarray = rows + self.segment.base.reshape(-1, *(1,) * (rows.ndim - 1))
        return numbers

    def flag(self, name: str, rows: np.ndarray) -> np.ndarray:
        """`is_first`, `is_last` or `is_terminal` of steps by their number in the episode, `[B]` or `[B, L]`.

        Raises:
          DamagedError: it is not known whether a step is the last: data after it are damaged.
        """
        if name == IS_FIRST:
            is_set: np.ndarray = rows == 0
            return is_set
        segment, shape = self.segment, (-1, *(1,) * (rows.ndim - 1))
        is_set = rows == segment.rows.reshape(shape) - 1
        require_known_end(segment, is_set & segment.is_cut.reshape(shape))
        is_set &= segment.is_ended.reshape(shape)
        if name == IS_TERMINAL:
            is_set &= segment.is_terminated.reshape(shape)
        return is_set


def require_known_end(segment: Segments, is_unknown: np.ndarray) -> None:
    """Raises an error if something is True for a segment: `[segments]`, or `[segments, ...]`.

    Raises:
      DamagedError: it is; the message explains that the end of the episode is not known.
    """
    if is_unknown.any():
        at = int(np.argwhere(is_unknown)[0, 0])
        raise DamagedError(
            f"the end of episode {int(segment.episode[at])} may lie in damaged bytes, so it is unknown whether step "
            f"{int(segment.rows[at]) - 1} is its last; `rlds-kit verify` lists them, `rlds-kit repair` makes a copy in "
            "which the episode is incomplete"
        )

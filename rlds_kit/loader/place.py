"""Where samples lie: the step each is anchored at, and how far it may reach."""

from dataclasses import dataclass

import numpy as np

from rlds_kit.loader.segments import Segments


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The anchors of B samples.

    Attributes:
      row: `[B]` int64, the anchor's number in its episode.
      segment: the segments of length B that the anchors lie in.
    """

    row: np.ndarray
    segment: Segments

    def reach(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Steps at offsets from each anchor.

        Args:
          offsets: `[L]` int64.

        Returns:
          `[B, L]` int64 numbers in the episode, moved to the segment's first or last step where they would lie outside;
          and `[B, L]` bool, which did not.
        """
        rows = self.row[:, None] + offsets
        first, last = self.segment.begin[:, None], self.segment.end[:, None] - 1
        clipped = np.clip(rows, first, last)
        return clipped, clipped == rows

    def steps(self, rows: np.ndarray) -> np.ndarray:
        """Numbers among all steps of numbers in the episode, `[B]` or `[B, L]`."""
        numbers: np.ndarray = rows + self.segment.base.reshape(-1, *(1,) * (rows.ndim - 1))
        return numbers

    def flags(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """`is_first`, `is_last` and `is_terminal` of steps by their number in the episode, `[B]` or `[B, L]`."""
        shape = (-1, *(1,) * (rows.ndim - 1))
        is_last = (rows == self.segment.rows.reshape(shape) - 1) & self.segment.is_ended.reshape(shape)
        return {
            "is_first": rows == 0,
            "is_last": is_last,
            "is_terminal": is_last & self.segment.is_terminated.reshape(shape),
        }

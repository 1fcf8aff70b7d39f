"""The values of one step of many environments that step together: one array for each column."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rlds_kit.storage.leaf import ColumnKey


class BatchLeaf(NamedTuple):
    """One column of a batch.

    Attributes:
      key: the column of each value.
      values: `[lanes, *shape]`, in the dtype in which the column is stored.
      mask: `[lanes]` bool, which lanes have a value; None: all.
    """

    key: ColumnKey
    values: np.ndarray
    mask: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class BatchLeaves:
    """One row of every lane.

    Attributes:
      observed: the columns of the observation side.
      acted: the columns of the action that led to it; not used for lanes in which this row is the first one.
    """

    observed: list[BatchLeaf] = field(default_factory=list)
    acted: list[BatchLeaf] = field(default_factory=list)

    @property
    def row_bytes(self) -> int:
        """Bytes of one lane."""
        nbytes = 0
        for side in (self.observed, self.acted):
            for _, values, _ in side:
                nbytes += values.nbytes // len(values)
        return nbytes

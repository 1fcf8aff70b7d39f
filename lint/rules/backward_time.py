"""Time goes backwards.

`time_ns`, `step_index`, or a field called timestamp, is smaller in a row than in the row before it.

Rows that are out of order are not consecutive, so every transition between them is false: two writers had the same
episode, a clock was set in the middle (record with one that never goes back, as rlds_kit does), or two episodes were
joined.

Sort the rows if all of them are there; else cut the episode at the place in the finding (`rlds-kit trim`).
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.base.step import STEP_INDEX, TIME_NS
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule

CLOCKS: Final = (TIME_NS, STEP_INDEX, "timestamp", "info/timestamp")


@rule("RK602", Severity.ERROR)
class BackwardTime(Check):
    """Compares each row with the one before."""

    reads = CLOCKS

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, tuple[int, float]] = {}

    def wants(self, path: str) -> bool:
        """Fields of times."""
        return path in CLOCKS

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Finds rows that are earlier than the one before."""
        for path in CLOCKS:
            leaf = stretch.leaves.get(path)
            if leaf is None or leaf.kind not in "iuf" or leaf.values.ndim != 1:
                continue
            values = leaf.values if leaf.kind != "u" else leaf.values.astype(np.int64)
            rows = leaf.rows[1:][np.diff(values) < 0].tolist()
            number = stretch.episode.number
            before, last = self._last.get(path, (number, values[0]))
            if before == number and values[0] < last:
                rows.insert(0, int(leaf.rows[0]))
            self._last[path] = (number, values[-1])
            if rows:
                yield Hit("smaller than in the row before", number, rows[0], path, len(rows))

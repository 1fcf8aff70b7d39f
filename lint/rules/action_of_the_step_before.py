"""Every first row has an action of zeros, and every last row has a real one.

In every episode the action of row 0 is zero, the last row has an action and no observation after it, and zero is so
rare elsewhere that this is no accident (less than one in a billion). So are data whose rows have an action
beside the observation that it led to, read as if it were applied to that observation.

The alignment of RLDS is SAR. TFDS has datasets in other alignments under the same feature names, and Open
X-Embodiment gathers data of many laboratories with conventions of their own. Read as SAR, every action is one step
late.

Find out what the source says of its alignment. If the action led to the observation beside it, shift the actions by
one row (`rlds_kit.transformations.shift_keys`) and drop the first one. People who wait before they act make such
data, too: then all is well, and the rule can be ignored.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.base.step import ACTION
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode

ACCIDENT: Final = 1e-9
FEWEST: Final = 5
"""Episodes."""


@rule("RK104", Severity.WARNING)
class ActionOfTheStepBefore(Check):
    """Counts zeros among actions."""

    reads = (ACTION,)

    def __init__(self) -> None:
        super().__init__()
        self._zeros = self._others = self._episodes = 0
        self._is_zero: bool | None = None
        self._ruled_out = False

    def wants(self, path: str) -> bool:
        """Whether values of a field are still needed: not after an episode that contradicts the fault."""
        return not self._ruled_out and super().wants(path)

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Counts rows whose actions are all zeros."""
        found = [leaf for path, leaf in stretch.leaves.items() if path.partition("/")[0] == ACTION]
        if self._ruled_out or not found:
            return ()
        if any(leaf.kind not in "biuf" or not np.array_equal(leaf.rows, found[0].rows) for leaf in found):
            self._ruled_out = True
            return ()
        rows = found[0].rows
        zero = np.all([(leaf.values == 0).reshape(len(rows), -1).all(axis=1) for leaf in found], axis=0)
        begins = rows == 0
        if begins.any():
            self._is_zero = bool(zero[begins].all())
        self._zeros += int(zero[~begins].sum())
        self._others += int((~begins).sum())
        return ()

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks whether the last row has an action and no observation follows."""
        lacks_final = not episode.last
        if episode.actions > 1 and not (self._is_zero and lacks_final):
            self._ruled_out = True
        self._episodes += episode.actions > 1
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Checks whether it can be an accident."""
        del subject
        share = (self._zeros + 1) / (self._others + 2)
        if not self._ruled_out and self._episodes >= FEWEST and share**self._episodes < ACCIDENT:
            yield Hit(
                f"the first action of all {self._episodes:,} episodes is zero, as {share:.1%} of the others are, and "
                "the last one has no observation after it: actions seem to stand one row late",
                field=ACTION,
                count=self._episodes,
            )

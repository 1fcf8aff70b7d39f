"""A terminal step has a discount that is not zero.

The episode is marked as terminated, and the discount of its last action is not 0.

In dm_env and RLDS the discount is what to multiply the value of the next state with, and at a terminal state that is
0. Training code uses one or the other: with `discount` it bootstraps from beyond the end of the task, with
`is_terminal` it does not, and two agents that learn from the same data learn different values.

Write 0 where the episode terminates and 1 where it was truncated. rlds_kit does so where an environment has no
discounts.
"""

from collections.abc import Iterable

import numpy as np

from rlds_kit.base.step import DISCOUNT, EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK210", Severity.ERROR)
class DiscountAtTheEnd(Check):
    """Checks the discount of the last action."""

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks the two rows that may have it."""
        if episode.end is not EpisodeEnd.TERMINATED or episode.actions < 1:
            return
        found = episode.leaves(lambda path: path == DISCOUNT, episode.length - 2, episode.length).get(DISCOUNT)
        if found is None or found.kind not in "biuf" or found.rows[-1] != episode.length - 2:
            return
        discount = found.values[-1]
        if np.all(discount != 0):
            row = int(found.rows[-1])
            yield Hit(f"terminated with a discount of {np.max(discount):g}", episode.number, row, DISCOUNT)

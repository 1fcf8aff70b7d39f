"""Discounts that contradict the ends of episodes."""

from collections.abc import Iterable

import numpy as np

from rlds_kit.base.step import DISCOUNT, EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK210", Severity.ERROR)
class DiscountAtTheEnd(Check):
    """A terminal step has a discount that is not zero.

    The episode is marked as terminated, and the discount of its last action is not 0.

    In dm_env and RLDS the discount is what to multiply the value of the next state with, and at a terminal state that
    is 0. Training code uses one or the other: with `discount` it bootstraps from beyond the end of the task, with
    `is_terminal` it does not, and two agents that learn from the same data learn different values.

    Write 0 where the episode terminates and 1 where it was truncated. rlds_kit does so where an environment has no
    discounts.
    """

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


@rule("RK211", Severity.WARNING)
class DiscountBeforeTheEnd(Check):
    """A step that is not terminal has a discount of zero.

    The discount of an action is 0, and the episode goes on after it or is not marked as terminated.

    A discount of 0 states that nothing that comes later counts. In the middle of an episode that is often a second
    episode that was joined to the first, and at the end a termination that is marked as something else. dm_env allows
    it, so it is a warning.

    If the episode terminates there, mark it so and end it there; else write the discount that the environment gave.
    """

    reads = (DISCOUNT,)

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Finds zeros."""
        leaf, episode = stretch.leaves.get(DISCOUNT), stretch.episode
        if leaf is None or leaf.kind not in "biuf":
            return
        is_zero = (leaf.values == 0).reshape(len(leaf.values), -1).all(axis=1)
        rows = leaf.rows[is_zero]
        if episode.end is EpisodeEnd.TERMINATED:
            rows = rows[rows < episode.length - 2]
        if len(rows):
            yield Hit(
                "a discount of 0 on a step that is not terminal", episode.number, int(rows[0]), DISCOUNT, len(rows)
            )

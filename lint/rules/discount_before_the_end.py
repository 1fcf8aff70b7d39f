"""A step that is not terminal has a discount of zero.

The discount of an action is 0, and the episode goes on after it or is not marked as terminated.

A discount of 0 states that nothing that comes later counts. In the middle of an episode that is often a second episode
that was joined to the first, and at the end a termination that is marked as something else. dm_env allows it, so it
is a warning.

If the episode terminates there, mark it so and end it there; else write the discount that the environment gave.
"""

from collections.abc import Iterable

from rlds_kit.base.step import DISCOUNT, EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule


@rule("RK211", Severity.WARNING)
class DiscountBeforeTheEnd(Check):
    """Checks all discounts."""

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

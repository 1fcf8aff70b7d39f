"""An episode is marked as truncated before the time limit.

The environment was recorded with a limit of n steps, and the episode is marked as truncated after fewer than n
actions, as in three other episodes of the dataset at least, all of different lengths. Only data of foreign formats
are checked: rlds_kit's loggers record the flags of the environment.

Minari marks a reset in the middle of an episode as a truncation that the environment never made. Truncation means
that the episode was cut off by a limit that the agent's state does not show; a caller's reset may depend on anything,
such as that the agent got stuck, and then the data are biased.

Mark these episodes as INTERRUPTED if the caller ended them. Some environments truncate by rules of their own; then
the rule can be ignored.
"""

from collections.abc import Iterable
from typing import Final

from rlds_kit.base.step import EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode
from rlds_kit.lint.time_limit import time_limit

FEWEST: Final = 4
LISTED: Final = 1000


@rule("RK208", Severity.WARNING)
class TruncatedBeforeTheLimit(Check):
    """Compares lengths with the limit of the environment."""

    def __init__(self) -> None:
        super().__init__()
        self._found: list[tuple[int, int, int]] = []

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks its end."""
        if episode.digest or episode.end is not EpisodeEnd.TRUNCATED or len(self._found) >= LISTED:
            return ()
        limit = time_limit(episode.provenance)
        if limit is not None and 0 < episode.actions < limit:
            self._found.append((episode.number, episode.actions, limit))
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports the episodes that were truncated before the limit."""
        del subject
        if len({actions for _, actions, _ in self._found}) < FEWEST:
            return
        for number, actions, limit in self._found:
            yield Hit(f"marked as truncated after {actions:,} actions; the time limit is {limit:,}", number, actions)

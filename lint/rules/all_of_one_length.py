"""All episodes are equally long, and all are marked as terminated.

Ten episodes or more, each of the same number of actions, at least twenty, are all marked as terminated.

So are data whose time limit was recorded as a terminal state, see RK206: here the limit is not known, so it
is a hint only. Tasks that always take the same number of steps have the same pattern.

If it was a limit, mark the episodes as truncated, with a discount of 1 on the last action.
"""

from collections.abc import Iterable
from typing import Final

from rlds_kit.base.step import EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode
from rlds_kit.lint.time_limit import time_limit

FEWEST: Final = 10
SHORTEST: Final = 20


@rule("RK209", Severity.WARNING)
class AllOfOneLength(Check):
    """Compares lengths with each other."""

    def __init__(self) -> None:
        super().__init__()
        self._lengths = set[int]()
        self._episodes, self._is_ruled_out = 0, False

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Stops looking at the first that ended otherwise."""
        if self._is_ruled_out:
            return ()
        self._lengths.add(episode.actions)
        self._episodes += 1
        is_limited = time_limit(episode.provenance) is not None
        self._is_ruled_out = len(self._lengths) > 1 or episode.end is not EpisodeEnd.TERMINATED or is_limited
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Says how long they are."""
        del subject
        actions = max(self._lengths, default=0)
        if not self._is_ruled_out and self._episodes >= FEWEST and actions >= SHORTEST:
            yield Hit(
                f"all {self._episodes:,} episodes have {actions:,} actions and are marked as terminated",
                count=self._episodes,
            )

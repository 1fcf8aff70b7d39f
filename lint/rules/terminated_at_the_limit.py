"""An episode is marked as terminated where the time limit cut it off.

The environment was recorded with a limit of n steps (`max_episode_steps`), the episode has n actions and is marked as
terminated, and not as truncated. Gymnasium's time limit sets the flag for truncation at step n, whatever else
happens. Episodes of more than n actions are another rule's (RK601).

"Time Limits in Reinforcement Learning" (Pardo et al., 2018) shows what it costs to take a time limit for a terminal
state: the value beyond it is learned to be zero, though the episode could have gone on. Gym's old `done` flag had
both in one, and a conversion that knows only `done` marks every end as terminal.

Mark these episodes as truncated, with a discount of 1 on the last action. If the environment really terminates at a
fixed step, it needs no time limit: record its spec without one.
"""

from collections.abc import Iterable

from rlds_kit.base.step import EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode
from rlds_kit.lint.time_limit import time_limit


@rule("RK206", Severity.ERROR)
class TerminatedAtTheLimit(Check):
    """Compares lengths with the limit of the environment."""

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks its end."""
        limit = time_limit(episode.provenance)
        is_forged = episode.end is EpisodeEnd.TERMINATED and not episode.truncated
        if limit is not None and is_forged and episode.actions == limit:
            yield Hit(
                f"marked as terminated after {limit:,} actions, which is the environment's time limit",
                episode.number,
                episode.length - 1,
            )

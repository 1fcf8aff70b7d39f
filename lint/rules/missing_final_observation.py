"""The observation after the last action is missing.

The environment ended the episode, and its last action has no observation after it. Episodes that were interrupted or
cut off do not count.

An episode of n actions has n + 1 observations. Without the last one the final transition cannot be learned from, and
where the episode was truncated there is no state to bootstrap its value from. D4RL's files without
`next_observations` and CrowdPlay's are like that.

If the environment and the seed are known, `rlds-kit replay` shows whether playing the actions again gives the rest;
otherwise use the data as they are: masks leave the last transition out. Record with `rlds_kit.logger`, which keeps
it.
"""

from collections.abc import Iterable

from rlds_kit.base.step import OBSERVATION, EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK204", Severity.WARNING)
class MissingFinalObservation(Check):
    """Checks whether the last row has an observation."""

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks the last row."""
        is_ended = episode.end in (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED)
        if is_ended and episode.actions > 0 and not episode.last and episode.before_last:
            yield Hit("no observation follows on the last action", episode.number, episode.length - 1, OBSERVATION)

"""Rewards are not those of their actions.

The environment is made again and plays the episode, and every observation comes out as it was recorded. The rewards
do not: either they are the right ones one row early or late, which the finding says, or they are others altogether.

Gymnasium returns a reward together with the observation that follows it, and RLDS stores it with the observation
before it. A reward that is one row late rewards the action after the one that earned it: credit goes to the wrong
action, and in a sparse task the only reward of an episode falls on the last step, where it is undefined and is masked
out.

Move the rewards by the number of rows that the finding names. Rewards that no shift explains were changed on purpose
(clipped, scaled, normalised, written by people): say so in the dataset's description, and ignore the rule.
"""

from collections.abc import Iterable

from rlds_kit.base.step import REWARD
from rlds_kit.lint.dynamics import Probe
from rlds_kit.lint.probing import ProbeCheck
from rlds_kit.lint.rule import Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK102", Severity.ERROR)
class ShiftedRewards(ProbeCheck):
    """Compares rewards where the observations are right."""

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """Says by how much they are shifted, or that they are others."""
        if not found.first_reward:
            return
        if found.reward_shift is None:
            if any(name.endswith(".NormalizeReward") for name in episode.provenance.get("wrapper_classes") or ()):
                return  # its scale depends on all episodes before
            message = f"rewards are not the environment's: {found.first_reward}"
            yield Hit(message, episode.number, field=REWARD, severity=Severity.WARNING)
            return
        where = "one row late" if found.reward_shift > 0 else "one row early"
        yield Hit(f"rewards stand {where}: {found.first_reward}", episode.number, field=REWARD)

"""The final observation is the one before it once more.

Almost every episode ends with two equal observations, and elsewhere consecutive ones hardly ever are: the odds of an
accident are less than one in a million. Some rows from the middle of each episode give the probability.

Writers that have n observations for n actions fill the last one up with what they have: D4RL's layout has no place
for the observation after a timeout, and more than one conversion repeats the one before. A transition into a copy of
its own state teaches a value function that the last action changed nothing, and where the episode was truncated the
value is bootstrapped from there.

Record the final observation; Gymnasium's vector environments have it in `final_obs`. If it is lost, leave it out
rather than making one up: an episode of ours may lack it, and then states so in its mask.
"""

import itertools
from collections.abc import Iterable
from typing import Final

from rlds_kit.base.step import OBSERVATION
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode

ACCIDENT: Final = 1e-6
SHARE: Final = 0.9
LISTED: Final = 1000
SHORTEST: Final = 4
"""Actions; shorter episodes have no middle to compare with."""


@rule("RK201", Severity.WARNING)
class RepeatedFinalObservation(Check):
    """Compares last observations with those before, and observations in the middle with each other."""

    def __init__(self) -> None:
        super().__init__()
        self._episodes = self._repeated = self._pairs = self._equal = 0
        self._places: list[tuple[int, int]] = []

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Counts pairs."""
        if episode.actions < SHORTEST or not episode.last:
            return ()
        self._episodes += 1
        if episode.last != episode.before_last:
            return ()
        self._repeated += 1
        if len(self._places) < LISTED:
            middle = episode.middle
            self._pairs += max(0, len(middle) - 1)
            self._equal += sum(one == other for one, other in itertools.pairwise(middle))
            self._places.append((episode.number, episode.length - 1))
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Checks whether it can be an accident."""
        del subject
        odds = ((self._equal + 1) / (self._pairs + 2)) ** self._repeated
        if self._repeated < SHARE * self._episodes or odds >= ACCIDENT:
            return
        for number, row in self._places:
            yield Hit(
                f"{self._repeated:,} of {self._episodes:,} episodes end with the observation before once more",
                number,
                row,
                OBSERVATION,
            )

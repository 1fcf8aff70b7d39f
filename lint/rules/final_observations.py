"""The last observation of an episode: repeated, of another episode, missing."""

import itertools
from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.base.step import OBSERVATION, EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode, is_observation

ACCIDENT: Final = 1e-6
SHARE: Final = 0.9
LISTED: Final = 1000
SHORTEST: Final = 4
"""Actions; shorter episodes have no middle to compare with."""


@rule("RK201", Severity.WARNING)
class RepeatedFinalObservation(Check):
    """The final observation repeats the previous one.

    Almost every episode ends with two equal observations, and elsewhere consecutive ones hardly ever are: the odds of
    an accident are less than one in a million. Some rows from the middle of each episode give the probability.

    Writers that have n observations for n actions fill the last one up with what they have: D4RL's layout has no place
    for the observation after a timeout, and more than one conversion repeats the one before. A transition into a copy
    of its own state teaches a value function that the last action changed nothing, and where the episode was truncated
    the value is bootstrapped from there.

    Record the final observation; Gymnasium's vector environments have it in `final_obs`. If it is lost, leave it out
    rather than making one up: an episode of ours may lack it, and then states so in its mask.
    """

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
        """Checks whether it can be chance."""
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


FEWEST_ENDED: Final = 5


@rule("RK202", Severity.ERROR)
class SameFinalObservation(Check):
    """All episodes end with the same observation.

    At least five episodes end with observations that are equal bit for bit, have fractions in them, and follow on
    observations that all differ. Where all of them are marked as terminated it is a warning, as a task may have one
    goal that is always seen alike. An observation of zeros is another rule's (RK205).

    A conversion that takes the last row of a file for the last row of an episode gives every episode the final
    observation of the whole file: TFDS 4.9.10 does so with D4RL's files that have `next_observations`. The last
    transition of every episode then jumps to a state that was never reached from there.

    Convert the original again: rlds_kit's reader of D4RL's layout takes the next observation of each episode's own last
    row.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, bytes] | None = None
        self._before = set[int]()
        self._episodes = 0
        self._is_ruled_out = False
        self._all_terminated = True

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Stops at the first episode that ends differently."""
        if self._is_ruled_out or episode.actions < 1 or not episode.last:
            return ()
        if self._last is None:
            self._last, self._is_ruled_out = episode.last, not _is_fractional(episode)
        before = hash(tuple(sorted(episode.before_last.items())))
        if episode.last != self._last or before in self._before or episode.before_last == episode.last:
            self._is_ruled_out = True
        self._before.add(before)
        self._episodes += 1
        self._all_terminated &= episode.end is EpisodeEnd.TERMINATED
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports their number."""
        del subject
        if not self._is_ruled_out and self._episodes >= FEWEST_ENDED:
            yield Hit(
                f"all {self._episodes:,} episodes end with the same observation",
                field=OBSERVATION,
                count=self._episodes,
                severity=Severity.WARNING if self._all_terminated else Severity.ERROR,
            )


def _is_fractional(episode: SubjectEpisode) -> bool:
    """Whether an observation has fractions, which two different states rarely have in common."""
    leaves = episode.leaves(is_observation, episode.length - 1, episode.length).values()
    return any(bool(np.any(leaf.values != np.round(leaf.values))) for leaf in leaves if leaf.kind == "f")


FEWEST: Final = 3


@rule("RK203", Severity.ERROR)
class NextEpisodesObservation(Check):
    """The final observation is the first one of the next episode.

    Nine of ten episodes that the environment ended close with the observation that the following episode opens with,
    while the episodes open with different ones. After a termination that is an error; after truncations alone it is a
    warning, as an environment whose reset changes nothing goes on from where it was.

    Vector environments that reset a sub-environment in the step that ends its episode return the first observation of
    the next one, and the final one elsewhere (`final_obs`). In D4RL's layout the row after a timeout belongs to another
    episode, so the "next observation" that is taken from it does, too. The last transition then leads into a fresh
    start, and at a truncation its value is bootstrapped from there.

    Take the final observation from `final_obs`, or record with `rlds_kit.logger.VectorLogger`, which does. Where it is
    lost, leave it out: the episode then says in its mask that it has none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ended_with: tuple[int, int, EpisodeEnd | None, dict[str, bytes]] | None = None
        self._starts = set[int]()
        self._ended = 0
        self._found: list[tuple[int, int]] = []
        self._any_terminated = False

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Compares an episode's start with the end before."""
        before = self._ended_with
        is_ended = episode.end in (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED) and episode.actions > 0
        self._ended_with = (episode.number, episode.length - 1, episode.end, episode.last) if is_ended else None
        self._starts.add(hash(tuple(sorted(episode.first.items()))))
        if before is None:
            return ()
        number, row, end, last = before
        self._ended += 1
        if last and last == episode.first and len(self._found) < LISTED:
            self._found.append((number, row))
            self._any_terminated |= end is EpisodeEnd.TERMINATED
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports the episodes, if nearly all end like this."""
        del subject
        count = len(self._found)
        if count < FEWEST or count < SHARE * min(self._ended, LISTED) or len(self._starts) < min(count, FEWEST):
            return
        for number, row in self._found:
            yield Hit(
                "the final observation is the first one of the episode after",
                number,
                row,
                OBSERVATION,
                severity=Severity.ERROR if self._any_terminated else Severity.WARNING,
            )

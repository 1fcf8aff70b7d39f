"""All episodes end with one and the same observation.

At least five episodes end with observations that are equal bit for bit, have fractions in them, and follow on
observations that all differ. Where all of them are marked as terminated it is a warning, as a task may have one goal
that is always seen alike. An observation of zeros is another rule's (RK205).

A conversion that takes the last row of a file for the last row of an episode gives every episode the final
observation of the whole file: TFDS 4.9.10 does so with D4RL's files that have `next_observations`. The last
transition of every episode then jumps to a state that was never reached from there.

Convert the original again: rlds_kit's reader of D4RL's layout takes the next observation of each episode's own last
row.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.base.step import OBSERVATION, EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode, is_observation

FEWEST: Final = 5


@rule("RK202", Severity.ERROR)
class SameFinalObservation(Check):
    """Compares the last observations of all episodes."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, bytes] | None = None
        self._before = set[int]()
        self._episodes = 0
        self._is_ruled_out = False
        self._all_terminated = True

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Stops looking at the first that ends otherwise."""
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
        """Says how many there were."""
        del subject
        if not self._is_ruled_out and self._episodes >= FEWEST:
            yield Hit(
                f"all {self._episodes:,} episodes end with the same observation",
                field=OBSERVATION,
                count=self._episodes,
                severity=Severity.WARNING if self._all_terminated else Severity.ERROR,
            )


def _is_fractional(episode: SubjectEpisode) -> bool:
    """Whether an observation has numbers that are not whole: two states hardly ever share them."""
    leaves = episode.leaves(is_observation, episode.length - 1, episode.length).values()
    return any(bool(np.any(leaf.values != np.round(leaf.values))) for leaf in leaves if leaf.kind == "f")

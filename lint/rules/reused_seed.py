"""Many episodes begin with the same seed.

At least three episodes were reset with one seed and the same options, in one environment, and open with the same
observation, though they differ later; and they are more than half of the dataset.

`reset(seed=0)` at the start of every episode, rather than of the first one alone, makes an environment begin in the
same state each time and draw the same random numbers. Data that seem to hold a thousand starts hold one. To compare
agents on the same starts is a good use of it; then ignore the rule.

Pass a seed to the first reset only, or another one to each.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode

FEWEST: Final = 3
SHARE: Final = 0.5


@rule("RK504", Severity.WARNING)
class ReusedSeed(Check):
    """Counts seeds with what they lead to."""

    def __init__(self) -> None:
        super().__init__()
        self._starts = Counter[tuple[str, int]]()
        self._episodes = 0

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Counts a start."""
        self._episodes += 1
        if episode.seed is not None and episode.actions > 0:
            start = hash(tuple(sorted(episode.first.items())))
            about = f"{episode.seed!r}, {episode.options!r}, {episode.provenance.get('id')}"
            self._starts[about, start] += 1
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports each seed with which many episodes begin alike."""
        del subject
        for (about, _), count in self._starts.items():
            if count >= FEWEST and count > SHARE * self._episodes:
                seed = about.partition(",")[0]
                yield Hit(f"{count:,} of {self._episodes:,} episodes begin alike, with the seed {seed}", count=count)

"""The final observation is the first one of the next episode.

Nine of ten episodes that the environment ended close with the observation that the following episode opens with,
while the episodes open with different ones. After a termination that is an error; after truncations alone it is a
warning, as an environment whose reset changes nothing goes on from where it was.

Vector environments that reset a sub-environment in the step that ends its episode return the first observation of the
next one, and the final one elsewhere (`final_obs`). In D4RL's layout the row after a timeout belongs to another
episode, so the "next observation" that is taken from it does, too. The last transition then leads into a fresh start,
and at a truncation its value is bootstrapped from there.

Take the final observation from `final_obs`, or record with `rlds_kit.logger.VectorLogger`, which does. Where it is
lost, leave it out: the episode then says in its mask that it has none.
"""

from collections.abc import Iterable
from typing import Final

from rlds_kit.base.step import OBSERVATION, EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode

FEWEST: Final = 3
SHARE: Final = 0.9
LISTED: Final = 1000


@rule("RK203", Severity.ERROR)
class NextEpisodesObservation(Check):
    """Compares last observations with the first ones of the episodes after."""

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
        """Says which, if that is how they all end."""
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

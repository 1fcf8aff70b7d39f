"""What checks share that look at what playing an episode again told."""

from collections.abc import Iterable
from typing import Final

from rlds_kit.lint.dynamics import Probe, numbers_to_probe, probe
from rlds_kit.lint.rule import Check, Hit
from rlds_kit.lint.subject import Subject, SubjectEpisode

_PROBE: Final = "probe"


class ProbeCheck(Check):
    """A check of some episodes that are played again, once for all checks."""

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Chooses the episodes."""
        self._chosen = numbers_to_probe(subject.expected)
        return ()

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Looks at what playing it again told, if it is one of them."""
        if episode.number not in self._chosen:
            return ()
        if _PROBE not in episode.memory:
            episode.memory[_PROBE] = probe(episode)
        found: Probe | None = episode.memory[_PROBE]
        return () if found is None else self.told(episode, found)

    def told(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """What follows from it."""
        raise NotImplementedError

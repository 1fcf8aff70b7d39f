"""The base of checks that use the replay of an episode."""

from collections.abc import Iterable
from typing import Final

from rlds_kit.lint.dynamics import Probe, numbers_to_probe, probe
from rlds_kit.lint.rule import Check, Hit
from rlds_kit.lint.subject import Subject, SubjectEpisode

_PROBE: Final = "probe"


class ProbeCheck(Check):
    """A check of some episodes that are replayed, once for all checks."""

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Chooses the episodes."""
        self._chosen = numbers_to_probe(subject.expected)
        return ()

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks the result of its replay, if there is one."""
        if episode.number not in self._chosen:
            return ()
        if _PROBE not in episode.memory:
            episode.memory[_PROBE] = probe(episode)
        found: Probe | None = episode.memory[_PROBE]
        return () if found is None else self.check_probe(episode, found)

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """The findings from a replay."""
        raise NotImplementedError

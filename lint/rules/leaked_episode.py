"""Two datasets share an episode.

An episode of one of the datasets given, or of one given with `--against`, has the same content digest as one of
another, or took the same course (see RK502) over eight actions at least.

What was trained on must not be tested on. Datasets that are merged, filtered and published again overlap more often
than their names suggest, and an agent that has seen the answers seems better than it is.

Leave the shared episodes out of one of them. `rlds-kit split` and `Dataset.split` part episodes by a hash of their
ids, so that each is always on the same side, whatever is added later.
"""

from collections.abc import Iterable

from rlds_kit.lint.fingerprint import SHORTEST, fingerprint
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode


@rule("RK503", Severity.ERROR, across=True)
class LeakedEpisode(Check):
    """Remembers digests and fingerprints of all datasets."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[bytes, tuple[int, str, int]] = {}
        self._datasets = 0
        self._name = ""

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Continues with the next dataset."""
        self._name, self._datasets = subject.name, self._datasets + 1
        return ()

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks whether an earlier dataset has it."""
        if episode.actions < SHORTEST and episode.seed is None:
            return
        marks = [episode.digest, fingerprint(episode) if episode.actions >= SHORTEST else b""]
        own = (self._datasets, self._name, episode.number)
        found = [self._seen.setdefault(mark, own) for mark in marks if mark]
        for dataset, name, number in found:
            if dataset != self._datasets:
                yield Hit(f"also in {name}, as episode {number}", episode.number)
                return

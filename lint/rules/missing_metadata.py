"""Some episodes lack metadata that most have.

A key of the metadata is there in more than half of the episodes and missing in others. Episodes that were interrupted
or cut off do not count: metadata that are known at the end only are missing there.

`where` and `rlds-kit filter` read every episode; one without the key is an error at best, and else it silently falls
on one side. TFDS needs every key in every episode.

Give the key to all episodes, with None where there is no value. `rlds-kit filter` leaves out those without it.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from rlds_kit.base.step import EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode

LISTED: Final = 1000


@rule("RK603", Severity.WARNING)
class MissingMetadata(Check):
    """Counts keys."""

    def __init__(self) -> None:
        super().__init__()
        self._keys = Counter[str]()
        self._kinds = Counter[frozenset[str]]()
        self._numbers: dict[frozenset[str], list[int]] = {}

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Counts the keys of an episode."""
        if episode.end in (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED):
            keys = frozenset(map(str, episode.metadata))
            self._keys.update(keys)
            self._kinds[keys] += 1
            numbers = self._numbers.setdefault(keys, []) if len(self._numbers) < LISTED else []
            if len(numbers) < LISTED:
                numbers.append(episode.number)
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Says which episodes lack what."""
        del subject
        episodes = self._kinds.total()
        for key, count in sorted(self._keys.items()):
            if not episodes / 2 < count < episodes:
                continue
            lacking = sorted(each for keys, all_of in self._numbers.items() if key not in keys for each in all_of)
            for number in lacking:
                yield Hit(f"missing in {episodes - count:,} of {episodes:,} episodes", number, None, f"metadata/{key}")

"""An episode is there twice.

Two episodes have the same content digest: the same steps, metadata, seed, options and end. Those of fewer than eight
actions count only if their seed is known: short ones are equal by chance. Foreign formats have no digest; there, RK502
compares what can be compared.

Merging a dataset with a part of itself makes duplicates, and so does a recording job that was started twice. They
weigh double in every batch, and once the dataset is split at random one copy may be trained on and the other tested.

Keep one of each: `rlds-kit delete` takes their ids. `rlds-kit merge` keeps an episode once that several sources have
under one id.
"""

from collections.abc import Iterable

from rlds_kit.lint.fingerprint import SHORTEST
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK501", Severity.WARNING)
class DuplicateEpisode(Check):
    """Remembers digests, which are in the index."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[bytes, int] = {}

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks whether an earlier episode has the digest."""
        if not episode.digest or (episode.actions < SHORTEST and episode.seed is None):
            return
        before = self._seen.setdefault(episode.digest, episode.number)
        if before != episode.number:
            yield Hit(f"the same content as episode {before}", episode.number)

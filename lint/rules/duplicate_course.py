"""Two episodes took the same course under other names.

All actions, all rewards, and the first and the last observation are equal bit for bit, over eight actions at least;
the metadata, the seed or the end are not, or the format has no digest that would say so.

A copy whose metadata was changed, or that came back through another format, is still a copy. A deterministic agent in
a deterministic environment repeats itself as well (Machado et al., "Revisiting the Arcade Learning Environment",
2018, has sticky actions for that reason): a hundred evaluations are then one.

Keep one of each; `rlds_kit.Dataset.take` chooses by number. To evaluate, use seeds or sticky actions.
"""

from collections.abc import Iterable

from rlds_kit.lint.fingerprint import SHORTEST, fingerprint
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK502", Severity.WARNING)
class DuplicateCourse(Check):
    """Remembers fingerprints."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[bytes, tuple[int, bytes]] = {}

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks whether an earlier episode has the fingerprint and another digest."""
        mark = fingerprint(episode) if episode.actions >= SHORTEST else b""
        if not mark:
            return
        before, digest = self._seen.setdefault(mark, (episode.number, episode.digest))
        if before != episode.number and (not digest or digest != episode.digest):
            yield Hit(f"the same actions, rewards and observations as episode {before}", episode.number)

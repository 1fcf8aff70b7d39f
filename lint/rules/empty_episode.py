"""An episode has no action.

The environment was reset and reset again, or closed, and no step was taken between.

An episode without an action has no transition, but it counts: averages over episodes get a return of 0, and code that
takes the first action of each fails. A wrapper that resets twice makes as many of them as episodes.

`rlds-kit filter DATASET OUTPUT --where "length > 1"` leaves them out.
"""

from collections.abc import Iterable

from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK604", Severity.WARNING)
class EmptyEpisode(Check):
    """Checks lengths."""

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Says which have no action."""
        if episode.actions < 1:
            yield Hit("no action was taken", episode.number)

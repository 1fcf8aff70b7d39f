"""NaN or infinity in metadata or in other fields.

A number in an episode's metadata is NaN or infinite, or one in a field other than observation, action, reward and
discount, such as `info` or a field that `step_fn` made.

Metadata choose episodes and weigh them: a score of NaN is neither above nor below a threshold, so `where` leaves it
out both ways, and JSON has no NaN. In `info` it is often meant, which is why this is a warning.

Record None, or nothing, where there is no value.
"""

import math
from collections.abc import Iterable

import numpy as np

from rlds_kit.lint.nests import flat
from rlds_kit.lint.rule import LEARNED_FROM, Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.rules.not_a_number import not_finite
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK302", Severity.WARNING)
class NotANumberElsewhere(Check):
    """Checks the floats of metadata, and of all fields except observation, action, reward and discount."""

    def wants(self, path: str) -> bool:
        """Selects the fields besides observation, action, reward and discount, without leaves that hold no floats."""
        return path.partition("/")[0] not in LEARNED_FROM and path not in self.done

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Finds elements that are not finite."""
        for path, leaf in stretch.leaves.items():
            if not self.wants(path):
                continue
            if leaf.kind in "biuSUM":
                self.done.add(path)
            elif leaf.kind in "fc":
                yield from not_finite(stretch, path)

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks the metadata."""
        for path, value in flat(episode.metadata, "metadata"):
            if isinstance(value, float | np.floating) and not math.isfinite(value):
                yield Hit("NaN" if math.isnan(value) else "infinity", episode.number, None, path)

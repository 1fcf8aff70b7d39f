"""NaN and infinity."""

import math
from collections.abc import Iterable

import numpy as np

from rlds_kit.lint.nests import flat
from rlds_kit.lint.rule import LEARNED_FROM, Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK301", Severity.ERROR)
class NotANumber(Check):
    """NaN or infinity in what agents learn from.

    An observation, action, reward or discount has an element that is NaN or infinite.

    One NaN in one batch makes every weight of a network NaN, hours after the loader read it and far from the place. In
    observations NaN may stand for a sensor that was off; training code has to know that, and most does not.

    Find out what made it: a division in a normalisation, a simulation that blew up, a sensor. Leave the episode out
    (`rlds-kit filter`, `rlds-kit trim`), or record a value that stands for none together with a mask.
    """

    reads = LEARNED_FROM

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Finds elements that are not finite."""
        for path, leaf in stretch.leaves.items():
            if not self.wants(path):
                continue
            if leaf.kind in "biuSUM":
                self.done.add(path)
            elif leaf.kind in "fc":
                yield from not_finite(stretch, path)


def not_finite(stretch: Stretch, path: str) -> Iterable[Hit]:
    """One hit for the rows of a stretch that have NaN or infinity in a leaf."""
    leaf = stretch.leaves[path]
    if np.isfinite(leaf.values).all():
        return
    flat = leaf.values.reshape(len(leaf.values), -1)
    wrong = ~np.isfinite(flat).all(axis=1)
    what = "NaN" if np.isnan(flat).any() else "infinity"
    yield Hit(what, stretch.episode.number, int(leaf.rows[wrong][0]), path, int(wrong.sum()))


@rule("RK302", Severity.WARNING)
class NotANumberElsewhere(NotANumber):
    """NaN or infinity in metadata or in other fields.

    A number in an episode's metadata is NaN or infinite, or one in a field other than observation, action, reward and
    discount, such as `info` or a field that `step_fn` made.

    Metadata choose episodes and weigh them: a score of NaN is neither above nor below a threshold, so `where` leaves it
    out both ways, and JSON has no NaN. In `info` it is often meant, which is why this is a warning.

    Record None, or nothing, where there is no value.
    """

    def wants(self, path: str) -> bool:
        """Selects the fields besides observation, action, reward and discount, without leaves that hold no floats."""
        return path.partition("/")[0] not in LEARNED_FROM and path not in self.done

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks the metadata."""
        for path, value in flat(episode.metadata, "metadata"):
            if isinstance(value, float | np.floating) and not math.isfinite(value):
                yield Hit("NaN" if math.isnan(value) else "infinity", episode.number, None, path)

"""Observations stand in other rows than those they were made in.

The environment is made again, reset with the episode's seed, and given the recorded actions. What it shows is not
what the rows say, but every observation is found the same number of rows later, or one row earlier. Such an episode
begins with observations of the episode before it, or lacks that of its reset.

An episode of n actions has n + 1 observations. A loader that joins the observations of all episodes and cuts them by
the number of actions is wrong by one more row in every episode: d3rlpy 2.8.1 does so when it loads datasets of
Minari. Every transition of such data pairs an action with a state in which it was not taken.

Load the original again with a loader that keeps n + 1 observations: `rlds-kit convert` and `rlds_kit.open` do. Data
that were saved after such a loading cannot be repaired if the observations that fell off the end are missing.
"""

from collections.abc import Iterable

from rlds_kit.base.step import OBSERVATION
from rlds_kit.lint.dynamics import Probe
from rlds_kit.lint.probing import ProbeCheck
from rlds_kit.lint.rule import Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK103", Severity.ERROR)
class ShiftedObservations(ProbeCheck):
    """Checks whether the actions explain other rows' observations."""

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """Says by how much they are shifted."""
        if not found.observation_shift:
            return
        rows = "1 row" if abs(found.observation_shift) == 1 else f"{abs(found.observation_shift)} rows"
        where = "late" if found.observation_shift > 0 else "early"
        yield Hit(
            f"observations stand {rows} {where}: only so does the environment give them",
            episode.number,
            field=OBSERVATION,
        )

"""Actions stand in other rows than those they were taken in.

The environment is made again, reset with the episode's seed, and given the recorded actions. They do not lead to the
recorded observations, but the actions of the row after, or of the row before, lead to every one of them. Up to five
episodes of a dataset are played, up to 1,000 actions of each; a shift has to explain at least nine observations.

In RLDS a step holds an observation and the action that was applied to it (SAR); EnvLogger and dm_env store an action
with the observation that it led to (RSA). A program that confuses them trains on actions that answer to the
observation before, and behaviour cloning on such data learns to be late by one step. The alignment of RLDS is
described in "RLDS: an Ecosystem to Generate, Share and Use Datasets in Reinforcement Learning" (Ramos et al., 2021).

Move the actions by the number of rows that the finding names: `rlds_kit.transformations.shift_keys` does it in a
pipeline, and rlds_kit's readers of EnvLogger and TFDS do it when they read. Then write the dataset again.
"""

from collections.abc import Iterable

from rlds_kit.base.step import ACTION
from rlds_kit.lint.dynamics import Probe
from rlds_kit.lint.probing import ProbeCheck
from rlds_kit.lint.rule import Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK101", Severity.ERROR)
class ShiftedActions(ProbeCheck):
    """Checks whether other rows' actions explain the observations."""

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """Says by how much they are shifted."""
        if found.action_shift:
            where = "one row late" if found.action_shift > 0 else "one row early"
            yield Hit(
                f"actions stand {where}: only so does the environment give the {found.actions:,} observations recorded",
                episode.number,
                field=ACTION,
            )

"""Fields that are recorded in wrong rows."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.base.step import ACTION, OBSERVATION, REWARD
from rlds_kit.lint.dynamics import Probe
from rlds_kit.lint.probing import ProbeCheck
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode


@rule("RK101", Severity.ERROR)
class ShiftedActions(ProbeCheck):
    """Actions are in the wrong rows.

    The environment is made again, reset with the episode's seed, and given the recorded actions. They do not lead to
    the recorded observations, but the actions of the row after, or of the row before, lead to every one of them. Up to
    five episodes of a dataset are played, up to 1,000 actions of each; a shift has to explain at least nine
    observations.

    In RLDS a step holds an observation and the action that was applied to it (SAR); EnvLogger and dm_env store an
    action with the observation that it led to (RSA). A program that confuses them trains on actions that answer to the
    observation before, and behaviour cloning on such data learns to be late by one step. The alignment of RLDS is
    described in "RLDS: an Ecosystem to Generate, Share and Use Datasets in Reinforcement Learning" (Ramos et al.,
    2021).

    Move the actions by the number of rows that the finding names: `rlds_kit.transformations.shift_keys` does it in a
    pipeline, and rlds_kit's readers of EnvLogger and TFDS do it when they read. Then write the dataset again.
    """

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """Says by how much they are shifted."""
        if found.action_shift:
            where = "one row late" if found.action_shift > 0 else "one row early"
            yield Hit(
                f"actions stand {where}: only so does the environment give the {found.actions:,} observations recorded",
                episode.number,
                field=ACTION,
            )


@rule("RK102", Severity.ERROR)
class ShiftedRewards(ProbeCheck):
    """Rewards are not those of their actions.

    The environment is made again and plays the episode, and every observation comes out as it was recorded. The rewards
    do not: either they are the right ones one row early or late, which the finding says, or they are others altogether.

    Gymnasium returns a reward together with the observation that follows it, and RLDS stores it with the observation
    before it. A reward that is one row late rewards the action after the one that earned it: credit goes to the wrong
    action, and in a sparse task the only reward of an episode falls on the last step, where it is undefined and is
    masked out.

    Move the rewards by the number of rows that the finding names. Rewards that no shift explains were changed on
    purpose (clipped, scaled, normalised, written by people): say so in the dataset's description, and ignore the rule.
    """

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """Reports the shift, or that no shift explains them."""
        if not found.first_reward:
            return
        if found.reward_shift is None:
            if any(name.endswith(".NormalizeReward") for name in episode.provenance.get("wrapper_classes") or ()):
                return  # its scale depends on all earlier episodes
            message = f"rewards are not the environment's: {found.first_reward}"
            yield Hit(message, episode.number, field=REWARD, severity=Severity.WARNING)
            return
        where = "one row late" if found.reward_shift > 0 else "one row early"
        yield Hit(f"rewards stand {where}: {found.first_reward}", episode.number, field=REWARD)


@rule("RK103", Severity.ERROR)
class ShiftedObservations(ProbeCheck):
    """Observations are in the wrong rows.

    The environment is made again, reset with the episode's seed, and given the recorded actions. What it shows is not
    what the rows say, but every observation is found the same number of rows later, or one row earlier. Such an episode
    begins with observations of the episode before it, or lacks that of its reset.

    An episode of n actions has n + 1 observations. A loader that joins the observations of all episodes and cuts them
    by the number of actions is wrong by one more row in every episode: d3rlpy 2.8.1 does so when it loads datasets of
    Minari. Every transition of such data pairs an action with a state in which it was not taken.

    Load the original again with a loader that keeps n + 1 observations: `rlds-kit convert` and `rlds_kit.open` do. Data
    that were saved after such a loading cannot be repaired if the observations that fell off the end are missing.
    """

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


ACCIDENT: Final = 1e-9
FEWEST: Final = 5
"""Episodes."""


@rule("RK104", Severity.WARNING)
class ActionOfTheStepBefore(Check):
    """Every first row has an action of zeros, and every last row has a real one.

    In every episode the action of row 0 is zero, the last row has an action and no observation after it, and zero is so
    rare elsewhere that this is no accident (less than one in a billion). So are data whose rows have an action beside
    the observation that it led to, read as if it were applied to that observation.

    The alignment of RLDS is SAR. TFDS has datasets in other alignments under the same feature names, and Open
    X-Embodiment gathers data of many laboratories with conventions of their own. Read as SAR, every action is one step
    late.

    Find out what the source says of its alignment. If the action led to the observation beside it, shift the actions by
    one row (`rlds_kit.transformations.shift_keys`) and drop the first one. People who wait before they act make such
    data, too: then all is well, and the rule can be ignored.
    """

    reads = (ACTION,)

    def __init__(self) -> None:
        super().__init__()
        self._zeros = self._others = self._episodes = 0
        self._is_zero: bool | None = None
        self._ruled_out = False

    def wants(self, path: str) -> bool:
        """Whether values of a field are still needed: not after an episode that contradicts the fault."""
        return not self._ruled_out and super().wants(path)

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Counts rows whose actions are all zeros."""
        found = [leaf for path, leaf in stretch.leaves.items() if path.partition("/")[0] == ACTION]
        if self._ruled_out or not found:
            return ()
        if any(leaf.kind not in "biuf" or not np.array_equal(leaf.rows, found[0].rows) for leaf in found):
            self._ruled_out = True
            return ()
        rows = found[0].rows
        zero = np.all([(leaf.values == 0).reshape(len(rows), -1).all(axis=1) for leaf in found], axis=0)
        begins = rows == 0
        if begins.any():
            self._is_zero = bool(zero[begins].all())
        self._zeros += int(zero[~begins].sum())
        self._others += int((~begins).sum())
        return ()

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks whether the last row has an action and no observation follows."""
        lacks_final = not episode.last
        if episode.actions > 1 and not (self._is_zero and lacks_final):
            self._ruled_out = True
        self._episodes += episode.actions > 1
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Checks whether it can be chance."""
        del subject
        share = (self._zeros + 1) / (self._others + 2)
        if not self._ruled_out and self._episodes >= FEWEST and share**self._episodes < ACCIDENT:
            yield Hit(
                f"the first action of all {self._episodes:,} episodes is zero, as {share:.1%} of the others are, and "
                "the last one has no observation after it: actions seem to stand one row late",
                field=ACTION,
                count=self._episodes,
            )

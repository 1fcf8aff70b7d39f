"""The report of a replay."""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Divergence:
    """A value that differs from the recorded one.

    Attributes:
      field: path of it, as in "observation", "reward", "terminated", "info/lives"; or "error", where the environment
        raised one.
      step: row of the episode: of a reward, that of its action; of an observation and of flags, the one after it.
      recorded: the recorded value, abbreviated.
      replayed: the value in the replay, abbreviated.
      max_difference: the largest absolute difference of numbers; None if there is none.
    """

    field: str
    step: int
    recorded: str
    replayed: str
    max_difference: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one episode.

    Attributes:
      episode: its number in the dataset.
      id: of the episode.
      actions: number of recorded actions.
      replayed: how many of them were taken.
      divergences: all differences at the first step with any; empty if there are none.
      reason: why the rest was not replayed; empty if all was, or if it diverged.
    """

    episode: int
    id: uuid.UUID
    actions: int
    replayed: int
    divergences: tuple[Divergence, ...] = ()
    reason: str = ""

    @property
    def diverged(self) -> bool:
        """Whether the results differ from the recorded ones."""
        return bool(self.divergences)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `replay`.

    Attributes:
      dataset: its path.
      outcomes: one for each episode.
      notes: possible reasons for a divergence: other versions than recorded, arguments that were not recorded.
    """

    dataset: str
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]

    @property
    def diverged(self) -> tuple[Outcome, ...]:
        """Episodes whose results differ from the recorded ones."""
        return tuple(each for each in self.outcomes if each.diverged)

    @property
    def not_replayed(self) -> tuple[Outcome, ...]:
        """Episodes that were not replayed, or not to their end; each has a reason."""
        return tuple(each for each in self.outcomes if each.reason)

    @property
    def ok(self) -> bool:
        """Whether every episode was replayed to its end without a divergence."""
        return not (self.diverged or self.not_replayed)

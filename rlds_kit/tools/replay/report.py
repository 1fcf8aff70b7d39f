"""The report of a replay."""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Divergence:
    """A value that is not what was recorded.

    Attributes:
      field: path of it, as in "observation", "reward", "terminated", "info/lives"; or "error", where the environment
        raised one.
      step: row of the episode: of a reward, that of its action; of an observation and of flags, the one after it.
      recorded: in short.
      replayed: in short.
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
      id: its own.
      actions: that were recorded.
      replayed: of these, how many were taken again.
      divergences: everything that differs at the first step at which anything does; empty where nothing does.
      reason: why the rest was not played again; empty when all was, or when it diverged.
    """

    episode: int
    id: uuid.UUID
    actions: int
    replayed: int
    divergences: tuple[Divergence, ...] = ()
    reason: str = ""

    @property
    def diverged(self) -> bool:
        """Whether the environment did something else."""
        return bool(self.divergences)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `replay`.

    Attributes:
      dataset: where it is.
      outcomes: one an episode.
      notes: what may explain a divergence: versions other than those that recorded, arguments that were not recorded.
    """

    dataset: str
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]

    @property
    def diverged(self) -> tuple[Outcome, ...]:
        """Episodes in which the environment did something else."""
        return tuple(each for each in self.outcomes if each.diverged)

    @property
    def not_replayed(self) -> tuple[Outcome, ...]:
        """Episodes that were not played again, or not to their end; each has a reason."""
        return tuple(each for each in self.outcomes if each.reason)

    @property
    def ok(self) -> bool:
        """Whether every episode was played again to its end and nothing diverged."""
        return not (self.diverged or self.not_replayed)

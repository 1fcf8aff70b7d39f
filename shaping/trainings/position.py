"""Where a training was broken off, and goes on."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rlds_kit.shaping.learners.tamer import Tamer


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a training goes on.

    Attributes:
      stage: name of the stage; None: the training begins.
      n_games: of the stage that were played to their end.
      total: steps of these games.
      score: sum of the environment's rewards of these games.
      is_official: whether the stage was the first run of its kind.
      runs: names of the stages that the person has been in, in this training or an earlier one.
      attempt: how many stages the training has begun, repeated ones counted.
      sequence: how many games of the training there are.
      agent_number: how many agents it has had.
      agent: as it was when the training was broken off; None: a new one.

    >>> Position().sequence
    0
    """

    stage: str | None = None
    n_games: int = 0
    total: int = 0
    score: float = 0.0
    is_official: bool = False
    runs: AbstractSet[str] = frozenset()
    attempt: int = 0
    sequence: int = 0
    agent_number: int = 0
    agent: Tamer | None = None

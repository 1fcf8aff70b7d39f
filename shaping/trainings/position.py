"""The position at which an interrupted training continues."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rlds_kit.shaping.learners.tamer import Tamer


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The position at which a training continues.

    Attributes:
      stage: name of the stage; None: the training begins.
      n_games: number of complete games of the stage.
      total: steps of these games.
      score: sum of the environment's rewards of these games.
      is_official: whether the stage was the first run of its kind.
      runs: names of the stages that the person has done, in this training or an earlier one.
      attempt: number of stages that the training has begun, including repeated ones.
      sequence: number of games of the training.
      agent_number: number of agents so far.
      agent: its state when the training was interrupted; None: a new one.

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

"""The two protocols of the TAMER paper, in our own words: what trainers read, practise and do."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


class StageKind(enum.StrEnum):
    """The activity of a person in a stage.

    >>> StageKind("control") is StageKind.CONTROL
    True
    """

    CONTROL = "control"
    """The person plays, to learn the game."""
    PRACTICE = "practice"
    """The person trains an agent that does not count."""
    TRAINING = "training"
    """The person trains an agent that counts."""
    CHECK = "check"
    """The person watches the trained agent at full speed, and corrects it where it gets stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A part of a training.

    Attributes:
      name: unique in its protocol.
      kind: what the person does.
      text: for the person to read before it, or to be read aloud.
      n_games: number of games; None: the person ends the stage.
      is_official: whether it is an official run.
      is_new_agent: whether it begins with an untrained agent.
      step_ms: duration of a step; the person may change it.
    """

    name: str
    kind: StageKind
    text: str
    n_games: int | None = None
    is_official: bool = False
    is_new_agent: bool = False
    step_ms: int = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """The course of a training.

    Attributes:
      name: of it.
      stages: in order.
      keys: of feedback: the value of each.
      controls: in a stage of control: the action of each key, which is repeated until another one is pressed.
      counts_previous: whether feedback is about the step before the displayed one.
    """

    name: str
    stages: tuple[Stage, ...]
    keys: Mapping[str, float] = field(default_factory=lambda: {"p": 1.0, "n": -1.0})
    controls: Mapping[str, int] = field(default_factory=dict)
    counts_previous: bool = False


_KEYS: Final = (
    "P is positive feedback, N is negative. Each press counts, so several presses make it stronger; you may also "
    "give none. If the page does not show that a press arrived, click on it: your keys go elsewhere."
)
_TETRIS_PRACTICE: Final = (
    f"You train an agent to play Tetris. While a piece falls, judge where the piece before it was placed. {_KEYS} "
    "Do not judge a move before it is complete. You may change the speed, and stop at any time. Practise until "
    "you know how it works: about ten minutes are enough."
)
_TETRIS_STRATEGY: Final = (
    "Tell the agent which moves you like and which you do not; how is up to you. Two suggestions. If it has a "
    "habit that you do not like, give negative feedback to everything that belongs to the habit. If it does not "
    "do what you want, give more negative and less positive feedback until it does, and then a lot of positive "
    "feedback at once. Practise again, with a new agent if you like."
)
_TETRIS_RUN: Final = (
    "This run counts: ten games with a new agent, about 15 minutes. Its score is the sum of lines of all ten "
    "games. You may pause. When the agent plays well, make it faster and stop judging."
)
_PIECE_MS: Final = 20 * 150
"""Time of a piece's fall: 150 ms for each of 20 rows, the initial speed in the paper."""
TETRIS: Final = Protocol(
    name="tetris",
    stages=(
        Stage(name="practice 1", kind=StageKind.PRACTICE, text=_TETRIS_PRACTICE, is_new_agent=True, step_ms=_PIECE_MS),
        Stage(name="practice 2", kind=StageKind.PRACTICE, text=_TETRIS_STRATEGY, is_new_agent=True, step_ms=_PIECE_MS),
        Stage(
            name="run",
            kind=StageKind.TRAINING,
            text=_TETRIS_RUN,
            n_games=10,
            is_official=True,
            is_new_agent=True,
            step_ms=_PIECE_MS,
        ),
    ),
    counts_previous=True,
)
"""Two practices, then a run of ten games that counts."""

_CAR_CONTROL: Final = (
    "First drive the car yourself, to the goal on the right hill, in as few steps as you can. S accelerates to "
    "the left, F to the right, D not at all. Press once: the car goes on so until you press another key. Until "
    "you press one, a program drives. Go on until you know when the best driver would turn: an agent that just "
    "gets there is not the aim."
)
_CAR_TRAINING: Final = (
    f"Train the agent to drive. {_KEYS} Press, do not hold. Feedback helps most if it is consistent and comes at "
    "once; up to a point, more of it is better. Judge what happened, never what you expect. Train for 20 games, "
    "or until it cannot get better."
)
_CAR_CHECK: Final = (
    "Watch 50 games at full speed. If the agent gets stuck anywhere, slow it down, give negative feedback, and "
    "watch another 50."
)


def _car_run(number: int) -> tuple[Stage, Stage]:
    training = Stage(
        name=f"training {number}",
        kind=StageKind.TRAINING,
        text=_CAR_TRAINING,
        n_games=20,
        is_official=True,
        is_new_agent=True,
        step_ms=151,
    )
    return training, Stage(name=f"check {number}", kind=StageKind.CHECK, text=_CAR_CHECK, n_games=50, step_ms=0)


MOUNTAIN_CAR: Final = Protocol(
    name="mountain_car",
    stages=(
        Stage(name="control", kind=StageKind.CONTROL, text=_CAR_CONTROL, step_ms=151),
        *(stage for number in (1, 2, 3) for stage in _car_run(number)),
    ),
    controls={"s": 0, "d": 1, "f": 2},
)
"""The person drives; then three times 20 games of training and 50 to check the agent."""

_FREE: Final = (
    f"Train the agent to do what you like. {_KEYS} Press, do not hold. Judge what happened, at once, and never what "
    "you expect. You may change the speed, pause, and begin again with a new agent at any time."
)
FREE: Final = Protocol(
    name="free", stages=(Stage(name="training", kind=StageKind.TRAINING, text=_FREE, is_new_agent=True, step_ms=151),)
)
"""One stage without an end, for any environment."""

"""Simulated trainers: they judge late and not always, as people do; their own clock makes runs repeatable."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from rlds_kit.shaping.feedback.event import Device, FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark, MarkKind
from rlds_kit.shaping.feedback.stream import FeedbackStream
from rlds_kit.shaping.learners.tamer import Tamer

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTrainer:
    """The parameters of a simulated trainer.

    Attributes:
      judge: returns the value of an action after an observation.
      share: of steps that are judged.
      flipped: share of judgements with the wrong sign.
      delay: shortest and longest seconds from the judged moment, a random one in the step, to the press.
      step_seconds: duration of a step.
    """

    judge: Callable[[Any, Any], float]
    share: float = 1.0
    flipped: float = 0.0
    delay: tuple[float, float] = (0.2, 0.6)
    step_seconds: float = 1.0

    def presses(self, observation: Any, action: Any, begin_ns: int, random: np.random.Generator) -> Iterator[Any]:
        """Yields time and value of its press for a step that begins at `begin_ns`, if it judges the step."""
        if random.random() >= self.share:
            return
        value = self.judge(observation, action) * (-1 if random.random() < self.flipped else 1)
        moment = random.random() * self.step_seconds + random.uniform(*self.delay)
        if value:
            yield begin_ns + round(moment * SECOND), value


@dataclass(frozen=True, slots=True)
class Game:
    """A game of a training.

    Attributes:
      steps: observations and actions.
      total: sum of the environment's rewards.
      feedback: events, and the clock of steps.
    """

    steps: tuple[tuple[Any, Any], ...]
    total: float
    feedback: FeedbackStream


def train(
    env: gymnasium.Env[Any, Any], tamer: Tamer, trainer: SimulatedTrainer | None, *, n_games: int, seed: int
) -> Iterator[Game]:
    """Plays games in which a simulated trainer trains an agent; yields each when it is over.

    Args:
      env: to play; it terminates or truncates each game.
      tamer: the agent to train.
      trainer: None: there is no feedback.
      n_games: number of games.
      seed: of the first reset and of the trainer.
    """
    random = np.random.default_rng(seed)
    for number in range(n_games):
        observation, _ = env.reset(seed=seed if number == 0 else None)
        yield _play(env, tamer, trainer, observation, random)


def _play(
    env: gymnasium.Env[Any, Any],
    tamer: Tamer,
    trainer: SimulatedTrainer | None,
    observation: Any,
    random: np.random.Generator,
) -> Game:
    waiting: list[tuple[int, float]] = []
    steps: list[tuple[Any, Any]] = []
    total, now, is_over = 0.0, 0, False
    step_ns = round((trainer.step_seconds if trainer is not None else 1.0) * SECOND)
    tamer.begin()
    while not is_over:
        _deliver(waiting, now, tamer, len(steps))
        tamer.take(Mark(MarkKind.STEP, now))
        action = tamer.act(observation)
        tamer.show(observation, action)
        steps.append((observation, action))
        if trainer is not None:
            for each in trainer.presses(observation, action, now, random):
                heapq.heappush(waiting, each)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, now, is_over = total + float(reward), now + step_ns, terminated or truncated
    _deliver(waiting, now, tamer, len(steps))
    tamer.take(Mark(MarkKind.END, now))
    _deliver(waiting, None, tamer, len(steps))
    tamer.finish()
    return Game(tuple(steps), total, tamer.stream)


def _deliver(waiting: list[tuple[int, float]], until: int | None, tamer: Tamer, n_steps: int) -> None:
    """Passes the presses until a time to the agent."""
    while waiting and (until is None or waiting[0][0] < until):
        time_ns, value = heapq.heappop(waiting)
        number = len(tamer.stream.events)
        event = FeedbackEvent(
            number=number,
            time_ns=time_ns,
            value=value,
            key="p" if value > 0 else "n",
            annotator="simulated",
            device=Device.PROGRAM,
            step=n_steps - 1,
        )
        tamer.take(event)

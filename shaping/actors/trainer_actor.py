"""A simulated trainer as an actor of trials: for tests, and to try out a training before people use it."""

import heapq
import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from rlds_kit import __version__
from rlds_kit.shaping.actors.tamer_actor import INTENT
from rlds_kit.shaping.feedback.event import Device, FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark, MarkKind
from rlds_kit.shaping.feedback.text import to_text
from rlds_kit.shaping.learners.simulated_trainer import SECOND, SimulatedTrainer
from rlds_kit.trials.actors.contract import ActorInfo, Reply, Text
from rlds_kit.trials.actors.registry import load


class TrainerActor:
    """Judges the player of a trial from the seat of the teacher; it never acts for the player.

    It has its own clock, on which each step takes the same time, so its judgements are determined by the seed. Its
    configuration: `trainer`, a function or "module:name" of one that returns a `SimulatedTrainer`, and `player`, the
    seat that it judges ("player"), which has to announce its actions.
    """

    version = __version__
    _trainer: SimulatedTrainer
    _random: np.random.Generator
    _player: str
    _before: Any

    def reset(self, info: ActorInfo) -> None:
        """An episode begins."""
        self._trainer = load(info.config["trainer"])()
        self._player, self._random = info.config.get("player", "player"), np.random.default_rng(info.seed)
        self._waiting: list[tuple[int, float]] = []
        self._numbers, self._step, self._before = itertools.count(), 0, None

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Reply:
        """Sends its judgements up to this step, and the mark of this step."""
        del reward
        step_ns = round(self._trainer.step_seconds * SECOND)
        now = self._step * step_ns
        for each in messages:
            self._judge(each, now - step_ns)
        text = to_text([*self._presses(now), Mark(MarkKind.STEP, now)])
        self._before, self._step = observation, self._step + 1
        return Reply(None, messages=((self._player, text),))

    def _judge(self, text: Text, begin_ns: int) -> None:
        """Judges the action that the player announced for the previous step."""
        action = json.loads(text.content)[INTENT]
        for each in self._trainer.presses(self._before, action, begin_ns, self._random):
            heapq.heappush(self._waiting, each)

    def _presses(self, until: int) -> Iterator[FeedbackEvent]:
        while self._waiting and self._waiting[0][0] < until:
            time_ns, value = heapq.heappop(self._waiting)
            yield FeedbackEvent(
                number=next(self._numbers),
                time_ns=time_ns,
                value=value,
                key="p" if value > 0 else "n",
                annotator="simulated",
                device=Device.PROGRAM,
                step=self._step - 1,
            )

"""A TAMER agent as an actor of trials."""

import functools
import json
import weakref
from pathlib import Path
from typing import Any

from rlds_kit import __version__
from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark
from rlds_kit.shaping.feedback.text import received
from rlds_kit.shaping.learners.learning_thread import LearningThread
from rlds_kit.shaping.learners.saved_state import load_state, save_state
from rlds_kit.shaping.learners.tamer import Tamer
from rlds_kit.trials.actors.contract import ActorInfo, Experience, Reply, Text
from rlds_kit.trials.actors.registry import load

INTENT = "intent"
"""The key of the text that announces an action: `{"intent": action}`."""


class TamerActor:
    """Learns from feedback of other seats while it plays. A thread learns, so the game does not wait.

    Feedback comes as texts (`rlds_kit.shaping.feedback.to_text`) with the marks of the clock and the events. A trial
    records them, so `learn_from_trial` gives the same weights, bit for bit.

    Its configuration:

    - `learner`: a function, or "module:name" of one, that returns a new `Tamer`.
    - `state`: a file with the weights, which is read if it exists, and written at the end of the episode. None: each
        episode begins with new weights, and none are written.
    - `announce_to`: a seat that receives each action as text before it is done, because people judge an agent better if
      they see what it is going to do. None: no seat.
    - `waits`: True: the game waits before each action until all feedback received so far is learned, so that a trial
      can be repeated exactly.
    """

    version = __version__
    _tamer: Tamer
    _thread: LearningThread
    _state: Path | None
    _announce_to: str | None
    _waits: bool

    def reset(self, info: ActorInfo) -> None:
        """An episode begins.

        Raises:
          ValueError: the configuration has no learner, or the file of the state is of another one.
        """
        config = info.config
        if "learner" not in config:
            raise ValueError(f'expected {{"learner": ...}} as the configuration of {info.seat!r}, got {dict(config)}')
        state = config.get("state")
        self._tamer, self._state = load(config["learner"])(), None if state is None else Path(state)
        self._announce_to, self._waits = config.get("announce_to"), bool(config.get("waits", False))
        if self._state is not None and self._state.exists():
            load_state(self._tamer, self._state)
        self._tamer.begin()
        self._thread = LearningThread()
        weakref.finalize(self, self._thread.release)

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Reply:
        """The action with the best prediction of the current weights."""
        del reward
        for each in messages:
            self._take(received(each.content))
        if self._waits:
            self._thread.wait()
        action = self._tamer.act(observation)
        if self._announce_to is None:
            return Reply(action)
        return Reply(action, messages=((self._announce_to, json.dumps({INTENT: _plain(action)})),))

    def learn(self, experience: Experience) -> None:
        """Records that a step was done; feedback about it may arrive."""
        self._thread.put(functools.partial(self._tamer.show, experience.observation, experience.action))
        if experience.terminated or experience.truncated:
            self._thread.put(self._tamer.finish)
            self._thread.close()
            if self._state is not None:
                save_state(self._tamer, self._state)

    def _take(self, items: list[Mark | FeedbackEvent]) -> None:
        for each in items:
            self._thread.put(functools.partial(self._tamer.take, each))


def _plain(action: Any) -> Any:
    """Converts an action to a value for JSON."""
    return action.tolist() if hasattr(action, "tolist") else action

"""A training of a person, as a state machine without a clock, threads or a page: the caller passes the time."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import gymnasium
import numpy as np

from rlds_kit.base.arguments import integer
from rlds_kit.shaping.feedback.event import NOT_KNOWN, Device, FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark, MarkKind
from rlds_kit.shaping.feedback.stream import FeedbackStream
from rlds_kit.shaping.learners.learning_thread import LearningThread
from rlds_kit.shaping.learners.tamer import Tamer
from rlds_kit.shaping.trainings.position import Position
from rlds_kit.shaping.trainings.protocol import Protocol, Stage, StageKind
from rlds_kit.shaping.trainings.recorder import TrainingRecorder

MILLISECOND: Final = 1_000_000
Draw: TypeAlias = Callable[[gymnasium.Env[Any, Any], Any, Any], np.ndarray]
"""Draws what a person sees: the environment, its observation, and the applied action (None: the episode has ended)."""


class Counters(NamedTuple):
    """The numbers that are displayed beside the game.

    Attributes:
      game: number in this stage, from 1.
      step: in this game.
      total: steps of all games of this stage.
    """

    game: int
    step: int
    total: int


@dataclass(frozen=True, slots=True)
class Pressed:
    """The effect of a press, to be displayed immediately.

    Attributes:
      number: of the press in this game, from 0.
      total: sum of the feedback for the same step.
      about: the number of the judged step, from 0.
    """

    number: int
    total: float
    about: int


class TrainingSession:
    """The stages of a protocol, for one person.

    Args:
      protocol: of the training.
      env: to play.
      learner: makes an untrained agent.
      annotator: the trainer: a pseudonym is sufficient.
      recorder: of every step and press; None: nothing is recorded.
      now_ns: the time of the host's monotonic clock.
      seed: of the environment.
      about: metadata of each game, besides the protocol, the stage and the annotator.
      position: of an interrupted training; None: it begins.
      thread: in which the agent learns, so that no step waits for it; None: it learns between steps.
      draw: draws the picture, before each step; None: nothing is drawn.
      learned: a callback after the agent has learned a game, in the thread in which it learns, with the agent, its
        number, and that of the game in the training. None: no callback.

    Attributes:
      stage: the current one; None: the training is over.
      tamer: the agent.
      step_ms: current duration of a step.
      is_listening: whether the training receives keys.
      score: sum of the environment's rewards in this stage.
      shown: the displayed observation, and its action; None: the game is over.
      picture: of the step, `[height, width, 3]` uint8; None: nothing is drawn.
    """

    def __init__(  # noqa: PLR0913  independent keyword arguments
        self,
        protocol: Protocol,
        env: gymnasium.Env[Any, Any],
        learner: Callable[[], Tamer],
        *,
        annotator: str,
        recorder: TrainingRecorder | None = None,
        now_ns: int,
        seed: int = 0,
        about: dict[str, Any] | None = None,
        position: Position | None = None,
        thread: LearningThread | None = None,
        draw: Draw | None = None,
        learned: Callable[[Tamer, int, int], None] | None = None,
    ) -> None:
        position = Position() if position is None else position
        self.protocol, self._env, self._learner = protocol, env, learner
        self._annotator, self._recorder, self._about = annotator, recorder, about or {}
        self._thread, self._draw, self._learned = thread, draw, learned
        self.tamer, self.is_listening, self.score = position.agent or learner(), True, 0.0
        self._stream = FeedbackStream()
        self._seed: int | None = seed + position.sequence
        self._at, self._is_between = -1, False
        self._runs = set(position.runs)
        self._agent, self._sequence, self._attempt = position.agent_number, position.sequence, position.attempt
        self.stage: Stage | None = None
        self.step_ms, self._due_ns, self._is_official = 0, now_ns, False
        self._n_games = self._n_steps = self._n_presses = self._total = self._shown_ns = 0
        self._observation: Any = None
        self.shown: tuple[Any, Any] = (None, None)
        self.picture: np.ndarray | None = None
        self._latched: int | None = None
        self._pressed: dict[int, float] = {}
        if position.stage is None:
            self.next_stage(now_ns)
        else:
            self._resume(position, now_ns)

    @property
    def counters(self) -> Counters:
        """The number of the game, of its step, and of all steps of the stage."""
        return Counters(self._n_games, self._n_steps, self._total)

    @property
    def is_paused(self) -> bool:
        """Whether the game is paused."""
        return self._stream.clock.is_paused

    @property
    def due_ns(self) -> int:
        """The time of the next step."""
        return self._due_ns

    @property
    def is_official(self) -> bool:
        """Whether this is an official run, and the first one of its stage."""
        return self._is_official

    def next_stage(self, now_ns: int) -> None:
        """Ends a stage when the person has practised enough, or is satisfied with the agent."""
        self._end_game(now_ns)
        self._at += 1
        self.stage = None if self._at >= len(self.protocol.stages) else self.protocol.stages[self._at]
        self._begin_stage(now_ns)

    def close(self, now_ns: int) -> None:
        """Interrupts the game, if there is one: the training can be continued later from its recording."""
        self._end_game(now_ns)
        self.stage = None

    def again(self, now_ns: int) -> None:
        """Repeats the stage: a practice with a new agent, or another check; only the first run is official."""
        self._end_game(now_ns)
        self._begin_stage(now_ns)

    def tick(self, now_ns: int) -> bool:
        """Does the next step if it is due; returns whether it did."""
        if self.stage is None or self.is_paused or now_ns < self._due_ns:
            return False
        if self._is_between:
            self._go_on(now_ns)
            return self.tick(now_ns)
        self._due_ns = max(self._due_ns + self.step_ms * MILLISECOND, now_ns)  # at regular times, without bursts
        self._take(Mark(MarkKind.STEP, now_ns))
        action = self._action()
        self._show(action)
        self._observation, reward, terminated, truncated, _ = self._env.step(action)
        self.score += float(reward)
        self._n_steps, self._total = self._n_steps + 1, self._total + 1
        if self._recorder is not None:
            flags = {"terminated": terminated, "truncated": truncated}
            self._recorder.step(action, float(reward), self._observation, step_ms=self.step_ms, **flags)
        if terminated or truncated:
            self._take(Mark(MarkKind.END, self._due_ns))
            self._is_between = True
        return True

    def press(
        self,
        key: str,
        now_ns: int,
        *,
        sent_ns: int = NOT_KNOWN,
        frame: int = NOT_KNOWN,
        device: Device = Device.KEYBOARD,
        is_repeat: bool = False,
    ) -> Pressed | None:
        """Handles the press of a key.

        Args:
          key: the pressed key.
          now_ns: time of the press.
          sent_ns: time by the clock of its device; -1: unknown.
          frame: number of the displayed picture; -1: unknown.
          device: a key, or a button of the page.
          is_repeat: whether the device repeats it automatically: then it is ignored.

        Returns:
          Its effect, to be displayed immediately; None: it is not a key of feedback, or keys are ignored now.

        Raises:
          ValueError: the time is before the begin of the current step, which is impossible with a monotonic clock;
            nothing was recorded.
        """
        if self.stage is None or is_repeat or not self.is_listening or self.is_paused:
            return None
        if self.stage.kind is StageKind.CONTROL:
            self._latched = self.protocol.controls.get(key, self._latched)
            return None
        is_previous = self.protocol.counts_previous and not self._is_between
        value, about = self.protocol.keys.get(key), self._n_steps - 1 - is_previous
        if value is None or about < 0:
            return None
        if now_ns < self._shown_ns:
            raise ValueError(
                f"press: expected a time from {self._shown_ns} ns on, when step {self._n_steps - 1} began to be shown, "
                f"got {now_ns} ns; use one monotonic clock for ticks and presses"
            )
        event = FeedbackEvent(
            number=self._n_presses,
            time_ns=now_ns,
            value=value,
            key=key,
            annotator=self._annotator,
            device=device,
            sent_ns=sent_ns,
            step=self._n_steps - 1,
            frame=frame,
        )
        self._take(event)
        self._n_presses += 1
        self._pressed[about] = self._pressed.get(about, 0.0) + value
        return Pressed(event.number, self._pressed[about], about)

    def pause(self, now_ns: int) -> None:
        """Pauses the game."""
        if self._is_between:
            self._go_on(now_ns)
        if self.stage is not None and not self.is_paused:
            self._take(Mark(MarkKind.PAUSE, now_ns))

    def resume(self, now_ns: int) -> None:
        """Resumes the game, if it receives keys."""
        if self.stage is not None and self.is_paused and self.is_listening:
            self._take(Mark(MarkKind.RESUME, now_ns))
            self._due_ns = now_ns

    def focus(self, now_ns: int, *, has_focus: bool) -> None:
        """Sets whether the training receives keys; if not, the game pauses, and the person must resume it."""
        self.is_listening = has_focus
        if not has_focus:
            self.pause(now_ns)

    def set_speed(self, step_ms: int, now_ns: int) -> None:
        """Changes the duration of steps, which is recorded with each step.

        Raises:
          TypeError: the time is no integer.
          ValueError: the time is negative.
        """
        if integer("step_ms", step_ms) < 0:
            raise ValueError(f"step_ms: expected 0 or more milliseconds, got {step_ms}")
        self.step_ms = step_ms
        self._due_ns = min(self._due_ns, now_ns + step_ms * MILLISECOND)

    def _begin_stage(self, now_ns: int) -> None:
        self._n_games = self._total = 0
        self.score = 0.0
        if self.stage is None:
            self._is_between = False
            return
        if self.stage.is_new_agent:
            self.tamer = self._learner()
            self._agent += 1
        self._attempt += 1
        self.step_ms = self.stage.step_ms
        self._is_official = self.stage.is_official and self.stage.name not in self._runs
        self._runs.add(self.stage.name)
        self._begin_game(now_ns)

    def _resume(self, position: Position, now_ns: int) -> None:
        """Continues an interrupted stage; the interrupted game is not counted as one of its games."""
        self._at = next(at for at, each in enumerate(self.protocol.stages) if each.name == position.stage)
        stage = self.stage = self.protocol.stages[self._at]
        self._n_games, self.score, self._total = position.n_games, position.score, position.total
        self.step_ms, self._is_official = stage.step_ms, position.is_official
        self._go_on(now_ns)

    def _begin_game(self, now_ns: int) -> None:
        assert self.stage is not None  # noqa: S101  only called in a stage
        self._n_games, self._n_steps, self._n_presses = self._n_games + 1, 0, 0
        self._pressed, self._latched = {}, None
        self._due_ns, self._shown_ns, self._is_between = now_ns, 0, False
        self._stream = FeedbackStream()
        self._finish()
        self._learn(self.tamer.begin)
        self._observation, _ = self._env.reset(seed=self._seed)
        self._seed = None
        if self._recorder is not None:
            self._recorder.begin(self._observation, self._metadata(self.stage))
        self._sequence += 1
        self._picture(None)

    def _metadata(self, stage: Stage) -> dict[str, Any]:
        return {
            **self._about,
            "sequence": self._sequence,
            "attempt": self._attempt,
            "agent": self._agent,
            "protocol": self.protocol.name,
            "stage": stage.name,
            "kind": stage.kind.value,
            "game": self._n_games,
            "is_official": self._is_official,
            "annotator": self._annotator,
        }

    def _action(self) -> Any:
        """The action of the person's latest key, or that of the agent; a program acts before the first key."""
        assert self.stage is not None  # noqa: S101  steps are only done in a stage
        if self.stage.kind is not StageKind.CONTROL:
            return self.tamer.act(self._observation)
        return self._env.action_space.sample() if self._latched is None else self._latched

    def _learn(self, task: Callable[[], None]) -> None:
        """Calls a function of the agent, immediately or in its thread, in order."""
        if self._thread is None:
            task()
        else:
            self._thread.put(task)

    def _finish(self) -> None:
        """Lets the agent learn the feedback of the latest game, and then calls the callback."""
        self._learn(self.tamer.finish)
        if self._learned is not None and self._sequence:
            self._learn(functools.partial(self._learned, self.tamer, self._agent, self._sequence - 1))

    def _show(self, action: Any) -> None:
        self._learn(functools.partial(self.tamer.show, self._observation, action))
        self._picture(action)

    def _picture(self, action: Any) -> None:
        self.shown = (self._observation, action)
        if self._draw is not None:
            self.picture = self._draw(self._env, self._observation, action)

    def _take(self, item: Mark | FeedbackEvent) -> None:
        taken: Mark | FeedbackEvent | None = item
        if isinstance(item, Mark):
            self._stream.mark(item)
            self._shown_ns = item.time_ns if item.kind is MarkKind.STEP else self._shown_ns
        else:
            taken = self._stream.add(item)
        assert taken is not None  # noqa: S101  presses of a game have numbers
        if self._recorder is not None:
            self._recorder.take(taken)
        self._learn(functools.partial(self.tamer.take, taken))

    def _go_on(self, now_ns: int) -> None:
        """Begins the next game, or the next stage."""
        assert self.stage is not None  # noqa: S101  games are in stages
        if self.stage.n_games is not None and self._n_games >= self.stage.n_games:
            self.next_stage(now_ns)
        else:
            self._begin_game(now_ns)

    def _end_game(self, now_ns: int) -> None:
        """Interrupts the game, if there is one."""
        if self.stage is not None and not self._is_between:
            latest = self._stream.clock.marks[-1:]
            self._take(Mark(MarkKind.END, max(now_ns, *(each.time_ns for each in latest), 0)))
        self._finish()

"""A trial with an environment that answers at once, and a clock that is moved by hand."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from rlds_kit.trials import Chords, Pace, Phase, SeatConfig, Trial, TrialConfig, Turn, events, messages

SECOND = 1_000_000_000
KEYS = Chords({frozenset({"ArrowLeft"}): 1, frozenset({"ArrowRight"}): 2, frozenset({"ArrowLeft", "Space"}): 3})
M = TypeVar("M", bound=messages.Message)


def player(name: str = "player", **settings: Any) -> SeatConfig:
    """A seat for a person with three actions; 0 is the default one."""
    return SeatConfig(**{"name": name, "controller": lambda: KEYS, "default_action": 0, **settings})


class Table:
    """Runs a trial: steps are answered as `answers` says, ticks come when they were asked for.

    Args:
      config: of the trial.
      length: steps after which the environment terminates.
      slow: whether steps are answered only by `answer`.
    """

    def __init__(self, config: TrialConfig, length: int | None = None, *, slow: bool = False) -> None:
        self.trial = Trial(config)
        self.now, self.length, self.slow = 0, length, slow
        self.seen: list[messages.Message] = []
        self.pending: messages.StepEnvironment | None = None
        self.wake: int | None = None
        self.send(events.Begin)

    def send(self, kind: Any, *arguments: Any, **named: Any) -> list[messages.Message]:
        """Sends an event of this kind now, and answers what comes of it; returns all messages."""
        found = self.trial.handle(kind(self.now, *arguments, **named))
        self.seen += found
        for message in found:
            if isinstance(message, messages.WakeAt):
                self.wake = message.time_ns
        for message in list(found):
            if isinstance(message, messages.ResetEnvironment):
                found += self.send(events.EnvironmentReady)
            elif isinstance(message, messages.StepEnvironment):
                self.pending = message
                found += [] if self.slow else self.answer()
        return found

    def answer(self, reward: float = 1.0) -> list[messages.Message]:
        """The environment does the step that it was told to do."""
        assert self.pending is not None
        done, self.pending = self.pending, None
        is_over = done.step == self.length
        rewards: Mapping[str, float] = dict.fromkeys(done.facts, reward)
        return self.send(events.EnvironmentStepped, done.step, rewards, terminated=is_over)

    def wait(self, seconds: float) -> None:
        """Lets time pass."""
        end = self.now + round(seconds * SECOND)
        while self.wake is not None and self.wake <= end:
            self.now, self.wake = max(self.now, self.wake), None
            self.send(events.Tick)
        self.now = end

    def sit(self, seat: str = "player", holder: str = "ann", connection: str = "window") -> None:
        """A person sits down and is ready."""
        self.send(events.SeatTaken, seat, holder, connection)
        self.send(events.Ready, seat)

    def hold(self, *keys: str, seat: str = "player", frame: int | None = None) -> list[messages.Message]:
        """A person holds these keys and no others."""
        return self.send(events.KeysChanged, seat, dict.fromkeys(keys, 1.0), frame)

    def all(self, kind: type[M]) -> list[M]:
        """All messages of a kind that there were."""
        return [message for message in self.seen if isinstance(message, kind)]

    def phase(self) -> Phase:
        """Where the trial stands."""
        return self.trial.phase

    def is_asked(self) -> bool:
        """Whether the environment is to do a step."""
        return self.pending is not None

    @property
    def steps(self) -> list[messages.StepEnvironment]:
        """What the environment was told to do."""
        return self.all(messages.StepEnvironment)

    def actions(self, seat: str = "player") -> list[Any]:
        """What a seat did in every step."""
        return [step.actions[seat] for step in self.steps]

    @property
    def finish(self) -> messages.Finish:
        """How it ended."""
        (found,) = self.all(messages.Finish)
        return found


def clocked(fps: float = 10.0, seats: Sequence[SeatConfig] | None = None, **settings: Any) -> TrialConfig:
    """A trial with a clock."""
    return TrialConfig(seats=tuple(seats or (player(),)), pace=Pace(Turn.CLOCK, fps), **settings)


def turns(turn: Turn, seats: Sequence[SeatConfig] | None = None, **settings: Any) -> TrialConfig:
    """A trial in which people make steps."""
    return TrialConfig(seats=tuple(seats or (player(),)), pace=Pace(turn, 10.0), **settings)

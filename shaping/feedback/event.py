"""One event of feedback: a key, a button, a slider, a voice."""

import enum
import math
from dataclasses import dataclass
from typing import Final

from rlds_kit.base.arguments import integer

NOT_KNOWN: Final = -1
"""The value of an unknown number."""

_WHOLE: Final = ("number", "time_ns", "sent_ns", "step", "frame", "marks")


def whole(name: str, value: object) -> int:
    """The value as Python's int, which is stored in 64 bits.

    Raises:
      TypeError: it is no integer.
      ValueError: it does not fit into 64 bits.

    >>> whole("time_ns", 5)
    5
    """
    number = integer(name, value)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"expected {name} in 64 bits, got {number}")
    return number


class Device(enum.StrEnum):
    """The device of an event.

    >>> Device("keyboard") is Device.KEYBOARD
    True
    """

    KEYBOARD = "keyboard"
    """A key that was pressed; a key that repeats while it is down is no event."""
    BUTTON = "button"
    """A button of a page or of a gamepad."""
    SLIDER = "slider"
    """Anything with a continuous value."""
    VOICE = "voice"
    """A word that was recognised; the sound may be in `payload`."""
    PROGRAM = "program"
    """A simulated trainer, or a model of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackEvent:
    """A judgement of a person or a program about the current step. Two presses at the same time are two events.

    `annotator`, `device` and `number` identify an event: a second event with the same values is a copy.

    Attributes:
      number: of the event, counted by its device; unique for an annotator and a device within an episode.
      time_ns: time of arrival in nanoseconds, by the monotonic clock of the host, as the marks of `StepClock`.
      value: its sign and strength; finite. Presses add up.
      key: the pressed key, or the name of the button.
      annotator: the person or program that judges.
      device: that sent it.
      sent_ns: time of sending by the clock of the device, which may jump; -1: unknown. Credit never depends on it.
      step: number of the displayed step, from 0; -1: none or unknown.
      frame: number of the displayed picture; -1: unknown.
      marks: number of marks in the clock of steps on arrival; `FeedbackStream` sets it.
      confidence: from 0 to 1.
      payload: other data.

    Raises:
      TypeError: a number or a time is no integer, or a name is no text. Seconds would lose their fraction.
      ValueError: a value is not finite, a confidence is not in [0, 1], the annotator has no name, or an integer does
        not fit into 64 bits.

    >>> FeedbackEvent(number=0, time_ns=1_500_000_000, value=-1.0, key="n", annotator="anna").device
    <Device.KEYBOARD: 'keyboard'>
    """

    number: int
    time_ns: int
    value: float
    annotator: str
    key: str = ""
    device: Device = Device.KEYBOARD
    sent_ns: int = NOT_KNOWN
    step: int = NOT_KNOWN
    frame: int = NOT_KNOWN
    marks: int = NOT_KNOWN
    confidence: float = 1.0
    payload: bytes = b""

    def __post_init__(self) -> None:
        for name in _WHOLE:
            object.__setattr__(self, name, whole(name, getattr(self, name)))
        for name in ("value", "confidence"):
            object.__setattr__(self, name, float(getattr(self, name)))
        texts: tuple[object, ...] = (self.annotator, self.key)
        if not all(isinstance(each, str) for each in texts):
            raise TypeError(f"expected annotator and key to be text, got {self.annotator!r} and {self.key!r}")
        if not math.isfinite(self.value):
            raise ValueError(f"value of {self.identity}: expected a finite number, got {self.value!r}")
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"confidence of {self.identity}: expected a number in [0, 1], got {self.confidence!r}")
        if not self.annotator:
            raise ValueError("annotator: expected a name, got ''; a pseudonym is enough")

    @property
    def identity(self) -> tuple[str, str, int]:
        """Identifies the event in its episode: annotator, device and number."""
        return self.annotator, self.device.value, self.number

    @property
    def content(self) -> tuple[object, ...]:
        """The values that a copy of the event has in common with it, independent of its time of arrival."""
        return self.value, self.key, self.sent_ns, self.confidence, self.payload

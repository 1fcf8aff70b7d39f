"""What a person judges, when, and what was shown: a stream of events beside the clock of steps, stored as a layer."""

from rlds_kit.shaping.feedback.event import Device, FeedbackEvent
from rlds_kit.shaping.feedback.layer import LAYER, FeedbackWriter, read_feedback, write_feedback
from rlds_kit.shaping.feedback.step_clock import Mark, MarkKind, StepClock
from rlds_kit.shaping.feedback.stream import FeedbackStream
from rlds_kit.shaping.feedback.text import from_text, to_text

__all__ = [
    "LAYER",
    "Device",
    "FeedbackEvent",
    "FeedbackStream",
    "FeedbackWriter",
    "Mark",
    "MarkKind",
    "StepClock",
    "from_text",
    "read_feedback",
    "to_text",
    "write_feedback",
]

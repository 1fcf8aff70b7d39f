"""Feedback of people: a stream of events, and a clock of the steps that were shown; both are stored as a layer."""

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

"""Feedback as text."""

import dataclasses

import pytest

from rlds_kit.shaping.feedback import FeedbackEvent, Mark, from_text, to_text
from tests.shaping.streams import hard_stream


def test_text_has_marks_and_events_exactly() -> None:
    """But for the number of marks before an event, which the receiver counts."""
    stream, _ = hard_stream(200, seed=6)
    items: list[Mark | FeedbackEvent] = [
        *stream.clock.marks,
        *(dataclasses.replace(each, marks=-1) for each in stream.events),
    ]
    read = from_text(to_text(items))
    assert repr(read) == repr(items)


@pytest.mark.parametrize("text", ["", "Well done!", '{"intent": 1}'])
def test_other_text_is_no_feedback(text: str) -> None:
    assert from_text(text) is None


@pytest.mark.parametrize("text", ['{"feedback"', '{"feedback": [["JUMP", 5]]}', '{"feedback": [{"number": 1}]}'])
def test_text_that_begins_as_feedback_and_is_none_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="expected marks and events of feedback as `to_text` writes them"):
        from_text(text)

"""Feedback as text."""

import dataclasses

import numpy as np
import pytest

from rlds_kit.shaping.feedback import FeedbackEvent, Mark, MarkKind, from_text, to_text
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


_EVENT = '{"number": 0, "time_ns": 1, "value": 1, "annotator": "a", "device": "keyboard", "payload": ""'
HOSTILE = (
    '{"feedback": ' + "[" * 100_000,
    '{"feedback": [["STEP", 1e999]]}',
    '{"feedback": [["STEP", 1.5]]}',
    '{"feedback": [["STEP", "5"]]}',
    f'{{"feedback": [{_EVENT}, "value": 1{"0" * 400}}}]}}',
    f'{{"feedback": [{_EVENT}, "time_ns": 1{"0" * 40}}}]}}',
    f'{{"feedback": [{_EVENT}, "annotator": ["a"]}}]}}',
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_errors_of_one_kind(text: str) -> None:
    """Deep nests, numbers that are none or too large; the message is short."""
    with pytest.raises(ValueError, match="expected marks and events of feedback") as raised:
        from_text(text)
    assert len(str(raised.value)) < 400


def test_numbers_of_numpy_are_text() -> None:
    event = FeedbackEvent(number=0, time_ns=5, value=np.float32(0.5), annotator="a", step=np.int64(2))  # type: ignore[arg-type]  # what is tested
    assert from_text(to_text([Mark(MarkKind.STEP, np.int64(5)), event])) == [Mark(MarkKind.STEP, 5), event]  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("text", ['{"feedback"', '{"feedback": [["JUMP", 5]]}', '{"feedback": [{"number": 1}]}'])
def test_text_that_begins_as_feedback_and_is_none_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="expected marks and events of feedback as `to_text` writes them"):
        from_text(text)

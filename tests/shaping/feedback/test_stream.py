"""Events in the order in which they came, each once."""

import dataclasses

import pytest

from rlds_kit.shaping.credit import UniformWindow
from rlds_kit.shaping.feedback import FeedbackEvent, FeedbackStream, Mark, MarkKind
from tests.shaping.streams import MS, hard_stream, press


def test_two_presses_at_one_time_are_two_events() -> None:
    stream = FeedbackStream()
    assert stream.add(press(0, 50)) is not None
    assert stream.add(press(1, 50)) is not None
    assert len(stream.events) == 2


def test_an_event_that_arrives_twice_is_stored_once() -> None:
    """Also if the copy comes later; the time of the first counts."""
    stream = FeedbackStream()
    stream.add(press(0, 50))
    assert stream.add(press(0, 90)) is None
    assert [each.time_ns for each in stream.events] == [50_000_000]


def test_another_event_with_the_same_number_is_an_error() -> None:
    stream = FeedbackStream()
    stream.add(press(0, 50))
    with pytest.raises(ValueError, match="expected the event that came before with this annotator, device and number"):
        stream.add(press(0, 50, -1.0))


def test_an_event_has_the_number_of_marks_before_it() -> None:
    stream = FeedbackStream()
    stream.mark(Mark(MarkKind.STEP, 0))
    event = stream.add(press(0, 50))
    assert event is not None
    assert event.marks == 1


def test_a_stream_of_many_drops_only_copies() -> None:
    """Numbers of each device are complete and in order."""
    stream, n_copies = hard_stream(2_000, seed=1)
    assert n_copies > 0
    for annotator in ("anna", "ben"):
        numbers = [each.number for each in stream.events if each.annotator == annotator]
        assert numbers == list(range(len(numbers)))
    assert len(stream.events) == 2_002


def test_an_event_before_the_mark_before_it_is_stored_as_it_came_and_shown() -> None:
    """A clock that goes back; no step that began later gets credit."""
    stream = FeedbackStream()
    for time in (0, 1_000, 2_000):
        stream.mark(Mark(MarkKind.STEP, time * MS))
    stream.add(press(0, 2_100))
    stream.add(press(1, 900))
    assert [each.time_ns for each in stream.events] == [2_100 * MS, 900 * MS]
    assert [each.number for each in stream.early] == [1]
    assert UniformWindow(0.2, 0.6).credit(stream.events[1], stream.clock) == (0, (1.0,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": float("nan")}, "value of .*: expected a finite number, got nan"),
        ({"confidence": 2.0}, r"confidence of .*: expected a number in \[0, 1\], got 2.0"),
        ({"annotator": ""}, "annotator: expected a name"),
    ],
)
def test_events_that_cannot_be_are_errors(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(press(0, 50), **change)  # type: ignore[arg-type]  # values of one test each


def test_an_event_shows_what_identifies_it() -> None:
    event = FeedbackEvent(number=3, time_ns=0, value=1.0, annotator="anna")
    assert event.identity == ("anna", "keyboard", 3)


def test_seconds_are_no_nanoseconds() -> None:
    """A fraction would be lost when it is stored."""
    with pytest.raises(TypeError, match=r"time_ns to be an integer, got 12.7"):
        FeedbackEvent(number=0, time_ns=12.7, value=1.0, annotator="anna")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match=r"time_ns to be an integer, got nan"):
        FeedbackStream().mark(Mark(MarkKind.STEP, float("nan")))  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ValueError, match="time_ns in 64 bits"):
        FeedbackEvent(number=0, time_ns=1 << 63, value=1.0, annotator="anna")

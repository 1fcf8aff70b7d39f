"""The clock of steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.shaping.feedback import Mark, MarkKind, StepClock

STEP, PAUSE, RESUME, END = MarkKind


def test_a_pause_takes_no_played_time() -> None:
    """Played time does not advance from a pause until the game continues."""
    clock = StepClock([Mark(STEP, 0), Mark(PAUSE, 100), Mark(RESUME, 500), Mark(STEP, 550), Mark(END, 600)])
    assert [clock.played(time) for time in (50, 100, 300, 500, 520, 700)] == [50, 100, 100, 100, 120, 300]
    assert clock.bounds() == ([0, 150, 200], True)


def test_several_pauses_add_up() -> None:
    clock = StepClock([Mark(STEP, 0), Mark(PAUSE, 10), Mark(RESUME, 20), Mark(PAUSE, 30), Mark(RESUME, 60)])
    assert clock.played(100) == 60


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ([Mark(STEP, 5), Mark(STEP, 4)], "expected a time from 5 ns on, got 4 ns; use a monotonic clock"),
        ([Mark(STEP, 5), Mark(END, 6), Mark(STEP, 7)], "expected none after the end"),
        ([Mark(RESUME, 5)], "expected one of STEP, PAUSE, END while the game goes on, got RESUME"),
        ([Mark(PAUSE, 5), Mark(STEP, 6)], "expected one of RESUME, END during a pause, got STEP"),
    ],
)
def test_marks_that_cannot_be_are_errors(marks: list[Mark], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StepClock(marks)


@given(st.lists(st.tuples(st.sampled_from(MarkKind), st.integers(0, 20)), max_size=30), st.integers(0, 500))
def test_what_was_known_then_is_what_a_clock_of_then_shows(drawn: list[tuple[MarkKind, int]], time_ns: int) -> None:
    """The first n marks of a clock give what a clock of n marks gives, whatever came later."""
    clock, now = StepClock(), 0
    prefixes = [StepClock()]
    for kind, later in drawn:
        now += later
        try:
            clock.add(Mark(kind, now))
        except ValueError:
            continue
        prefixes.append(StepClock(clock.marks))
    for n, prefix in enumerate(prefixes):
        assert clock.bounds(n) == prefix.bounds()
        assert clock.played(time_ns, n) == prefix.played(time_ns)

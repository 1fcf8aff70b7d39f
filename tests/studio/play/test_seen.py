"""What a person saw, in any order in which it becomes known, and round trips."""

from itertools import permutations

from rlds_kit.studio.play.round_trips import LATEST, LEAST, RoundTrips
from rlds_kit.studio.play.seen import Seen

MILLISECOND = 1_000_000


def test_it_does_not_matter_what_is_known_first() -> None:
    """The browser's word on both pictures, and the server's on the step."""
    for order in permutations(("ahead", "painted", "done")):
        seen = Seen()
        for what in order:
            if what == "ahead":
                seen.shown_ahead(0, 1, 2, 10)
            elif what == "painted":
                seen.painted(0, 1, 30)
            else:
                seen.done(0, 1, 2, is_equal=True)
        assert seen.of(0, 1) == {"shown_ahead": True, "painted_ns": 10, "confirmed_ns": 30, "came_true": True}
        assert (seen.ahead, seen.wrong) == (1, 0)


def test_another_picture_or_another_action_did_not_come_true_and_is_counted_once() -> None:
    for done, is_equal in ((2, False), (1, True)):
        for order in (0, 1):
            seen = Seen()
            if order:
                seen.done(0, 1, done, is_equal=is_equal)
            seen.shown_ahead(0, 1, 2, 10)
            seen.shown_ahead(0, 1, 2, 11)
            if not order:
                seen.done(0, 1, done, is_equal=is_equal)
            seen.painted(0, 1, 30)
            assert seen.of(0, 1)["came_true"] is False
            assert (seen.ahead, seen.wrong) == (1, 1)


def test_a_true_picture_alone_has_one_time_and_what_nobody_saw_has_none() -> None:
    seen = Seen()
    seen.painted(0, 1, 30)
    seen.painted(0, 1, 50)  # again, because the view was changed
    seen.done(0, 1, 2, is_equal=True)
    assert seen.of(0, 1) == {"shown_ahead": False, "painted_ns": 30}
    assert seen.of(0, 2) == seen.of(1, 1) == {}
    for step in range(2, 80):
        seen.painted(0, step, step)
    assert seen.of(0, 1) == {}  # long ago


def test_a_round_trip_is_only_what_was_asked_for() -> None:
    """Numbers cannot be guessed or used twice; the median is of the latest ones."""
    trips = RoundTrips()
    for number in range(LEAST):
        assert trips.median_ms(0) is None
        number_sent = trips.ask(0)
        assert number_sent is not None
        assert trips.ask(0) is None
        assert not trips.answered(number_sent + 1, 1)
        assert trips.answered(number_sent, (number + 1) * MILLISECOND)
        assert not trips.answered(number_sent, 1)
    assert trips.median_ms(0) == 3.0
    for _ in range(LATEST):
        trips.answered(trips.ask(0) or 0, 40 * MILLISECOND)
    assert trips.median_ms(0) == 40.0


def test_a_link_that_does_not_answer_any_more_is_no_better_than_its_wait() -> None:
    trips = RoundTrips()
    for wait in (1, 1, 1, 90, 90):
        trips.answered(trips.ask(0) or 0, wait * MILLISECOND)
    trips.ask(0)
    assert trips.median_ms(10 * MILLISECOND) == 1.0
    assert trips.median_ms(400 * MILLISECOND) == 45.5

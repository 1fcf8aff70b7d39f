"""Assigners of credit: their closed forms and what their credits sum to."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.shaping.credit import Assigner, EmpiricalHistogram, GammaDelay, NextStep, UniformWindow, identity
from rlds_kit.shaping.credit.delays import DelayAssigner, lower_gamma
from rlds_kit.shaping.feedback import FeedbackStream, Mark, MarkKind, StepClock
from tests.shaping.streams import MS, hard_stream, press, regular_clock

DELAYS: list[DelayAssigner] = [
    UniformWindow(0.2, 0.6),
    UniformWindow(0.0, 4.0),
    GammaDelay(2.0, 0.28),
    GammaDelay(2.5, 0.1, shift=0.15),
    GammaDelay(0.7, 0.3),
    EmpiricalHistogram((0.1, 0.2, 0.5), (1, 3)),
]
ASSIGNERS: list[Assigner] = [*DELAYS, NextStep(), NextStep(lag=1)]


def test_t3_credit_of_a_uniform_window() -> None:
    """Steps of 150 ms, an event 700 ms after the begin: the window is 100 to 500 ms."""
    event = press(0, 700, marks=10)
    credit = UniformWindow(0.2, 0.6).credit(event, regular_clock(10, 150))
    assert credit.first == 0
    assert credit.weights == pytest.approx((50 / 400, 150 / 400, 150 / 400, 50 / 400))


def test_t3_credit_of_a_gamma_density_of_shape_2() -> None:
    """F(x) = 1 - (1 + x/theta) exp(-x/theta)."""
    credit = GammaDelay(2.0, 0.28).credit(press(0, 450, marks=20), regular_clock(20, 150))

    def f(x: float) -> float:
        return 1 - (1 + x / 0.28) * math.exp(-x / 0.28)

    assert credit.weights == pytest.approx((f(0.45) - f(0.3), f(0.3) - f(0.15), f(0.15)), abs=1e-14)


def test_t3_credit_of_a_histogram() -> None:
    """Of the delays a quarter is in 0.1 to 0.2 s, the rest in 0.2 to 0.5 s; steps of 100 ms."""
    credit = EmpiricalHistogram((0.1, 0.2, 0.5), (1, 3)).credit(press(0, 1000, marks=20), regular_clock(20))
    assert credit.first == 5
    assert credit.weights == pytest.approx((0.25, 0.25, 0.25, 0.25))


def test_t3_next_step_gives_all_to_the_step_that_is_shown() -> None:
    stream = FeedbackStream()
    for time in (0, 100, 200):
        stream.mark(Mark(MarkKind.STEP, time * MS))
    event = stream.add(press(0, 250))
    assert event is not None
    assert NextStep().credit(event, stream.clock) == (2, (1.0,))
    assert NextStep(lag=1).credit(event, stream.clock) == (1, (1.0,))
    assert NextStep(lag=3).credit(event, stream.clock) == (0, ())


@pytest.mark.parametrize("shape", [1, 2, 3, 9])
@pytest.mark.parametrize("x", [0.01, 0.5, 1.0, 2.9, 3.1, 9.0, 30.0])
def test_gamma_function_of_whole_shapes_has_its_closed_form(shape: int, x: float) -> None:
    """1 - exp(-x) times the sum of x^n / n! below the shape."""
    expected = 1 - math.exp(-x) * sum(x**n / math.factorial(n) for n in range(shape))
    assert lower_gamma(shape, x) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("shape", [0.5, 1.5])
def test_gamma_function_of_halves_has_its_closed_form(shape: float) -> None:
    """P(1/2, x) = erf(sqrt x); P(3/2, x) = that - 2 sqrt(x / pi) exp(-x)."""
    for x in (0.1, 0.9, 1.4, 2.6, 8.0):
        less = 0 if shape == 0.5 else 2 * math.sqrt(x / math.pi) * math.exp(-x)
        assert lower_gamma(shape, x) == pytest.approx(math.erf(math.sqrt(x)) - less, abs=1e-14)


@pytest.mark.parametrize("assigner", DELAYS, ids=repr)
def test_a_distribution_goes_from_0_to_1(assigner: DelayAssigner) -> None:
    values = [assigner.cdf(assigner.longest * at / 50) for at in range(51)]
    assert values == sorted(values)
    assert (assigner.cdf(0.0), assigner.cdf(-1.0)) == (0.0, 0.0)
    assert values[-1] == assigner.cdf(1e9) == 1.0
    assert assigner.cdf(assigner.longest * (1 - 1e-6)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("assigner", ASSIGNERS, ids=repr)
@given(st.lists(st.integers(1, 400), min_size=20, max_size=40), st.integers(0, 20_000))
def test_credit_within_an_episode_sums_to_1(assigner: Assigner, lengths: list[int], later: int) -> None:
    """At its begin to less, never to more; after its end, what is beyond it gets nothing."""
    clock, now = StepClock(), 0
    for length in lengths:
        clock.add(Mark(MarkKind.STEP, now * MS))
        now += length
    time_ms = later % now
    marks = sum(each.time_ns <= time_ms * MS for each in clock.marks)
    credit = assigner.credit(press(0, time_ms, marks=marks), clock)
    assert all(0 <= each <= 1 for each in credit.weights)
    assert credit.steps.stop <= marks
    assert sum(credit.weights) <= 1 + 1e-12
    longest = assigner.longest if isinstance(assigner, DelayAssigner) else 0.0
    lag = assigner.lag if isinstance(assigner, NextStep) else 0
    if time_ms / 1000 >= longest and marks > lag:
        assert sum(credit.weights) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("assigner", ASSIGNERS, ids=repr)
def test_credit_online_and_offline_is_the_same_bits(assigner: Assigner) -> None:
    """Whatever came later, and although events came late and clocks jumped."""
    stream, _ = hard_stream(300, seed=4)
    whole = stream.clock
    for event in stream.events:
        then = StepClock(whole.marks[: event.marks])
        assert assigner.credit(event, whole) == assigner.credit(event, then)


@pytest.mark.parametrize(("assigner", "expected"), [(UniformWindow(0.0, 0.2), 1.0), (NextStep(), 1.0)], ids=repr)
def test_marks_that_came_later_change_nothing(assigner: Assigner, expected: float) -> None:
    """Also those with a time before that of the event, which their host wrote late."""
    stream = FeedbackStream()
    stream.mark(Mark(MarkKind.STEP, 0))
    event = stream.add(press(0, 250))
    assert event is not None
    for mark in (Mark(MarkKind.STEP, 100 * MS), Mark(MarkKind.STEP, 200 * MS), Mark(MarkKind.END, 240 * MS)):
        stream.mark(mark)
        assert assigner.credit(event, stream.clock) == (0, (expected,))


def test_a_pause_does_not_move_credit() -> None:
    """A press after a pause of a minute is about the step before the pause."""
    stream = FeedbackStream()
    for kind, time in ((0, 0), (0, 100), (1, 200), (2, 60_200)):
        stream.mark(Mark(MarkKind(kind), time * MS))
    event = stream.add(press(0, 60_250))
    assert event is not None
    assert UniformWindow(0.1, 0.2).credit(event, stream.clock).weights == pytest.approx((0.5, 0.5))


def test_an_event_after_the_end_judges_the_last_steps() -> None:
    clock = regular_clock(5)
    event = press(0, 800, marks=len(clock))
    credit = UniformWindow(0.2, 0.6).credit(event, clock)
    assert credit.first == 2
    assert credit.weights == pytest.approx((0.25, 0.25, 0.25))
    assert NextStep().credit(event, clock) == NextStep(lag=1).credit(event, clock) == (4, (1.0,))
    assert NextStep(lag=2).credit(event, clock) == (3, (1.0,))
    assert UniformWindow(0.1, 0.2).credit(event, clock) == (0, ())


def test_an_identity_is_of_name_and_parameters() -> None:
    """Equal ones have the same, and no others."""
    assert len({identity(each) for each in ASSIGNERS}) == len(ASSIGNERS)
    assert identity(UniformWindow()) == identity(UniformWindow(0.2, 0.6)) == "1982658109cc0e9d"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformWindow(0.5, 0.5), "window: expected 0 <= low < high in seconds, got 0.5 and 0.5"),
        (lambda: GammaDelay(0.0), "gamma: expected shape > 0"),
        (lambda: EmpiricalHistogram((0.2, 0.1), (1,)), "edges: expected 2 increasing ones"),
        (lambda: EmpiricalHistogram((0.1, 0.2), (0,)), "counts: expected numbers from 0 on, and one above"),
        (lambda: NextStep(-1), "lag: expected 0 or more steps"),
    ],
)
def test_parameters_that_cannot_be_are_errors(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=message):
        make()


def test_parameters_that_are_none_are_errors() -> None:
    """Half a step of lag, a delay without an end; lists are taken as tuples."""
    with pytest.raises(TypeError, match="lag to be an integer"):
        NextStep(lag=0.5)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ValueError, match="edges: expected 2 increasing ones"):
        EmpiricalHistogram((0.2, float("inf")), (1,))
    listed = EmpiricalHistogram([0.2, 0.4], [1])  # type: ignore[arg-type]  # what is tested
    assert hash(listed) == hash(EmpiricalHistogram((0.2, 0.4), (1,)))


def test_what_comes_long_after_the_end_is_about_no_step() -> None:
    """The part of the credit for the time since the end is missing."""
    stream = FeedbackStream([], regular_clock(2, step_ms=1000))
    late = [stream.add(press(number, time)) for number, time in enumerate((2300, 9000))]
    found = [UniformWindow(0.2, 0.6).credit(each, stream.clock) for each in late if each is not None]
    assert [sum(each.weights) for each in found] == pytest.approx([0.75, 0.0])

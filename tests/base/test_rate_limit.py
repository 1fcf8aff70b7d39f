"""Token buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rate_limit
from rlds_kit.base.rate_limit import Limit, RateLimiter


class Clock:
    """A clock that returns the time to which it was set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@given(st.lists(st.floats(0, 5), max_size=100), st.integers(1, 5), st.floats(0.1, 10))
def test_never_more_than_the_limit(pauses: list[float], burst: int, per_second: float) -> None:
    """In any time, at most the burst and what the rate gives; and after the wait that was named, one more."""
    clock = Clock()
    limiter = RateLimiter(Limit(per_second, burst), clock)
    passed = []
    for pause in pauses:
        clock.seconds += pause
        if limiter.wait("ann") == 0:
            passed.append(clock.seconds)
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            assert last - first + 1 <= burst + (passed[last] - passed[first]) * per_second + 1e-6
    named = limiter.wait("ann")
    clock.seconds += named + 1e-6
    assert not named or limiter.wait("ann") == 0


def test_each_has_a_bucket_of_their_own() -> None:
    """A client with too many requests does not delay others."""
    limiter = RateLimiter(Limit(1, 1), Clock())
    assert [limiter.wait(key) == 0 for key in ("ann", "ann", "bob")] == [True, False, True]


def test_memory_is_bounded_and_who_waits_goes_on_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets that are full again are forgotten first."""
    monkeypatch.setattr(rate_limit, "MOST_BUCKETS", 100)
    clock = Clock()
    limiter = RateLimiter(Limit(1, 1), clock)
    for number in range(1000):
        clock.seconds += 0.02
        limiter.wait(str(number))
    assert len(limiter._buckets) <= 100
    assert limiter.wait("999") > 0


def test_memory_is_bounded_when_all_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the oldest are forgotten."""
    monkeypatch.setattr(rate_limit, "MOST_BUCKETS", 100)
    limiter = RateLimiter(Limit(1, 1), Clock())
    for number in range(1000):
        limiter.wait(str(number))
    assert len(limiter._buckets) <= 100
    assert limiter.wait("999") > 0

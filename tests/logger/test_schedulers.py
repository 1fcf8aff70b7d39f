"""Schedulers answer as EnvLogger's do, without the defects of those."""

import datetime as dt
from collections.abc import Callable

import dm_env
import numpy as np
import pytest

from rlds_kit import logger
from rlds_kit.logger import StepData


def _episode(length: int) -> list[StepData]:
    """Return the steps of an episode of so many rows."""
    kinds = [dm_env.StepType.FIRST, *[dm_env.StepType.MID] * (length - 2), dm_env.StepType.LAST]
    return [StepData(dm_env.TimeStep(kind, 0.0, 1.0, 0.0), None if kind.first() else 1) for kind in kinds]


def _answers(scheduler: Callable[[StepData], bool], lengths: list[int]) -> list[list[bool]]:
    return [[scheduler(step) for step in _episode(length)] for length in lengths]


def test_n_step_counts_over_all_episodes() -> None:
    """Every third step is selected, independent of the ends of episodes."""
    assert _answers(logger.NStepScheduler(3), [4, 4]) == [[True, False, False, True], [False, False, True, False]]


def test_list_step_keeps_the_listed_steps() -> None:
    """NumPy integers and Python's count the same."""
    assert _answers(logger.ListStepScheduler(np.array([1, 4])), [3, 3]) == [[False, True, False], [False, True, False]]


def test_bernoulli_step_repeats_with_its_seed() -> None:
    """The same seed tosses the same coins, and the probability is about right."""
    one, other = (_answers(logger.BernoulliStepScheduler(0.25, seed=7), [4000])[0] for _ in range(2))
    assert one == other
    assert 800 < sum(one) < 1200


@pytest.mark.parametrize(("probability", "expected"), [(0, False), (1, True)])
def test_bernoulli_extremes_are_certain(probability: float, expected: bool) -> None:
    """Probability 0 selects nothing, 1 everything."""
    assert set(_answers(logger.BernoulliStepScheduler(probability), [50])[0]) == {expected}
    assert set(_answers(logger.BernoulliEpisodeScheduler(probability), [50])[0]) == {expected}


def test_n_episode_keeps_whole_episodes() -> None:
    """Every second episode, all of it."""
    assert _answers(logger.NEpisodeScheduler(2), [2, 3, 2]) == [[True] * 2, [False] * 3, [True] * 2]


def test_n_episode_counts_episodes_without_a_last_step() -> None:
    """An episode that was cut short by a reset counts: EnvLogger's counter waits for a LAST that never comes."""
    scheduler = logger.NEpisodeScheduler(2)
    answers = [[scheduler(step) for step in _episode(5)[:3]] for _ in range(3)]
    assert answers == [[True] * 3, [False] * 3, [True] * 3]


def test_list_episode_keeps_the_listed_episodes() -> None:
    """All steps of the episodes in the list."""
    assert _answers(logger.ListEpisodeScheduler([1]), [2, 2, 2]) == [[False] * 2, [True] * 2, [False] * 2]


def test_bernoulli_episode_tosses_once_an_episode() -> None:
    """No episode is torn: EnvLogger's coin is tossed again before the last step."""
    answers = _answers(logger.BernoulliEpisodeScheduler(0.5, seed=3), [5] * 200)
    assert {len(set(answer)) for answer in answers} == {1}
    assert 60 < sum(answer[0] for answer in answers) < 140


@pytest.mark.parametrize("interval", [10, 10.0, dt.timedelta(seconds=10)])
def test_time_keeps_one_step_an_interval(interval: float | dt.timedelta) -> None:
    """The clock starts when the scheduler is made; missed intervals are not made up for."""
    now = iter([0.0, 9.0, 10.0, 19.0, 45.0, 46.0])
    scheduler = logger.TimeScheduler(interval, clock=lambda: next(now))
    assert [scheduler(step) for step in _episode(5)] == [False, True, False, True, False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: logger.NStepScheduler(0), "step_interval: expected a number above 0, got 0"),
        (lambda: logger.NEpisodeScheduler(-1), "episode_interval: expected a number above 0, got -1"),
        (lambda: logger.BernoulliStepScheduler(1.5), r"keep_probability: expected a number in \[0, 1\], got 1.5"),
        (lambda: logger.BernoulliEpisodeScheduler(float("nan")), r"in \[0, 1\], got nan"),
        (lambda: logger.ListStepScheduler([]), "desired_steps: expected at least one number, got none"),
        (lambda: logger.ListEpisodeScheduler([]), "desired_episodes: expected at least one number, got none"),
        (lambda: logger.ListStepScheduler(np.array([1.0])), "expected an array of int32 or int64, got float64"),
        (lambda: logger.ListEpisodeScheduler(["a"]), r"desired_episodes: expected integers, got \['a'\]"),  # type: ignore[list-item]  # the point of the test
        (lambda: logger.TimeScheduler(0), "interval: expected more than 0 seconds, got 0"),
        (lambda: logger.TimeScheduler(dt.timedelta(0)), "interval: expected more than 0 seconds, got 0:00:00"),
    ],
)
def test_bad_arguments_are_refused(make: Callable[[], object], message: str) -> None:
    """The error names the argument, the expected values, and the given one."""
    with pytest.raises(ValueError, match=message):
        make()

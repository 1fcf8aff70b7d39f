"""Schedulers select the steps, or the episodes, to record. The names and arguments are those of EnvLogger.

A scheduler is any callable that gets a `StepData` and returns whether to record its row. The first and the last row of
an episode are always recorded: without them an episode would have no start or end. No transition spans a gap: action
and reward of the row before it are undefined, and every row has `step_index`, the number of its step in the
environment.

An `EpisodeScheduler` selects whole episodes: it is called at the first step, and an episode that it does not select is
not recorded at all.
"""

import abc
import datetime as dt
import operator
import random
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import dm_env
import numpy as np


class StepData(NamedTuple):
    """The argument of a scheduler.

    Attributes:
      timestep: the result of the environment; a `GymnasiumTimeStep` for Gymnasium.
      action: that led to it; None on the first step of an episode.
      custom_data: the result of `step_fn`.
    """

    timestep: dm_env.TimeStep
    action: Any  # of whatever type the environment takes
    custom_data: Any = None  # whatever the user's function returns


Scheduler = Callable[[StepData], bool]


class EpisodeScheduler(abc.ABC):
    """Selects whole episodes: calls `choose` once for each, at its first step."""

    def __init__(self) -> None:
        self._keep = False

    @abc.abstractmethod
    def choose(self) -> bool:
        """Whether to record the episode that begins now."""

    def __call__(self, step: StepData) -> bool:
        """Whether to record the episode of `step`."""
        if step.timestep.first():
            self._keep = self.choose()
        return self._keep


class NStepScheduler:
    """Records every n-th step, counted over all episodes.

    Args:
      step_interval: records the calls 0, n, 2n, ...

    Raises:
      ValueError: the interval is not above 0.

    >>> every_second = NStepScheduler(2)
    >>> [every_second(StepData(dm_env.transition(0.0, 0.0), 1)) for _ in range(4)]
    [True, False, True, False]
    """

    def __init__(self, step_interval: int) -> None:
        self._interval = _positive("step_interval", step_interval)
        self._count = -1

    def __call__(self, _: StepData) -> bool:
        """Whether the count of calls is a multiple of the interval."""
        self._count += 1
        return self._count % self._interval == 0


class BernoulliStepScheduler:
    """Records each step with a given probability.

    Args:
      keep_probability: in [0, 1].
      seed: of the random numbers; None: not reproducible.

    Raises:
      ValueError: the probability is outside [0, 1].
    """

    def __init__(self, keep_probability: float, seed: int | None = None) -> None:
        self._probability = _probability(keep_probability)
        self._random = random.Random(seed)  # noqa: S311  sampling, not secrets

    def __call__(self, _: StepData) -> bool:
        """Decides at random."""
        return self._random.random() < self._probability


class ListStepScheduler:
    """Records the steps of a list, counted over all episodes.

    Args:
      desired_steps: numbers of the calls to record, from 0; an array must be of int32 or int64.

    Raises:
      ValueError: the list is empty, or has elements other than integers.
    """

    def __init__(self, desired_steps: Iterable[int] | np.ndarray) -> None:
        self._desired = _numbers("desired_steps", desired_steps)
        self._count = -1

    def __call__(self, _: StepData) -> bool:
        """Whether the count of calls is in the list."""
        self._count += 1
        return self._count in self._desired


class TimeScheduler:
    """Records a step if the interval has passed since the last recorded one, or since this scheduler was created.

    Args:
      interval: seconds or a timedelta, above 0.
      clock: returns seconds; must be monotonic.

    Raises:
      ValueError: the interval is not above 0.

    >>> now = iter([0.0, 5.0, 12.0, 13.0])
    >>> every_ten_seconds = TimeScheduler(10, clock=lambda: next(now))
    >>> [every_ten_seconds(StepData(dm_env.transition(0.0, 0.0), 1)) for _ in range(3)]
    [False, True, False]
    """

    def __init__(self, interval: float | dt.timedelta, *, clock: Callable[[], float] = time.monotonic) -> None:
        seconds = interval.total_seconds() if isinstance(interval, dt.timedelta) else interval
        if not seconds > 0:
            raise ValueError(f"interval: expected more than 0 seconds, got {interval}")
        self._seconds, self._clock = seconds, clock
        self._last = clock()

    def __call__(self, _: StepData) -> bool:
        """Whether the interval has passed; then it starts again from now, so missed times are not repeated."""
        now = self._clock()
        if now - self._last < self._seconds:
            return False
        self._last = now
        return True


class NEpisodeScheduler(EpisodeScheduler):
    """Records every n-th episode.

    Args:
      episode_interval: records the episodes 0, n, 2n, ...

    Raises:
      ValueError: the interval is not above 0.
    """

    def __init__(self, episode_interval: int) -> None:
        super().__init__()
        self._interval = _positive("episode_interval", episode_interval)
        self._count = -1

    def choose(self) -> bool:
        """Whether the count of episodes is a multiple of the interval."""
        self._count += 1
        return self._count % self._interval == 0


class BernoulliEpisodeScheduler(EpisodeScheduler):
    """Records each episode with a given probability: one random decision for each, at its first step.

    Args:
      keep_probability: in [0, 1].
      seed: of the random numbers; None: not reproducible.

    Raises:
      ValueError: the probability is outside [0, 1].
    """

    def __init__(self, keep_probability: float, seed: int | None = None) -> None:
        super().__init__()
        self._probability = _probability(keep_probability)
        self._random = random.Random(seed)  # noqa: S311  sampling, not secrets

    def choose(self) -> bool:
        """Decides at random."""
        return self._random.random() < self._probability


class ListEpisodeScheduler(EpisodeScheduler):
    """Records the episodes of a list.

    Args:
      desired_episodes: numbers of the episodes to record, from 0; an array must be of int32 or int64.

    Raises:
      ValueError: the list is empty, or has elements other than integers.
    """

    def __init__(self, desired_episodes: Iterable[int] | np.ndarray) -> None:
        super().__init__()
        self._desired = _numbers("desired_episodes", desired_episodes)
        self._count = -1

    def choose(self) -> bool:
        """Whether the count of episodes is in the list."""
        self._count += 1
        return self._count in self._desired


def _positive(name: str, number: int) -> int:
    if number <= 0:
        raise ValueError(f"{name}: expected a number above 0, got {number}")
    return number


def _probability(number: float) -> float:
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"keep_probability: expected a number in [0, 1], got {number}")
    return number


def _numbers(name: str, numbers: Iterable[int] | np.ndarray) -> frozenset[int]:
    if isinstance(numbers, np.ndarray) and numbers.dtype not in (np.int32, np.int64):
        raise ValueError(f"{name}: expected an array of int32 or int64, got {numbers.dtype}")
    try:
        found = frozenset(operator.index(number) for number in numbers)
    except TypeError as error:
        raise ValueError(f"{name}: expected integers, got {numbers!r}") from error
    if not found:
        raise ValueError(f"{name}: expected at least one number, got none")
    return found

"""RLDS's notebook on performance: many ways to add up rewards, all of which give the same sum.

https://github.com/google-research/rlds/blob/main/rlds/examples/rlds_performance.ipynb. Its sums are over all steps:
they count on the zero that stands for the reward of a last step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rlds_kit
from rlds_kit import transformations as rlt
from rlds_kit.base import rlds_types as rlds
from tests.pipelines.conftest import Reader
from tests.pipelines.recorded import Recorded

ZERO = np.float64(0)


def double_loop(episodes: tf.data.Dataset) -> Any:
    """Python goes through every step."""
    return sum(step[rlds.REWARD] for episode in episodes for step in episode[rlds.STEPS])


def double_loop_with_prefetch(episodes: tf.data.Dataset) -> Any:
    """The same; a thread for each episode makes it slower."""
    return sum(step[rlds.REWARD] for episode in episodes.prefetch(2) for step in episode[rlds.STEPS].prefetch(2))


def nested_reduce(episodes: tf.data.Dataset) -> Any:
    """A reduction of reductions."""

    def of_episode(episode: rlds.Episode) -> tf.Tensor:
        return episode[rlds.STEPS].reduce(ZERO, lambda total, step: step[rlds.REWARD] + total)

    return episodes.reduce(ZERO, lambda total, episode: of_episode(episode) + total)


def flat_reduce(episodes: tf.data.Dataset) -> Any:
    """One reduction over all steps."""
    steps = episodes.flat_map(lambda episode: episode[rlds.STEPS])
    return steps.reduce(ZERO, lambda total, step: step[rlds.REWARD] + total)


def batched_reduce(episodes: tf.data.Dataset) -> Any:
    """One reduction over batches of steps."""
    batches = episodes.flat_map(lambda episode: episode[rlds.STEPS]).batch(100)
    return batches.reduce(ZERO, lambda total, steps: tf.reduce_sum(steps[rlds.REWARD]) + total)


def sum_of_steps(episodes: tf.data.Dataset) -> Any:
    """What the library has for it."""
    return rlt.sum_nested_steps(episodes, lambda step: step[rlds.REWARD])


def sum_of_returns(episodes: tf.data.Dataset) -> Any:
    """The sum of `returns`, which does not count what stands on the last step."""
    return episodes.map(lambda episode: rlt.returns(episode[rlds.STEPS])).reduce(ZERO, tf.add)


SUMS = [
    double_loop,
    double_loop_with_prefetch,
    nested_reduce,
    flat_reduce,
    batched_reduce,
    sum_of_steps,
    sum_of_returns,
]


@pytest.mark.parametrize("total", SUMS)
def test_the_sum_of_all_rewards(
    pendulum: Recorded, episodes_of: Reader, total: Callable[[tf.data.Dataset], Any]
) -> None:
    """Every way gives the sum of the rewards that were obtained."""
    expected = sum(played.rewards.sum() for played in pendulum.played)
    np.testing.assert_allclose(total(episodes_of(pendulum)), expected)


def test_the_sum_of_all_rewards_with_numpy(pendulum: Recorded) -> None:
    """An episode's rewards are an array; nothing else is read."""
    total = sum(episode["reward"].sum() for episode in rlds_kit.open(pendulum.path).episodes)
    np.testing.assert_allclose(total, sum(played.rewards.sum() for played in pendulum.played))


def double(step: rlds.Step) -> rlds.Step:
    """A transformation of a step."""
    step[rlds.REWARD] *= 2
    return step


def doubled_one_by_one(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Calls the function for every step."""
    return episodes.flat_map(lambda episode: episode[rlds.STEPS]).map(double)


def doubled_in_batches(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Calls a vectorized function for every hundred steps."""
    batches = episodes.flat_map(lambda episode: episode[rlds.STEPS]).batch(100)
    return batches.map(lambda steps: tf.vectorized_map(double, steps)).unbatch()


def doubled_by_map_nested_steps(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Does so for every episode."""
    return rlt.map_nested_steps(episodes, double).flat_map(lambda episode: episode[rlds.STEPS])


def doubled_by_map_steps(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Does so for a stream of steps."""
    return rlt.map_steps(episodes.flat_map(lambda episode: episode[rlds.STEPS]), double)


def doubled_by_relabel(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Works on the rewards of a whole episode."""
    return episodes.flat_map(lambda episode: rlt.relabel(episode[rlds.STEPS], lambda steps: 2 * steps[rlds.REWARD]))


DOUBLES = [
    doubled_one_by_one,
    doubled_in_batches,
    doubled_by_map_nested_steps,
    doubled_by_map_steps,
    doubled_by_relabel,
]


@pytest.mark.parametrize("doubled", DOUBLES)
def test_every_reward_doubled(
    pendulum: Recorded, episodes_of: Reader, doubled: Callable[[tf.data.Dataset], tf.data.Dataset]
) -> None:
    """Every way gives each reward twice, in order."""
    found = [float(step[rlds.REWARD]) for step in doubled(episodes_of(pendulum))]
    np.testing.assert_array_equal(found, np.concatenate([[*(2 * played.rewards), 0.0] for played in pendulum.played]))

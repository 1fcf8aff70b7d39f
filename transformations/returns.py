"""Returns of episodes: the sum of all rewards, and the sums from each step on."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from rlds_kit.base.rlds_types import REWARD
from rlds_kit.base.step import STEP_INDEX
from rlds_kit.transformations.dense import Dense, as_one_episode, on_either_form
from rlds_kit.transformations.fields import count_steps, refuse_fields, require_fields, spread
from rlds_kit.transformations.segments import is_acted

RETURN_TO_GO = "return_to_go"


def returns(steps: Any, gamma: float = 1.0) -> Any:
    """The return of an episode: the sum over its actions of `gamma**k` times the reward of step `k`.

    The reward of the last step, and of a step before a gap, belongs to no action and is not counted. So where steps
    were left out, the sum is that of the recorded rewards, each discounted by the number of environment steps since the
    first recorded one. The field `discount` is not used.

    Args:
      steps: of one episode, in either form. Rewards may be a nest, for instance with a key for each agent.
      gamma: in [0, 1].

    Returns:
      A scalar, or a nest like that of the rewards: float64 where rewards are, else float32. The sum is float64.

    Raises:
      ValueError: there are no rewards, or `gamma` is out of its range.

    >>> steps = {"reward": tf.constant([1.0, 2.0, 0.0])}
    >>> float(returns(steps)), float(returns(steps, gamma=0.5))
    (3.0, 2.0)
    >>> all_returns = tf.data.Dataset.from_tensors(steps).map(returns)
    """
    dense = as_one_episode(steps)
    _check(dense, gamma)
    count = count_steps(dense)
    acted = is_acted(dense)
    number = dense[STEP_INDEX] - dense[STEP_INDEX][:1] if STEP_INDEX in dense else tf.range(count)
    weight = tf.pow(tf.constant(gamma, tf.float64), tf.cast(number, tf.float64))

    def total(reward: tf.Tensor) -> tf.Tensor:
        rewards = _defined(reward, acted)
        return tf.cast(tf.reduce_sum(rewards * spread(weight, rewards), 0), _dtype_of(reward))

    return tf.nest.map_structure(total, dense[REWARD])


@on_either_form
def returns_to_go(steps: Dense, gamma: float = 1.0) -> Dense:
    """Adds the field `return_to_go`: the sum of the rewards from each step on.

    At step `t` of an episode without gaps it is the sum over `k >= t` of `gamma**(k-t)` times the reward of step `k`.
    On the last step it is 0, because no action follows. Before a gap it is 0, too, and sums end there, because the
    rewards in the gap are unknown. The field `discount` is not used.

    Args:
      steps: of one episode, in either form. Rewards may be a nest, for instance with a key for each agent.
      gamma: in [0, 1].

    Returns:
      The steps with `return_to_go`, `[T, ...]` like the reward: float64 where rewards are, else float32. Sums are
      float64.

    Raises:
      ValueError: there are no rewards, there is a field `return_to_go`, or `gamma` is out of its range.

    >>> returns_to_go({"reward": tf.constant([1.0, 2.0, 0.0])}, gamma=0.5)["return_to_go"].numpy()
    array([2., 2., 0.], dtype=float32)
    """
    _check(steps, gamma)
    refuse_fields(steps, RETURN_TO_GO)
    count = count_steps(steps)
    acted = is_acted(steps)
    factor = tf.where(acted, tf.constant(gamma, tf.float64), 0)

    def suffix_sums(reward: tf.Tensor) -> tf.Tensor:
        rewards = _defined(reward, acted)
        return tf.cast(_sums_to_the_end(rewards, spread(factor, rewards), count), _dtype_of(reward))

    return {**steps, RETURN_TO_GO: tf.nest.map_structure(suffix_sums, steps[REWARD])}


def _check(steps: Mapping[str, Any], gamma: float) -> None:
    require_fields(steps, REWARD)
    if not 0 <= gamma <= 1:
        raise ValueError(f"expected gamma between 0 and 1, got {gamma}")


def _defined(reward: tf.Tensor, acted: tf.Tensor) -> tf.Tensor:
    rewards = tf.cast(reward, tf.float64)
    return tf.where(spread(acted, rewards), rewards, 0)


def _dtype_of(reward: tf.Tensor) -> tf.DType:
    return tf.float64 if reward.dtype == tf.float64 else tf.float32


def _sums_to_the_end(values: tf.Tensor, factors: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Solves `sums[t] = values[t] + factors[t] * sums[t+1]`, two tensors of equal rank and `count` rows, by doubling.

    After a round `sums[t]` reaches twice as many rows ahead, and `factors[t]` is the product over as many: log2(T)
    rounds, where a loop over steps would take T. Nothing is divided, so no power of gamma can vanish in a denominator.
    """

    def ahead(tensor: tf.Tensor, reach: tf.Tensor) -> tf.Tensor:
        return tf.concat([tensor[reach:], tf.zeros_like(tensor[:reach])], 0)

    def double(reach: tf.Tensor, sums: tf.Tensor, products: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        # Beyond a gap the product is 0, and a NaN from there must not come back as 0 * NaN.
        sums += tf.math.multiply_no_nan(ahead(sums, reach), products)
        return 2 * reach, sums, products * ahead(products, reach)

    any_length = tf.TensorShape([None, *values.shape[1:]])  # concatenation loses the static length
    _, sums, _ = tf.while_loop(
        lambda reach, *_: reach < count,
        double,
        (tf.constant(1, tf.int64), values, factors),
        (tf.TensorShape([]), any_length, tf.TensorShape([None, *factors.shape[1:]])),
    )
    return tf.ensure_shape(sums, values.shape)

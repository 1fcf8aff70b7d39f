"""Transitions: observation, action, reward and next observation."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from rlds_kit.base.arguments import positive
from rlds_kit.base.rlds_types import DISCOUNT, IS_LAST, IS_TERMINAL, OBSERVATION, REWARD
from rlds_kit.base.step import STEP_INDEX
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.fields import (
    count_steps,
    gather_rows,
    latest_true,
    refuse_fields,
    require_fields,
    spread,
    zero_unless,
)
from rlds_kit.transformations.segments import OBSERVATION_VALID, is_defined, segments

_OF_NEXT = (OBSERVATION, IS_LAST, IS_TERMINAL, OBSERVATION_VALID)
"""Fields of the next step that a transition has, as `next_...`."""


@on_either_form
def transitions(steps: Dense, n: int = 1, gamma: float = 1.0) -> Dense:
    """The n-step transitions of an episode, one for every action.

    The transition of step `t` sums `m` rewards: `n`, or fewer where the episode or a gap ends sooner. With the recorded
    discounts `d` and rewards `r` it has

    - `reward`: the sum over `k < m` of `gamma**k * d[t] * ... * d[t+k-1] * r[t+k]`;
    - `discount`: `gamma**m * d[t] * ... * d[t+m-1]`, and 0 if step `t+m` is terminal;
    - `next_observation`, `next_is_last`, `next_is_terminal`: of step `t+m`;
    - `n_steps`: `m`;
    - all other fields of step `t`, apart from `is_last` and `is_terminal`, which would never be set.

    So `reward + discount * value(next_observation)` is the target of a value (Sutton and Barto, "Reinforcement
    Learning", 2nd edition, equation 7.1, with a discount for each step). With `n=1` and no gaps there are `T - 1`
    transitions, and nothing is computed but slices.

    Where the observation after the last action is missing (`observation_valid` is False) nothing can be bootstrapped
    from it. If that step is terminal the transition remains, because its discount is 0. If not, the transition ends at
    the last observation, and one that cannot be shortened is left out. In place of `observation_valid`,
    transitions have `next_observation_valid`.

    Args:
      steps: of one episode, in either form; `observation` and `is_last` are needed. Without `is_terminal` no step is
        terminal, without `discount` it is 1.0. Rewards and discounts may be nests, for instance with a key for each
        agent; a single discount is used for all rewards.
      n: how many rewards to sum; memory grows with `n` times the length of the episode.
      gamma: the agent's own discount, in [0, 1].

    Returns:
      `[M, ...]` of each field, in the form of the argument. `reward` and `discount` keep floating dtypes (sums are
      computed in float64); a discount of integers becomes float32, and so do rewards of integers if `n > 1`. `n_steps`
      is int32.

    Raises:
      TypeError: `n` is no integer.
      ValueError: `n` or `gamma` is out of its range; fields are missing, would be overwritten or do not fit together.

    >>> steps = {
    ...     "observation": [10, 11, 12], "action": [0, 1, 0], "reward": [1.0, 2.0, 0.0],
    ...     "is_first": [True, False, False], "is_last": [False, False, True], "is_terminal": [False, False, True],
    ... }
    >>> steps = {field: tf.constant(values) for field, values in steps.items()}
    >>> two_step = transitions(steps, n=2, gamma=0.5)
    >>> two_step["reward"].numpy().tolist(), two_step["discount"].numpy().tolist()
    ([2.0, 2.0], [0.0, 0.0])
    >>> two_step["observation"].numpy().tolist(), two_step["next_observation"].numpy().tolist()
    ([10, 11], [12, 12])
    """
    n = positive("n", n)
    _check_arguments(steps, gamma)
    steps = {
        DISCOUNT: tf.ones_like(steps[IS_LAST], tf.float32),
        IS_TERMINAL: tf.zeros_like(steps[IS_LAST]),
        **steps,
    }
    following = {field: steps[field] for field in _OF_NEXT if field in steps}
    current = {field: value for field, value in steps.items() if field == OBSERVATION or field not in _OF_NEXT}
    if n == 1 and _is_whole(steps):  # slices share memory, `tf.gather` copies
        current, following = _slice(current, 0, -1), _slice(following, 1, None)
        count = tf.ones_like(following[IS_LAST], tf.int32)
    else:
        first, end = _spans(steps, n)
        current = _slice(current, 0, -1) if _is_whole(steps) else gather_rows(current, first)
        following, count = gather_rows(following, end), end - first
    current |= _scaled(current, gamma) if n == 1 else _obtained(steps, first, count, gamma)
    current[DISCOUNT] = zero_unless(~following[IS_TERMINAL], current[DISCOUNT])
    return {
        **current,
        **{f"next_{field}": value for field, value in following.items()},
        "n_steps": tf.cast(count, tf.int32),
    }


def _check_arguments(steps: Mapping[str, Any], gamma: float) -> None:
    if not 0 <= gamma <= 1:
        raise ValueError(f"expected gamma between 0 and 1, got {gamma}")
    require_fields(steps, OBSERVATION, IS_LAST)
    refuse_fields(steps, *[f"next_{field}" for field in _OF_NEXT], "n_steps")


def _spans(steps: Mapping[str, Any], n: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The steps that each transition begins and ends at; two of `[M]` int64."""
    count = count_steps(steps)
    row = tf.range(count)
    end = tf.minimum(row + n, segments(steps).last)
    if _is_whole(steps):
        return row[:-1], end[:-1]
    observed = is_defined(steps, OBSERVATION)
    end = tf.gather(latest_true(observed | steps[IS_TERMINAL]), end)
    first = tf.where(observed & (end > row))[:, 0]
    return first, tf.gather(end, first)


def _is_whole(steps: Mapping[str, Any]) -> bool:
    """Whether it is known in advance that there are no gaps and all observations."""
    return STEP_INDEX not in steps and OBSERVATION_VALID not in steps


def _obtained(steps: Mapping[str, Any], first: tf.Tensor, count: tf.Tensor, gamma: float) -> dict[str, Any]:
    """Discounted rewards and products of discounts, computed in windows `[M, n]`."""
    offset = tf.range(tf.reduce_max(tf.concat([count, [0]], 0)))
    inside = offset < count[:, tf.newaxis]
    rows = tf.where(inside, first[:, tf.newaxis] + offset, 0)

    def window(tensor: tf.Tensor, scale: float, outside: float) -> tf.Tensor:
        values = tf.cast(tf.gather(tensor, rows), tf.float64) * scale
        return tf.where(spread(inside, values), values, outside)

    def total(reward: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
        weight = spread(tf.math.cumprod(factor, axis=1, exclusive=True), reward[:, tf.newaxis])
        weighed = tf.math.multiply_no_nan(window(reward, 1, 0), weight)  # a reward without weight may be infinite
        return tf.cast(tf.reduce_sum(weighed, 1), _float_of(reward))

    factors = tf.nest.map_structure(lambda leaf: window(leaf, gamma, 1), steps[DISCOUNT])
    product = tf.nest.map_structure(
        lambda factor, leaf: tf.cast(tf.reduce_prod(factor, 1), _float_of(leaf)), factors, steps[DISCOUNT]
    )
    if REWARD not in steps:
        return {DISCOUNT: product}
    own = _discount_of_each(steps[REWARD], factors)
    return {DISCOUNT: product, REWARD: tf.nest.map_structure(total, steps[REWARD], own)}


def _discount_of_each(reward: Any, discount: Any) -> Any:
    """The discounts as a nest like that of the rewards; a single discount is used for all."""
    if not tf.nest.is_nested(discount):
        return tf.nest.map_structure(lambda _: discount, reward)
    try:
        tf.nest.assert_same_structure(reward, discount)
    except (TypeError, ValueError) as error:
        raise ValueError("expected one discount, or a nest of them with the keys of the nest of rewards") from error
    return discount


def _scaled(current: Mapping[str, Any], gamma: float) -> dict[str, Any]:
    def scale(leaf: tf.Tensor) -> tf.Tensor:
        if gamma == 1:
            return tf.cast(leaf, _float_of(leaf))
        return tf.cast(tf.cast(leaf, tf.float64) * gamma, _float_of(leaf))

    return {DISCOUNT: tf.nest.map_structure(scale, current[DISCOUNT])}


def _slice(tree: Any, begin: int, end: int | None) -> Any:
    return tf.nest.map_structure(lambda leaf: leaf[begin:end], tree)


def _float_of(tensor: tf.Tensor) -> tf.DType:
    return tensor.dtype if tensor.dtype.is_floating else tf.float32

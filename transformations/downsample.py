"""Selects every k-th step of an episode, with the sum of the rewards in between."""

from collections.abc import Callable
from typing import Any, TypeAlias

import tensorflow as tf

from rlds_kit.base.arguments import positive
from rlds_kit.base.rlds_types import ACTION, DISCOUNT, REWARD
from rlds_kit.base.step import STEP_INDEX
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.fields import count_steps, gather_rows, spread, zero_unless
from rlds_kit.transformations.segments import is_acted, segments

ChooseAction: TypeAlias = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""Makes one action of each of G groups, `[G, ...]`, from actions `[G, k, ...]` and whether they were taken, `[G, k]`.

In a short group the last ones were not. Of the last step none was taken, and what is made of it is not used.
"""


def only_action(actions: tf.Tensor, is_taken: tf.Tensor) -> tf.Tensor:
    """The action of each group, which must be the same in all of its steps.

    Raises:
      tf.errors.InvalidArgumentError: actions of a group differ.

    >>> only_action(tf.constant([[2, 2], [3, 0]]), tf.constant([[True, True], [True, False]])).numpy()
    array([2, 3], dtype=int32)
    """
    first = actions[:, 0]
    same = tf.equal(actions, first[:, tf.newaxis]) | ~spread(is_taken, actions)
    message = (
        "expected the same action in all steps that become one step, but actions differ. Choose one: "
        "`downsample(steps, skip, choose_action=first_action)`, a function of your own, or leave the field out"
    )
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(same), [message])]):
        return tf.identity(first)


def first_action(actions: tf.Tensor, is_taken: tf.Tensor) -> tf.Tensor:  # noqa: ARG001  part of `ChooseAction`
    """The action at the first step of each group.

    >>> first_action(tf.constant([[2, 5], [3, 0]]), tf.constant([[True, True], [True, False]])).numpy()
    array([2, 3], dtype=int32)
    """
    return actions[:, 0]


@on_either_form
def downsample(steps: Dense, skip: int, choose_action: ChooseAction = only_action) -> Dense:
    """Selects every `skip`-th step, as if the agent had acted only there and each action had been repeated.

    A remaining step represents the steps up to the next remaining one. Its reward is the sum of theirs, so that none is
    lost, and its discount is the product of theirs. Other fields are those of the step itself.
    Counting restarts after a gap. The last step, and the last before a gap, always remain, so the group before
    them may have fewer than `skip` steps.

    Args:
      steps: of one episode, in either form.
      skip: how many steps become one.
      choose_action: makes one action from those of a group; `only_action` and `first_action` are such functions. It is
        called for each tensor if the action is a nest.

    Returns:
      The remaining steps, in the form of the argument. Rewards of integers and bools become int64, and
      floating-point sums are computed in float64. `step_index`, if there is one, counts the remaining steps, and still
      shows the gaps.

    Raises:
      TypeError: `skip` is no integer.
      ValueError: `skip` is below 1.
      tf.errors.InvalidArgumentError: actions of a group differ, and `choose_action` is `only_action`.

    >>> steps = {"observation": tf.constant([10, 11, 12, 13]), "reward": tf.constant([1.0, 2.0, 3.0, 0.0])}
    >>> every_second = downsample(steps, 2)
    >>> every_second["observation"].numpy().tolist(), every_second["reward"].numpy().tolist()
    ([10, 12, 13], [3.0, 3.0, 0.0])
    """
    skip = positive("skip", skip)
    row = tf.range(count_steps(steps))
    first, last = segments(steps)
    remains = ((row - first) % skip == 0) | (row == last)
    remaining, group = tf.where(remains)[:, 0], tf.cumsum(tf.cast(remains, tf.int64)) - 1
    acted = is_acted(steps)
    special = (ACTION, REWARD, DISCOUNT)
    result: Dense = gather_rows({name: value for name, value in steps.items() if name not in special}, remaining)
    if ACTION in steps:
        result[ACTION] = _choose(steps[ACTION], remaining, group, acted, skip, choose_action)
    if REWARD in steps:
        result[REWARD] = tf.nest.map_structure(lambda reward: _sum(reward, acted, group), steps[REWARD])
    if DISCOUNT in steps:
        product = tf.nest.map_structure(lambda discount: _multiply(discount, acted, group), steps[DISCOUNT])
        result[DISCOUNT] = zero_unless(tf.gather(acted, remaining), product)
    if STEP_INDEX in steps:
        gaps = tf.cumsum(tf.cast(row == first, tf.int64)) - 1
        index = tf.range(tf.size(remaining, tf.int64)) + tf.gather(gaps, remaining)
        result[STEP_INDEX] = tf.cast(index, steps[STEP_INDEX].dtype)
    return {name: result[name] for name in steps}


def _choose(
    action: Any, remaining: tf.Tensor, group: tf.Tensor, acted: tf.Tensor, skip: int, choose_action: ChooseAction
) -> Any:
    """One action for each group, and zeros for groups without one."""
    rows = remaining[:, tf.newaxis] + tf.range(skip, dtype=tf.int64)
    inside = rows < tf.size(acted, tf.int64)
    rows = tf.where(inside, rows, 0)
    of_group = tf.equal(tf.gather(group, rows), tf.range(tf.size(remaining, tf.int64))[:, tf.newaxis])
    is_taken = inside & of_group & tf.gather(acted, rows)
    chosen = tf.nest.map_structure(lambda leaf: choose_action(tf.gather(leaf, rows), is_taken), action)
    return zero_unless(tf.gather(acted, remaining), chosen)


def _sum(reward: tf.Tensor, acted: tf.Tensor, group: tf.Tensor) -> tf.Tensor:
    wide, out = (tf.float64, reward.dtype) if reward.dtype.is_floating else (tf.int64, tf.int64)
    return tf.cast(tf.math.segment_sum(zero_unless(acted, tf.cast(reward, wide)), group), out)


def _multiply(discount: tf.Tensor, acted: tf.Tensor, group: tf.Tensor) -> tf.Tensor:
    wide = tf.cast(discount, tf.float64)
    factors = tf.where(spread(acted, wide), wide, 1)
    return tf.cast(tf.math.segment_prod(factors, group), discount.dtype)

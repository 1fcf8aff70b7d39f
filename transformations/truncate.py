"""Ending an episode where a condition is met."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from rlds_kit.base import rlds_types
from rlds_kit.base.rlds_types import DISCOUNT, IS_LAST, IS_TERMINAL
from rlds_kit.base.step import ACTED_FIELDS
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.fields import count_rows, count_steps, require_fields, require_when_run, zero_unless

Condition = Callable[[Dense], tf.Tensor] | str
"""Whether each step meets it, `[T]` bool, computed from dense steps; or the name of a bool field."""


@on_either_form
def truncate(steps: Dense, condition: Condition, is_terminal: bool = False) -> Dense:
    """Ends an episode at the first step that meets a condition. That step remains.

    It becomes a normal last step: `is_last` is set, and action, reward and discount are zeros. So the episode loses the
    reward for the action of that step. To keep it, end the episode one step later: `lambda steps: tf.concat([[False],
    steps["reward"][:-1] > 5], 0)`.

    An episode without a step that meets the condition does not change.

    Args:
      steps: of one episode, in either form.
      condition: the name of a bool field `[T]`, such as "tag:placed", or a function of dense steps that gives such a
        tensor: `lambda steps: steps["reward"] > 5`.
      is_terminal: whether the step that meets the condition is a terminal state, and not only the end of the data. If
        so, the step before it gets discount 0. A step that was terminal stays so.

    Raises:
      ValueError: there is no such field, or the condition is not bool or not of shape `[T]`.

    >>> steps = {"reward": tf.constant([1.0, 9.0, 1.0, 0.0]), "is_last": tf.constant([False, False, False, True])}
    >>> short = truncate(steps, lambda steps: steps["reward"] > 5)
    >>> short["reward"].numpy().tolist(), short["is_last"].numpy().tolist()
    ([1.0, 0.0], [False, True])
    """
    require_fields(steps, IS_LAST)
    count = count_steps(steps)
    is_met = _evaluate(condition, steps, count)
    remaining = tf.reduce_sum(tf.cast(tf.cumsum(tf.cast(is_met, tf.int64), exclusive=True) == 0, tf.int64))
    # Later steps are removed, so their values do not matter.
    if is_terminal:
        steps = {IS_TERMINAL: tf.zeros_like(steps[IS_LAST]), **steps}
        steps[IS_TERMINAL] |= is_met
    steps = {**steps, IS_LAST: steps[IS_LAST] | is_met}
    for field in (field for field in ACTED_FIELDS if field in steps):
        steps[field] = zero_unless(~is_met, steps[field])
    if is_terminal and DISCOUNT in steps:
        leads_there = tf.concat([is_met[1:], tf.zeros_like(is_met[:1])], 0)
        steps[DISCOUNT] = zero_unless(~leads_there, steps[DISCOUNT])
    short: Dense = tf.nest.map_structure(lambda leaf: leaf[:remaining], steps)
    return short


def _evaluate(condition: Condition, steps: Mapping[str, Any], count: tf.Tensor) -> tf.Tensor:
    if isinstance(condition, str):
        require_fields(steps, condition)
        is_met = steps[condition]
    else:
        is_met = tf.convert_to_tensor(condition(dict(steps)))
    if not isinstance(is_met, tf.Tensor) or is_met.dtype != tf.bool or is_met.shape.rank not in (1, None):
        raise ValueError(f"expected a condition that gives bool of shape [T], one for each step; got {is_met}")
    rows = count_rows(is_met)
    return require_when_run(
        is_met,
        rows == count,
        "expected a condition that gives one bool for each step; got",
        rows,
        "for",
        count,
        "steps",
    )


def truncate_after_condition(
    steps_dataset: tf.data.Dataset, truncate_condition: Callable[[rlds_types.Step], Any]
) -> tf.data.Dataset:
    """Takes the steps up to and including the first that satisfies a condition; all of them if none does.

    No field changes: `is_last` of the new final step stays as it was. Of the steps behind it one is read.

    Args:
      steps_dataset: dataset of steps.
      truncate_condition: from a step to a bool scalar.

    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 5.0, 2.0]})
    >>> [float(step["reward"]) for step in truncate_after_condition(steps, lambda step: step["reward"] > 3)]
    [1.0, 5.0]
    """

    def scan(over: tf.Tensor, step: Any) -> tuple[tf.Tensor, Any]:
        return truncate_condition(step), (step, over)

    scanned = steps_dataset.scan(tf.constant(False), scan)
    return scanned.take_while(lambda _, over: not over).map(lambda step, _: step)

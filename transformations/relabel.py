"""New rewards in place of the recorded ones."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rlds_kit.base.rlds_types import OBSERVATION, REWARD
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.fields import count_rows, count_steps, leaves, require_when_run, with_leaves, zero_unless
from rlds_kit.transformations.segments import is_acted

NEXT_OBSERVATION = "next_observation"


@on_either_form
def relabel(steps: Dense, reward_fn: Callable[[Dense], Any]) -> Dense:
    """Replaces the rewards of an episode by the result of a function of its steps.

    Where reward is undefined, on the last step and before a gap, it is 0 whatever the function returns.

    Args:
      steps: of one episode, in either form; they need not have rewards.
      reward_fn: gets the dense steps and gives `[T]` numbers, or a nest of such, for instance with a key for each
        agent. Row `t` is the reward for the action of step `t`. Its argument has `next_observation`, the
        observation of the next step (repeated on the last step), so the reward may depend on the result of the action:
        `lambda steps: -tf.norm(steps["next_observation"] - goal, axis=-1)`. If the final observation is missing, the
        function must handle that. It gets the whole episode, so the reward may also depend on later steps, such as the
        last observation.

    Returns:
      The steps, with `reward` in the dtype that the function gave.

    Raises:
      TypeError: the function returns something other than numbers.
      ValueError: it does not return one number for each step.

    >>> steps = {"observation": tf.constant([1.0, 4.0, 9.0]), "reward": tf.constant([0.0, 0.0, 0.0])}
    >>> relabel(steps, lambda steps: steps["next_observation"] - steps["observation"])["reward"].numpy()
    array([3., 5., 0.], dtype=float32)
    """
    count = count_steps(steps)
    given = dict(steps)
    if OBSERVATION in steps:
        shifted = tf.nest.map_structure(lambda leaf: tf.concat([leaf[1:], leaf[-1:]], 0), steps[OBSERVATION])
        given = {NEXT_OBSERVATION: shifted, **steps}
    rewards = tf.nest.map_structure(tf.convert_to_tensor, reward_fn(given))
    checked = {path: _checked(path, reward, count) for path, reward in leaves(rewards).items()}
    return {**steps, REWARD: zero_unless(is_acted(steps), with_leaves(rewards, checked))}


def _checked(path: str, reward: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    name = f"{REWARD}/{path}" if path else REWARD
    if not (reward.dtype.is_floating or reward.dtype.is_integer):
        raise TypeError(f"expected a reward_fn that gives numbers; {name} is {reward.dtype.name}")
    if reward.shape.rank not in (1, None):
        raise ValueError(f"expected a reward_fn that gives [T], one number for each step; {name} is {reward.shape}")
    rows = count_rows(reward)
    explanation = f"expected a reward_fn that gives one number for each step; {name} has"
    return require_when_run(reward, rows == count, explanation, rows, "for", count, "steps")

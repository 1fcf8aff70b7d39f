"""Absorbing states: adds a transition from each terminal state to itself."""

from collections.abc import Callable
from typing import Any, Final

import tensorflow as tf

from rlds_kit.base.rlds_types import ACTION, DISCOUNT, IS_FIRST, IS_LAST, IS_TERMINAL, OBSERVATION, REWARD
from rlds_kit.base.step import STEP_INDEX
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.fields import count_steps, leaves, refuse_fields, require_fields, spread
from rlds_kit.transformations.from_spec import uniform_from_spec
from rlds_kit.transformations.segments import OBSERVATION_VALID, is_acted

IS_ABSORBING: Final = "is_absorbing"
"""Field that `add_absorbing_states` adds: whether the observation is that of the absorbing state."""


def zeros(value: Any) -> Any:
    """Zeros in place of a value: False for booleans, empty text for strings."""
    return tf.nest.map_structure(tf.zeros_like, value)


def repeat(value: Any) -> Any:
    """The value itself."""
    return value


def uniform(minval: Any, maxval: Any, seed: int | None = None) -> Callable[[Any], Any]:
    """Makes a function that replaces a value by random numbers, uniform in `[minval, maxval)`."""

    def draw(value: Any) -> Any:
        return uniform_from_spec(tf.nest.map_structure(tf.TensorSpec.from_tensor, value), minval, maxval, seed)

    return draw


@on_either_form
def add_absorbing_states(
    steps: Dense, observation: Callable[[Any], Any] = zeros, action: Callable[[Any], Any] = zeros
) -> Dense:
    """Makes a terminal state absorbing, and adds a step from this state to itself.

    For imitation learning with learned rewards: without it, the rewards after a terminal state are always zero, so
    agents learn to seek or to avoid the end (Kostrikov et al., "Discriminator-Actor-Critic", 2019,
    arXiv:1809.02925; Ramos et al., "RLDS", 2021, section 7.2).

    A terminated episode of `T` steps gets a step more. Steps `T-1` and `T` both have the absorbing observation, and
    between them is the absorbing action, with reward 0 and discount 1. The discount that leads to step `T-1` becomes 1
    if it was 0. `is_terminal` is False everywhere: the value of an absorbing state is learned, not zero by definition.
    Other fields of the last step are repeated. Other episodes stay as they are.

    Args:
      steps: of one episode, in either form.
      observation: makes the absorbing observation from the terminal one, for instance `absorbing.repeat`.
      action: makes the absorbing action from the last one that was taken, for instance `absorbing.uniform(-1, 1)`.

    Returns:
      The steps with one field more, `is_absorbing`, bool: whether the state is absorbing, which may equal another
      state. Agents need it as part of their observation.

    Raises:
      ValueError: there are no observations or flags, `is_absorbing` exists already, or an absorbing value has another
        structure, dtype or shape than the value that it replaces.

    >>> steps = {"observation": tf.constant([10, 11]), "reward": tf.constant([1.0, 0.0])}
    >>> flags = {"is_last": tf.constant([False, True]), "is_terminal": tf.constant([False, True])}
    >>> endless = add_absorbing_states(steps | flags)
    >>> endless["observation"].numpy().tolist(), endless["is_absorbing"].numpy().tolist()
    ([10, 0, 0], [False, True, True])
    """
    require_fields(steps, OBSERVATION, IS_LAST)
    refuse_fields(steps, IS_ABSORBING)
    steps = {**steps, IS_ABSORBING: tf.zeros_like(steps[IS_LAST])}
    if IS_TERMINAL not in steps:
        return steps
    is_terminated = tf.reduce_any(steps[IS_TERMINAL][-1:])
    result: Dense = tf.cond(is_terminated, lambda: _with_absorbing_states(steps, observation, action), lambda: steps)
    return result


def _with_absorbing_states(
    steps: Dense, observation: Callable[[Any], Any], action: Callable[[Any], Any]
) -> dict[str, Any]:
    count = count_steps(steps)
    last = {field: _row(value, count - 1) for field, value in steps.items()}
    none = {field: zeros(value) for field, value in last.items()}
    # The values of the terminal step and of the one after it; other fields repeat those of the terminal step.
    new: dict[str, tuple[Any, Any]] = {
        OBSERVATION: (_made(OBSERVATION, observation, last[OBSERVATION]),) * 2,
        IS_LAST: (False, True),
        IS_TERMINAL: (False, False),
        IS_ABSORBING: (True, True),
    }
    if ACTION in steps:
        taken = _row(steps[ACTION], tf.maximum(count - 2, 0))
        new[ACTION] = (_made(ACTION, action, taken), none[ACTION])
    if REWARD in steps:
        new[REWARD] = (none[REWARD], none[REWARD])
    if DISCOUNT in steps:
        new[DISCOUNT] = (tf.nest.map_structure(tf.ones_like, last[DISCOUNT]), none[DISCOUNT])
        steps = {**steps, DISCOUNT: _not_ending(steps[DISCOUNT], is_acted(steps), count)}
    if IS_FIRST in steps:
        new[IS_FIRST] = (last[IS_FIRST], False)
    if STEP_INDEX in steps:
        new[STEP_INDEX] = (last[STEP_INDEX], last[STEP_INDEX] + 1)
    if OBSERVATION_VALID in steps:
        new[OBSERVATION_VALID] = (_is_made(observation) | last[OBSERVATION_VALID],) * 2
    return {field: _end_with(value, *new.get(field, (last[field],) * 2)) for field, value in steps.items()}


def _row(tree: Any, number: tf.Tensor) -> Any:
    return tf.nest.map_structure(lambda leaf: tf.gather(leaf, number), tree)


def _end_with(tree: Any, first: Any, second: Any) -> Any:
    """All rows but the last, then two others."""
    return tf.nest.map_structure(lambda leaf, *two: tf.concat([leaf[:-1], tf.stack(two)], 0), tree, first, second)


def _not_ending(discount: Any, acted: tf.Tensor, count: tf.Tensor) -> Any:
    """The discounts, with 1 instead of the 0 of the last action."""
    is_final = acted & (tf.range(count) == count - 2)

    def corrected(leaf: tf.Tensor) -> tf.Tensor:
        is_zero = leaf == tf.zeros([], leaf.dtype)
        return tf.where(spread(is_final, leaf) & is_zero, tf.ones([], leaf.dtype), leaf)

    return tf.nest.map_structure(corrected, discount)


def _is_made(observation: Callable[[Any], Any]) -> tf.Tensor:
    """Whether each observation is defined: a repetition of a missing one is missing, too."""
    return tf.constant(observation is not repeat)


def _made(field: str, make: Callable[[Any], Any], value: Any) -> Any:
    """The result of a function for a value; checks that structure, dtype and shape are the same."""
    made = make(value)
    wanted = {path: tf.TensorSpec.from_tensor(leaf) for path, leaf in leaves(value).items()}
    got = {path: tf.TensorSpec.from_tensor(tf.convert_to_tensor(leaf)) for path, leaf in leaves(made).items()}
    if wanted.keys() != got.keys() or not all(wanted[path].is_compatible_with(got[path]) for path in wanted):
        raise ValueError(f"expected an absorbing {field} like the {field} it stands for, {wanted}; got {got}")
    return made

"""Moving action, reward and discount between the steps they belong to."""

import enum
from collections.abc import Mapping
from typing import Any, Final

import tensorflow as tf

from rlds_kit.base import rlds_types
from rlds_kit.base.rlds_types import ALIGNMENT
from rlds_kit.base.step import ACTED_FIELDS, ACTION, DISCOUNT, REWARD
from rlds_kit.transformations.dense import Dense, on_either_form


@enum.unique
class AlignmentType(enum.Enum):
    """The order in time of the observation `S`, the action `A` and the reward `R` of a step.

    The values are stored in datasets, so they never change.

    >>> AlignmentType.SAR.value
    2
    """

    UNKNOWN = 1
    SAR = 2
    """An observation, the action applied to it, the reward obtained for that action: the default of RLDS."""
    ARS = 3
    """The action that led to the observation, and the reward obtained for that action."""
    RSA = 4
    """The reward that came with the observation, and the action applied to that observation."""


def add_alignment_to_step(step: Mapping[str, Any], alignment: AlignmentType) -> rlds_types.Step:
    """Copies a step and adds the field `alignment`, which holds the number of the alignment.

    Args:
      step: fields of a step. It is not changed.
      alignment: of the step. Nothing is moved; `to_alignment` does that.

    Returns:
      A new dict of the same values, with `alignment` added or replaced.

    >>> add_alignment_to_step({"reward": 1.0}, AlignmentType.SAR)
    {'reward': 1.0, 'alignment': 2}
    """
    return {**step, rlds_types.ALIGNMENT: alignment.value}


_AFTER: Final[dict[AlignmentType, frozenset[str]]] = {
    AlignmentType.SAR: frozenset(),
    AlignmentType.RSA: frozenset([REWARD, DISCOUNT]),
    AlignmentType.ARS: frozenset([ACTION, REWARD, DISCOUNT]),
}
"""Fields that stand beside the observation that came of the action, not beside the one it was applied to."""


@on_either_form
def to_alignment(steps: Dense, alignment: AlignmentType, source: AlignmentType = AlignmentType.SAR) -> Dense:
    """Moves action, reward and discount from step to step, from one alignment to another.

    The observation, the flags and all other fields stay, so there are as many steps as before. With `a[k]` the action
    applied to `observation[k]`, and `r[k]`, `d[k]` the reward and discount obtained for it, step `k` of `T` holds

    | alignment | observation | action | reward, discount | undefined, zeros |
    |---|---|---|---|---|
    | SAR | `observation[k]` | `a[k]` | `r[k]`, `d[k]` | action, reward, discount of step `T-1` |
    | RSA | `observation[k]` | `a[k]` | `r[k-1]`, `d[k-1]` | reward, discount of step 0; action of step `T-1` |
    | ARS | `observation[k]` | `a[k-1]` | `r[k-1]`, `d[k-1]` | action, reward, discount of step 0 |

    No defined value is lost, so the inverse gives the same steps. Where steps were left out, the undefined values
    before the gap move like all others, and are then after it. All other functions expect SAR.

    Args:
      steps: of one episode, in either form. A field `alignment`, if there is one, is set to the new alignment.
      alignment: SAR, ARS or RSA.
      source: the current alignment of the steps.

    Raises:
      ValueError: an alignment is UNKNOWN.

    >>> steps = {"observation": tf.constant([10, 11, 12]), "reward": tf.constant([1.0, 2.0, 0.0])}
    >>> to_alignment(steps, AlignmentType.ARS)["reward"].numpy()
    array([0., 1., 2.], dtype=float32)
    """
    for one in (alignment, source):
        if one not in _AFTER:
            raise ValueError(f"expected an alignment SAR, ARS or RSA, got {one}")
    moved = dict(steps)
    for field in (field for field in ACTED_FIELDS if field in steps):
        distance = (field in _AFTER[alignment]) - (field in _AFTER[source])
        moved[field] = tf.nest.map_structure(lambda leaf, by=distance: _shift(leaf, by), steps[field])
    if ALIGNMENT in steps:
        moved[ALIGNMENT] = tf.fill(tf.shape(steps[ALIGNMENT]), tf.cast(alignment.value, steps[ALIGNMENT].dtype))
    return moved


def _shift(leaf: tf.Tensor, distance: int) -> Any:
    """Rows moved one later (1), one earlier (-1) or not (0), with a row of zeros in the free place."""
    if distance == 0:
        return leaf
    zeros = tf.zeros_like(leaf[:1])
    return tf.concat([zeros, leaf[:-1]] if distance > 0 else [leaf[1:], zeros], 0)

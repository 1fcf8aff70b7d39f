"""Which action and reward a step holds beside its observation, and the field in which a step states so."""

import enum
from collections.abc import Mapping
from typing import Any

from rlds_kit.base import rlds_types


@enum.unique
class AlignmentType(enum.Enum):
    """The order in which one step's observation `S`, action `A` and reward `R` came about.

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
      alignment: how the step is aligned. It describes and moves nothing: `to_alignment` moves.

    Returns:
      A new dict of the same values, with `alignment` added or replaced.

    >>> add_alignment_to_step({"reward": 1.0}, AlignmentType.SAR)
    {'reward': 1.0, 'alignment': 2}
    """
    return {**step, rlds_types.ALIGNMENT: alignment.value}

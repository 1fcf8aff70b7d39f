"""The names of `envlogger.backends.rlds_utils`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlds_kit.base.step import ACTION, DISCOUNT, FLAGS, IS_FIRST, IS_LAST, IS_TERMINAL, OBSERVATION, REWARD
from rlds_kit.loader.nests import map_arrays
from rlds_kit.logger.schedulers import StepData

Step = dict[str, Any]
"""A step of RLDS."""


def to_rlds_step(prev_step: StepData, step: StepData | None) -> Step:
    """A step of RLDS from two of dm_env.

    Args:
      prev_step: with the observation.
      step: the result of the action; None for the last step of RLDS, whose action, reward and discount are zeros in the
        structure of the previous ones.

    Raises:
      ValueError: `step_fn` returned a reserved name.
    """
    custom = prev_step.custom_data
    fields = dict(custom) if isinstance(custom, Mapping) else {} if custom is None else {"custom_data": custom}
    if taken := sorted({OBSERVATION, ACTION, REWARD, DISCOUNT, *FLAGS} & fields.keys()):
        raise ValueError(f"step_fn returned {taken}, which are names of a step's own; give them others")
    before = prev_step.timestep
    after = prev_step if step is None else step
    acted = {ACTION: after.action, REWARD: after.timestep.reward, DISCOUNT: after.timestep.discount}
    if step is None:
        acted = {name: map_arrays(np.zeros_like, _arrays(value)) for name, value in acted.items()}
    flags = {
        IS_FIRST: bool(before.first()),
        IS_LAST: bool(before.last()),
        IS_TERMINAL: bool(before.last() and not np.any(before.discount)),
    }
    return {OBSERVATION: before.observation, **acted, **flags, **fields}


def _arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _arrays(item) for key, item in value.items()}
    return tuple(map(_arrays, value)) if isinstance(value, tuple) else np.asarray(value)

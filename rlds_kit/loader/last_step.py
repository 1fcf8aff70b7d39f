"""Options for the last step of an episode, which has no action: zeros, the previous action, or no step."""

from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.loader.source import Source

LastStep: TypeAlias = Literal["zeros", "drop", "repeat"]
"""zeros: as RLDS has it, action, reward and discount of the last step are zeros. repeat: its action is that of the step
before; reward and discount are zeros. drop: it is left out, and with it the final observation; `is_last` and
`is_terminal` move to the step before, which then is the last."""
LAST_STEPS: Final[tuple[LastStep, ...]] = get_args(LastStep)

TEXTS: Final[dict[LastStep, str]] = {
    "zeros": "The last step of each episode has an observation only: its action, reward and discount are zeros "
    "that were not recorded. Leave it out when training a policy.",
    "repeat": "The last step of each episode has an observation only: its action repeats that of the step before, "
    "its reward and discount are zeros.",
    "drop": "Every step has an action that was taken: the final observation of each episode, after its last action, "
    "was left out.",
}
"""Descriptions of the options, for `dataset_info.json` and messages."""


def require_last_step(given: str) -> LastStep:
    """Validates an argument.

    Raises:
      ValueError: it is not one of the three.
    """
    for each in LAST_STEPS:
        if given == each:
            return each
    raise ValueError(f"last_step: expected one of {', '.join(LAST_STEPS)}, got {given!r}")


def with_last_step(source: Source, last_step: LastStep) -> Source:
    """The source, without the last step of every episode if it is dropped.

    Raises:
      SpecError: an episode has no action, so that no step would be left, or no action can be repeated.
    """
    if require_last_step(last_step) == "zeros":
        return source
    without_action = np.flatnonzero(source.lengths < 2)
    if len(without_action):
        raise SpecError(
            f"{source.name}: episode {without_action[0]} has no action, so last_step={last_step!r} has nothing to keep "
            "or to repeat; leave such episodes out: `rlds-kit filter` makes a copy without them"
        )
    return replace(source, entries=source.entries.without_last_steps()) if last_step == "drop" else source

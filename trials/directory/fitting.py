"""Actions of programs, as their space has them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from rlds_kit.trials.environments.actor_class import ActorClass
from rlds_kit.trials.wire.values import WireError, decode


def fitted_action(given: Any, actor_class: ActorClass) -> Any:
    """The action that JSON stands for; lists and numbers get the dtype of the space.

    Args:
      given: JSON.
      actor_class: of the seat.

    Raises:
      WireError: it is not in the space.

    >>> arm = ActorClass("arm", spaces.Discrete(1), spaces.Box(-1, 1, (2,)))
    >>> fitted_action([0.5, 1], arm)
    array([0.5, 1. ], dtype=float32)
    >>> fitted_action(7, arm)
    Traceback (most recent call last):
    rlds_kit.trials.wire.values.WireError: action: expected Box(-1.0, 1.0, (2,), float32), got 7
    """
    value = decode(given)
    try:
        action = None if value is None else _fitted(value, actor_class.action_space)
        is_inside = actor_class.contains(action)
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise _refused(given, actor_class) from error
    if not is_inside:
        raise _refused(given, actor_class)
    return action


def _refused(given: Any, actor_class: ActorClass) -> WireError:
    text = repr(given)
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return WireError(f"action: expected {actor_class.action_space}, got {shown}")


def _fitted(value: Any, space: Any) -> Any:
    if isinstance(space, spaces.Dict) and isinstance(value, Mapping):
        return {key: _fitted(each, space[key]) for key, each in value.items()}
    if isinstance(space, spaces.Tuple) and isinstance(value, list | tuple):
        return tuple(_fitted(each, inner) for each, inner in zip(value, space, strict=True))
    if isinstance(space, spaces.Discrete) and type(value) is int:
        return space.dtype.type(value)
    if isinstance(space, spaces.Box | spaces.MultiBinary | spaces.MultiDiscrete) and isinstance(
        value, list | int | float
    ):
        plain = np.asarray(value)
        made = plain.astype(space.dtype)
        is_exact = np.issubdtype(made.dtype, np.floating) or np.array_equal(made, plain)
        return made if plain.dtype.kind in "biuf" and is_exact else None
    return value

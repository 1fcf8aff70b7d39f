"""What discrete actions mean, and their keys, where makers of environments say it in prose only.

Gymnasium's own environments say what their numbers mean in their documentation. The keys "KeyW", "KeyA", "KeyS" and
"KeyD" stand for arrows and are not named here.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_LEFT, _RIGHT, _UP, _DOWN = (f"Arrow{side}" for side in ("Left", "Right", "Up", "Down"))
_LEFT_NOTHING_RIGHT: Final = ((_LEFT,), (_DOWN,), (_RIGHT,))
NOTHING: Final = "nothing"
"""The name of the action that is done while no key is down, where there is one."""

_KNOWN: Final[Mapping[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]]] = {
    "CartPole": (("left", "right"), ((_LEFT,), (_RIGHT,))),
    "MountainCar": (("left", NOTHING, "right"), _LEFT_NOTHING_RIGHT),
    "Acrobot": (("torque -1", NOTHING, "torque +1"), _LEFT_NOTHING_RIGHT),
    "LunarLander": (
        (NOTHING, "left engine", "main engine", "right engine"),
        ((_DOWN,), (_LEFT,), (_UP, "Space"), (_RIGHT,)),
    ),
    "CarRacing": (
        (NOTHING, "steer right", "steer left", "gas", "brake"),
        ((), (_RIGHT,), (_LEFT,), (_UP,), (_DOWN, "Space")),
    ),
    "Blackjack": (("stick", "hit"), ((_DOWN,), ("KeyH", _UP))),
    "CliffWalking": (("up", "right", "down", "left"), ((_UP,), (_RIGHT,), (_DOWN,), (_LEFT,))),
    "FrozenLake": (("left", "down", "right", "up"), ((_LEFT,), (_DOWN,), (_RIGHT,), (_UP,))),
    "Taxi": (
        ("south", "north", "east", "west", "pick up", "drop off"),
        ((_DOWN,), (_UP,), (_RIGHT,), (_LEFT,), ("KeyP", "Space"), ("KeyO",)),
    ),
}
"""By the name of a class of `gymnasium.envs` without "Env": names of the actions 0, 1, ..., and the keys of each."""


def names_of_id(environment: str) -> tuple[str, ...]:
    """The names of the actions of one of Gymnasium's environments, by its id; () for others.

    >>> names_of_id("CliffWalkingSlippery-v1")
    ('up', 'right', 'down', 'left')
    """
    name = re.fullmatch(r"(\w+?)(?:8x8|Slippery)?-v\d+", environment)
    return _KNOWN[name[1]][0] if name and name[1] in _KNOWN else ()


def known_actions(env: Any) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The names of an environment's actions, and the keys of each; nothing for those that are not Gymnasium's own.

    Args:
      env: without wrappers.
    """
    made = type(env)
    is_own = made.__module__.startswith("gymnasium.envs.")
    return _KNOWN.get(made.__name__.removesuffix("Env"), ((), ())) if is_own else ((), ())

"""What the numbers of discrete actions mean, for environments whose makers say so.

Recordings hold numbers. Gymnasium's own environments say what these mean in their documentation, Atari games in the
emulator; others' are shown as numbers.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.episode import Episode

_ATARI: Final = "ale_py.env.AtariEnv"
_GYMNASIUM: Final[Mapping[str, tuple[str, ...]]] = {
    "CartPole": ("left", "right"),
    "MountainCar": ("left", "nothing", "right"),
    "Acrobot": ("torque -1", "nothing", "torque +1"),
    "LunarLander": ("nothing", "left engine", "main engine", "right engine"),
    "CarRacing": ("nothing", "steer right", "steer left", "gas", "brake"),
    "Blackjack": ("stick", "hit"),
    "CliffWalking": ("up", "right", "down", "left"),
    "FrozenLake": ("left", "down", "right", "up"),
    "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
}


def action_names(episode: Episode) -> tuple[str, ...]:
    """The names of an episode's discrete actions, in the order of their numbers; empty where nobody knows.

    >>> action_names(rlds_kit.open("data/cartpole").episodes[0])  # doctest: +SKIP
    ('left', 'right')
    """
    return names_of(episode.provenance)


def names_of(provenance: Mapping[str, Any]) -> tuple[str, ...]:
    """The same, of what is known of the environment.

    >>> names_of({"id": "MountainCar-v0"})
    ('left', 'nothing', 'right')
    """
    kwargs = provenance.get("kwargs")
    if provenance.get("class") == _ATARI and isinstance(kwargs, Mapping):
        return _atari(str(kwargs.get("game", "")), bool(kwargs.get("full_action_space", False)))
    name = re.fullmatch(r"(\w+?)(?:8x8)?-v\d+", str(provenance.get("id", "")))
    return _GYMNASIUM.get(name[1], ()) if name else ()


@functools.lru_cache
def _atari(game: str, is_full: bool) -> tuple[str, ...]:
    """As the emulator says, if it is here and has the game."""
    try:
        import ale_py
        from ale_py import roms
    except ImportError:
        return ()
    path = roms.get_rom_path(game) if game in roms.get_all_rom_ids() else None
    if path is None:
        return ()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator.loadROM(path)
    found = emulator.getLegalActionSet() if is_full else emulator.getMinimalActionSet()
    return tuple(action.name for action in found)

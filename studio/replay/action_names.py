"""The meaning of the numbers of discrete actions, for environments that document it.

Recordings contain numbers. For Gymnasium's own environments the documentation defines their meaning, for Atari games
the emulator; actions of other environments are shown as numbers.
"""

import functools
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.episode.episode import Episode
from rlds_kit.trials.environments.known_actions import names_of_id

_ATARI: Final = "ale_py.env.AtariEnv"


def action_names(episode: Episode) -> tuple[str, ...]:
    """The names of an episode's discrete actions, in the order of their numbers; empty where they are unknown.

    If the episode was played in a studio, the names that the player saw.

    >>> action_names(rlds_kit.open("data/cartpole").episodes[0])  # doctest: +SKIP
    ('left', 'right')
    """
    return _shown(episode.metadata.get("controls")) or names_of(episode.provenance)


def _shown(controls: Any) -> tuple[str, ...]:
    """The names that the studio recorded with an episode that one person played."""
    tables = list(controls.values()) if isinstance(controls, Mapping) else []
    if len(tables) != 1 or not isinstance(tables[0], Mapping) or tables[0].get("first", 0) != 0:
        return ()
    return tuple(str(each["name"]) for each in tables[0].get("actions", ()))


def names_of(provenance: Mapping[str, Any]) -> tuple[str, ...]:
    """The same, from the environment.

    >>> names_of({"id": "MountainCar-v0"})
    ('left', 'nothing', 'right')
    """
    kwargs = provenance.get("kwargs")
    if provenance.get("class") == _ATARI and isinstance(kwargs, Mapping):
        return _atari(str(kwargs.get("game", "")), bool(kwargs.get("full_action_space", False)))
    return names_of_id(str(provenance.get("id", "")))


@functools.lru_cache
def _atari(game: str, is_full: bool) -> tuple[str, ...]:
    """As the emulator reports, if it is installed and has the game."""
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

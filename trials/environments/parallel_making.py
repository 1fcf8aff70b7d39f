"""Makes PettingZoo environments whose agents act at once."""

import contextlib
import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.trials.environments.playable import EnvironmentSpec

_ATARI: Final = "atari/"
_ROMS: Final = "auto_rom_install_path"


def make_parallel(spec: EnvironmentSpec) -> Any:  # a ParallelEnv of any agents, observations and actions
    """Makes an environment.

    One of PettingZoo's turns ("AEC") is converted if it says that it may be (`is_parallelizable`): then it changes only
    after the last agent of a round. Games of Atari find the ROMs of ale-py.

    Args:
      spec: a name for `pettingzoo.make`, as "classic/rps-v2", or "module:function" that makes it.

    Raises:
      ValueError: its agents act in turns.
      MissingExtraError: PettingZoo is not installed, or the library of its Atari games.
      Whatever making it raises.

    >>> env = make_parallel(EnvironmentSpec("classic/rps-v2", interface="pettingzoo"))
    >>> env.possible_agents
    ['player_0', 'player_1']
    """
    module, _, function = spec.id.partition(":")
    if not function:
        return _registered(spec)
    make = getattr(importlib.import_module(module), function)
    mode = {"render_mode": "rgb_array"} if "render_mode" in inspect.signature(make).parameters else {}
    return _at_once(make(**mode, **spec.kwargs), spec.id)


def _registered(spec: EnvironmentSpec) -> Any:
    with needs("pettingzoo"):
        import pettingzoo
    kwargs = {"render_mode": "rgb_array", **_roms(spec.id), **spec.kwargs}
    is_in_turns = spec.id in pettingzoo.aec_registry and spec.id not in pettingzoo.parallel_registry
    return _at_once(pettingzoo.make("aec" if is_in_turns else "parallel", spec.id, **kwargs), spec.id)


def _roms(name: str) -> Mapping[str, str]:
    """Where a game of Atari finds its ROM."""
    if not name.startswith(_ATARI):
        return {}
    with needs("multi-agent-atari"):
        import multi_agent_ale_py  # noqa: F401  without it PettingZoo's error names no extra
        from ale_py import roms
    return {_ROMS: str(Path(roms.__file__).parent)}


def _at_once(env: Any, name: str) -> Any:
    """The environment, converted if it is one of turns."""
    made: Any = env
    with needs("pettingzoo"):
        from pettingzoo import AECEnv
        from pettingzoo.utils.conversions import aec_to_parallel
    if not isinstance(env, AECEnv):
        return env
    if not env.metadata.get("is_parallelizable", False):
        with contextlib.suppress(Exception):  # it was not reset
            made.close()
        raise ValueError(
            f"expected an environment whose agents act at once, got {name}, whose agents act in turns; "
            "a parallel_env, or an AEC environment that is_parallelizable, can be used"
        )
    return aec_to_parallel(env)

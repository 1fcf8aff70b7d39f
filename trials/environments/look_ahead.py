"""What an environment would show after each action: drawn by a twin, so that nothing of the environment changes.

A twin is another environment made in the same way. It gets a copy of the state, with that of the random numbers, does
one action, and draws. It has the wrappers of `gymnasium.make` only, so environments with others have no twin.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from rlds_kit.trials.frames.picture import Picture

MOST_ACTIONS: Final = 18
"""As many as a console has; environments with more have no pictures ahead."""
Restore = Callable[[Any], None]
"""Puts a twin into the state that was copied."""
Copy = Callable[[Any, int | None], Restore]
"""Copies the state of an environment; the second argument is the action before, None after a reset."""

_CLASSICS: Final = ("gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
"""Environments whose state is in their attributes."""
_PLAIN: Final = (OrderEnforcing, PassiveEnvChecker, TimeLimit)
"""Wrappers of `gymnasium.make`, which change nothing of what a step shows."""
_CONSTANT: Final = frozenset({"P", "desc", "initial_state_distrib", "metadata"})
"""Large tables that steps only read."""
_STICKY_FRAMES: Final = 12
"""After which the chance that a console never took an action is below 1 in 10 million."""


class LookAhead:
    """Draws what an environment would show after an action.

    Args:
      env: that is played, as `gymnasium.make` made it.
      make: makes its twin, when the first picture is wanted.
      copy_of: copies its state.
    """

    def __init__(self, env: Any, make: Callable[[], Any], copy_of: Copy) -> None:
        self._env, self._make, self._copy_of = env.unwrapped, make, copy_of
        self._twin: Any = None
        self._last: int | None = None
        self._restore: Restore | None = None

    def moved(self, action: int | None) -> None:
        """The environment did a step with this action, or was reset: None."""
        self._last, self._restore = action, None

    def picture(self, action: int) -> Picture:
        """What there would be to see after an action."""
        if self._restore is None:
            self._restore = self._copy_of(self._env, self._last)
        if self._twin is None:
            self._twin = self._make()
            self._twin.reset(seed=0)
        inner = self._twin.unwrapped
        self._restore(inner)
        inner.step(action)
        picture: Picture = inner.render()
        return picture

    def close(self) -> None:
        """Closes the twin."""
        if self._twin is not None:
            self._twin.close()


def look_ahead_of(env: gymnasium.Env[Any, Any], make: Callable[[], Any]) -> LookAhead | None:
    """What draws ahead for an environment: Atari games, and Gymnasium's classic control and toy text.

    Args:
      env: as `gymnasium.make` made it.
      make: makes another one in the same way.

    Returns:
      None if its state cannot be copied, it has wrappers of its own, or more than `MOST_ACTIONS` actions.

    >>> look_ahead_of(gymnasium.make("Pendulum-v1", render_mode="rgb_array"), lambda: None) is None
    True
    """
    space = env.action_space
    is_small = isinstance(space, spaces.Discrete) and space.n <= MOST_ACTIONS
    if not is_small or env.render_mode not in {"rgb_array", "ansi"} or not _is_plain(env):
        return None
    module = f"{type(env.unwrapped).__module__}."
    if module == "ale_py.env.":
        return LookAhead(env, make, _copy_console)
    return LookAhead(env, make, _copy_attributes) if module.startswith(_CLASSICS) else None


def _is_plain(env: Any) -> bool:
    """Whether there are no wrappers but those that change nothing."""
    inner = env.unwrapped
    while env is not inner:
        if type(env) not in _PLAIN:
            return False
        env = env.env
    return True


def _copy_console(env: Any, last: int | None) -> Restore:
    """The state of a console of the Arcade Learning Environment, and of its random numbers.

    Sticky actions need the action that the console did last, which is in no copy of its state: a twin does it often
    enough to have it. If the last frames of the step before were sticky, it is an older one: then, if the next frames
    are sticky as well, the twin is wrong.
    """
    import ale_py

    state = env.ale.cloneState(include_rng=True)
    random = copy.deepcopy(env.np_random)  # draws how many frames are skipped
    is_sticky = env.ale.getFloat("repeat_action_probability") > 0
    before = ale_py.Action.NOOP if last is None else getattr(ale_py.Action, env.get_action_meanings()[last])

    def restore(twin: Any) -> None:
        twin.ale.restoreState(state)
        if is_sticky:
            for _ in range(_STICKY_FRAMES):
                twin.ale.act(before)
            twin.ale.restoreState(state)
        twin.np_random = copy.deepcopy(random)

    return restore


def _copy_attributes(env: Any, last: int | None) -> Restore:
    """The attributes of an environment that are state: not what it draws on, nor what never changes."""
    del last  # it is an attribute, where it matters
    state = {name: value for name, value in vars(env).items() if name not in _CONSTANT and not _is_tool(value)}
    fixed = copy.deepcopy(state)

    def restore(twin: Any) -> None:
        vars(twin).update(copy.deepcopy(fixed))

    return restore


def _is_tool(value: Any) -> bool:
    """Whether it belongs to pygame, or describes the environment; a twin has its own."""
    if isinstance(value, list | tuple):
        return any(map(_is_tool, value))
    if isinstance(value, Mapping):
        return any(map(_is_tool, value.values()))
    return isinstance(value, spaces.Space | EnvSpec) or type(value).__module__.partition(".")[0] == "pygame"

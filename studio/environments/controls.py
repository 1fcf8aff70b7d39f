"""How people act in an environment: what a server and a browser must know of its actions."""

from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from rlds_kit.trials import Axes, Chords, Controller, from_keys_to_action, from_meanings, numbered

_PAIRS: Final = (
    *(("ArrowLeft", "ArrowRight"), ("ArrowDown", "ArrowUp"), ("KeyQ", "KeyE"), ("KeyF", "KeyR")),
    *(("KeyJ", "KeyL"), ("KeyK", "KeyI"), ("KeyU", "KeyO")),
)
"""For the numbers of a box, in order: seven, as an arm with a gripper has."""


@dataclass(frozen=True, slots=True)
class Controls:
    """Of one seat; JSON can hold it.

    Attributes:
      actions: for keys that are held together: keys, action, and its name.
      axes: for continuous actions: low, high, and by key or stick the dimension and how far it moves it.
      default: what is done when nothing is pressed.
    """

    actions: tuple[tuple[tuple[str, ...], int, str], ...] = ()
    axes: tuple[tuple[float, float, tuple[tuple[str, float], ...]], ...] = ()
    default: Any = None
    dtype: str = "int64"

    def controller(self) -> Controller:
        """A controller for one trial."""
        if not self.axes:
            return Chords({frozenset(keys): action for keys, action, _ in self.actions})
        low, high = (np.array([axis[side] for axis in self.axes], self.dtype) for side in (0, 1))
        moves = {key: (number, far) for number, (_, _, keys) in enumerate(self.axes) for key, far in keys}
        return Axes(low, high, moves, np.array(self.default, np.float64))


def controls_of(env: Any, space: gymnasium.Space[Any] | None = None) -> Controls:
    """How people act in an environment of Gymnasium, PettingZoo or dm_env.

    Discrete actions have the keys that the environment itself says (`get_keys_to_action`), else those of their names
    (`get_action_meanings`), else arrows and digits. A box of up to four numbers is moved by pairs of keys and by the
    sticks of a gamepad.

    Args:
      env: the environment.
      space: of the actions; None: the environment's.

    Raises:
      ValueError: nobody could play this.

    >>> controls_of(gymnasium.make("MountainCar-v0")).actions[0]
    (('ArrowLeft',), 0, '')
    """
    space = env.action_space if space is None else space
    match space:
        case spaces.Discrete():
            return _discrete(env, space)
        case spaces.Box() if space.shape and len(space.shape) == 1 and space.shape[0] <= len(_PAIRS):
            return _box(space)
    raise ValueError(
        f"expected discrete actions, or a box of at most {len(_PAIRS)} numbers, for people to play, got {space}"
    )


def _discrete(env: Any, space: spaces.Discrete) -> Controls:
    inner = getattr(env, "unwrapped", env)
    meanings = [str(name) for name in getattr(inner, "get_action_meanings", list)()]
    chords = _chords(inner, meanings, int(space.n))
    start = int(space.start)
    names = dict(enumerate(meanings))
    actions = tuple((tuple(sorted(keys)), int(action) + start, names.get(int(action), "")) for keys, action in chords)
    idle = next((action for keys, action, _ in actions if not keys), start)
    return Controls(tuple(each for each in actions if each[0]), default=idle)


def _chords(inner: Any, meanings: list[str], count: int) -> list[tuple[frozenset[str], int]]:
    if hasattr(inner, "get_keys_to_action"):
        return list(from_keys_to_action(inner.get_keys_to_action()).actions.items())
    if meanings:
        try:
            return list(from_meanings(meanings).actions.items())
        except ValueError:
            pass  # names of another kind
    return list(numbered(count).actions.items())


def _box(space: spaces.Box) -> Controls:
    low, high = (np.nan_to_num(side.astype(np.float64), posinf=1.0, neginf=-1.0) for side in (space.low, space.high))
    rest = np.clip(np.zeros(len(low)), low, high)
    axes = []
    for number, (down, up) in enumerate(_PAIRS[: len(low)]):
        stick = ((f"Axis{number}", 1.0 if number % 2 == 0 else -1.0),)
        axes.append((float(low[number]), float(high[number]), ((down, -1.0), (up, 1.0), *stick)))
    return Controls(axes=tuple(axes), default=tuple(rest.tolist()), dtype=str(space.dtype))

"""How people act in an environment: what a server and a browser must know of its actions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from rlds_kit.trials.engine.keymap import Axes, Chords, from_keys_to_action, from_meanings, numbered
from rlds_kit.trials.engine.seat import Controller
from rlds_kit.trials.environments.known_actions import NOTHING, known_actions

_PAIRS: Final = (
    *(("ArrowLeft", "ArrowRight"), ("ArrowDown", "ArrowUp"), ("KeyQ", "KeyE"), ("KeyF", "KeyR")),
    *(("KeyJ", "KeyL"), ("KeyK", "KeyI"), ("KeyU", "KeyO")),
)
"""For the numbers of a box, in order: seven, as an arm with a gripper has."""


@dataclass(frozen=True, slots=True)
class Controls:
    """Of one seat; JSON can hold it.

    Attributes:
      actions: for keys that are down together: keys, action, and its name.
      names: of all discrete actions in order, also of those without keys.
      first: number of the first discrete action.
      axes: for continuous actions: low, high, and by key or stick the dimension and how far it moves it.
      default: what is done when nothing is pressed.
    """

    actions: tuple[tuple[tuple[str, ...], int, str], ...] = ()
    axes: tuple[tuple[float, float, tuple[tuple[str, float], ...]], ...] = ()
    default: Any = None
    dtype: str = "int64"
    names: tuple[str, ...] = ()
    first: int = 0

    def controller(self) -> Controller:
        """A controller for one trial."""
        if not self.axes:
            return Chords({frozenset(keys): action for keys, action, _ in self.actions})
        low, high = (np.array([axis[side] for axis in self.axes], self.dtype) for side in (0, 1))
        moves = {key: (number, far) for number, (_, _, keys) in enumerate(self.axes) for key, far in keys}
        return Axes(low, high, moves, np.array(self.default, np.float64))

    def as_json(self) -> dict[str, Any]:
        """For people to read and edit, and to record: of discrete actions in order `name` and `keys`, and the default.

        >>> controls_of(gymnasium.make("MountainCar-v0")).as_json()["actions"][2]
        {'name': 'right', 'keys': ['ArrowRight']}
        """
        if self.axes:
            axes = [{"low": low, "high": high, "keys": dict(keys)} for low, high, keys in self.axes]
            return {"axes": axes, "default": list(self.default)}
        keys: dict[int, list[str]] = defaultdict(list)
        for held, action, _ in self.actions:
            keys[action - self.first].append("+".join(held))
        rows = [{"name": name, "keys": keys[number]} for number, name in enumerate(self.names)]
        return {"actions": rows, "default": self.default - self.first, "first": self.first}

    def edited(self, table: Mapping[str, Any]) -> "Controls":
        """These actions with other keys, names and default.

        Args:
          table: `actions` and `default` as `as_json` gives them.

        Raises:
          ValueError: the table is not one of these actions.
        """
        if self.axes:
            raise ValueError("expected no table of keys, for the actions are numbers that keys and sticks move")
        rows = table["actions"]
        if len(rows) != len(self.names):
            raise ValueError(
                f"controls.actions: expected a row for each of the {len(self.names)} actions, got {len(rows)}"
            )
        chords = (
            (tuple(sorted(chord.split("+"))), self.first + number, row["name"])
            for number, row in enumerate(rows)
            for chord in row["keys"]
        )
        names = tuple(row["name"] for row in rows)
        return Controls(tuple(chords), default=self.first + table["default"], names=names, first=self.first)


def controls_of(env: Any, space: gymnasium.Space[Any] | None = None) -> Controls:
    """How people act in an environment of Gymnasium, PettingZoo or dm_env.

    Discrete actions have the keys of `known_actions`, else those that the environment itself reports
    (`get_keys_to_action`), else those of their names (`get_action_meanings`), else digits and letters. Actions that
    have no names are called by their numbers. A box of up to seven numbers is moved by pairs of keys and by sticks.

    Args:
      env: the environment.
      space: of the actions; None: the environment's.

    Raises:
      ValueError: people cannot play this.

    >>> controls_of(gymnasium.make("MountainCar-v0")).actions[0]
    (('ArrowLeft',), 0, 'left')
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
    count, first = int(space.n), int(space.start)
    known, keys = known_actions(inner)
    if len(known) != count:
        known, keys = (), ()
    meanings = [str(name) for name in getattr(inner, "get_action_meanings", list)()] or list(known)
    names = tuple(meanings[number] if number < len(meanings) else str(first + number) for number in range(count))
    chords = [(held, action) for held, action in _chords(inner, meanings, keys, count) if 0 <= action < count]
    actions = tuple((tuple(sorted(held)), action + first, names[action]) for held, action in chords if held)
    idle = next((action for held, action in chords if not held), None)
    if idle is None:
        idle = next((number for number, name in enumerate(names) if name in {NOTHING, "NOOP"}), 0)
    return Controls(actions, default=idle + first, names=names, first=first)


def _chords(
    inner: Any, meanings: list[str], keys: tuple[tuple[str, ...], ...], count: int
) -> Iterable[tuple[frozenset[str], int]]:
    """Which keys do which action, counted from 0; no keys at all do what is done when nothing is pressed."""
    if keys:
        return [(frozenset({key}), action) for action, several in enumerate(keys) for key in several]
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

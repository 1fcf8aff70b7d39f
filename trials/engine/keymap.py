"""Keys to actions: chords, analog sticks, and keys that switch something on and off.

Keys have the names of the browser's `KeyboardEvent.code`: "ArrowUp", "Space", "KeyW". A gamepad's are "Button0" with 0
to 1 and "Axis0" with -1 to 1, as the W3C Gamepad API numbers them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

THRESHOLD: Final = 0.5
"""From which on a stick or a trigger counts as a key that is down."""
PAD_KEYS: Final = {
    "Button12": "ArrowUp",
    "Button13": "ArrowDown",
    "Button14": "ArrowLeft",
    "Button15": "ArrowRight",
    "Button0": "Space",
    "Button1": "Enter",
    "Axis0-": "ArrowLeft",
    "Axis0+": "ArrowRight",
    "Axis1-": "ArrowUp",
    "Axis1+": "ArrowDown",
}
"""Keys that a standard gamepad stands for where only keys are understood."""
_LETTERS: Final = {"KeyW": "ArrowUp", "KeyA": "ArrowLeft", "KeyS": "ArrowDown", "KeyD": "ArrowRight"}
_ARROWS: Final = {"UP": "ArrowUp", "DOWN": "ArrowDown", "LEFT": "ArrowLeft", "RIGHT": "ArrowRight"}
_OF_MEANINGS: Final = {**_ARROWS, "FIRE": "Space"}


def digital(held: Mapping[str, float]) -> list[str]:
    """The keys that are down: sticks and buttons count from half way on, letters WASD are arrows.

    Args:
      held: by name with the analog value, in the order in which they went down.

    >>> digital({"KeyW": 1.0, "Axis0": -0.7, "Button0": 0.2})
    ['ArrowUp', 'ArrowLeft']
    """
    down = []
    for name, value in held.items():
        key = f"{name}{'-' if value < 0 else '+'}" if name.startswith("Axis") else name
        is_down = abs(value) >= THRESHOLD
        down += [PAD_KEYS.get(key, _LETTERS.get(key, key))] if is_down else []
    return list(dict.fromkeys(down))


@dataclass(frozen=True, slots=True)
class Chords:
    """Actions for keys that are down together.

    Of several that match, the one with the most keys counts, then the one whose keys went down last: a key too many is
    no reason to do nothing.

    Attributes:
      actions: by the keys.

    >>> chords = Chords({frozenset({"ArrowUp"}): 1, frozenset({"ArrowLeft"}): 2, frozenset({"ArrowUp", "Space"}): 3})
    >>> chords.act({"ArrowLeft": 1.0, "ArrowUp": 1.0})
    1
    >>> chords.act({"Space": 1.0, "ArrowLeft": 1.0, "ArrowUp": 1.0})
    3
    """

    actions: Mapping[frozenset[str], Any]

    def act(self, held: Mapping[str, float]) -> Any:
        """The action for the keys that are down; None if there is none."""
        place = {key: number for number, key in enumerate(digital(held))}
        matching = [chord for chord in self.actions if chord and chord <= place.keys()]
        if not matching:
            return None
        best = max(matching, key=lambda chord: (len(chord), sorted((place[key] for key in chord), reverse=True)))
        return self.actions[best]


@dataclass(slots=True)
class Axes:
    """Actions that are arrays of numbers, moved by keys and sticks.

    Attributes:
      low: `[n]`, the smallest action.
      high: `[n]`, the largest.
      moves: by key, the dimension it moves and how far, as a share of what there is on that side of `rest`.
      rest: `[n]`, where no key is down.
      toggles: by key, a dimension that it switches between `low` and `high`, once a press.
    """

    low: np.ndarray
    high: np.ndarray
    moves: Mapping[str, tuple[int, float]]
    rest: np.ndarray
    toggles: Mapping[str, int] = field(default_factory=dict)
    _on: dict[int, bool] = field(default_factory=dict)
    _down: set[str] = field(default_factory=set)

    def act(self, held: Mapping[str, float]) -> np.ndarray:
        """The action, analog values unrounded."""
        share = np.zeros(len(self.low))
        for name, value in held.items():
            if name in self.moves:
                dimension, amount = self.moves[name]
                share[dimension] += amount * value
        share = np.clip(share, -1, 1)
        moved = self.rest + np.where(share > 0, share * (self.high - self.rest), share * (self.rest - self.low))
        self._switch(held)
        for dimension in self.toggles.values():
            moved[dimension] = self.high[dimension] if self._on.get(dimension) else self.low[dimension]
        action: np.ndarray = moved.astype(self.low.dtype)
        return action

    def _switch(self, held: Mapping[str, float]) -> None:
        down = {name for name, value in held.items() if name in self.toggles and abs(value) >= THRESHOLD}
        for name in down - self._down:
            dimension = self.toggles[name]
            self._on[dimension] = not self._on.get(dimension, False)
        self._down = down


def from_meanings(meanings: Sequence[str]) -> Chords:
    """Chords for actions with names, as the Arcade Learning Environment has them: "NOOP", "FIRE", "UPRIGHTFIRE".

    Args:
      meanings: of the actions 0, 1, ...

    Raises:
      ValueError: a name is made of something else.

    >>> from_meanings(["NOOP", "FIRE", "UPFIRE"]).act({"Space": 1.0, "ArrowUp": 1.0})
    2
    """
    return Chords({_keys_of(meaning): number for number, meaning in enumerate(meanings)})


def _keys_of(meaning: str) -> frozenset[str]:
    keys, left = set(), "" if meaning == "NOOP" else meaning
    while left:
        name = next((name for name in _OF_MEANINGS if left.startswith(name)), None)
        if name is None:
            raise ValueError(f"action {meaning!r}: expected {', '.join(_OF_MEANINGS)}, or several of them, or NOOP")
        keys.add(_OF_MEANINGS[name])
        left = left.removeprefix(name)
    return frozenset(keys)


def from_keys_to_action(table: Mapping[Any, Any]) -> Chords:
    """Chords of an environment's own `get_keys_to_action`, as `gymnasium.utils.play` reads it.

    Args:
      table: by tuples of key names, character codes or pygame's codes of arrows, or by a text with a character for
        each key.

    >>> from_keys_to_action({(ord("w"),): 2, "d ": 5}).act({"KeyD": 1.0, "Space": 1.0})
    5
    """
    return Chords({frozenset(_browser_key(key) for key in keys): action for keys, action in table.items()})


def _browser_key(key: Any) -> str:
    if key in _PYGAME:
        return _PYGAME[key]
    text = chr(key) if isinstance(key, int) else str(key)
    if text in _NAMED:
        return _NAMED[text]
    code = f"Digit{text}" if text.isdigit() else f"Key{text.upper()}"
    return _LETTERS.get(code, code)


_NAMED: Final[dict[str, str]] = {name.lower(): key for name, key in _ARROWS.items()} | {
    " ": "Space",
    "space": "Space",
    "\r": "Enter",
}


_ARROWS_OF_PYGAME: Final = ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp")
_PYGAME: Final = {
    **{(1 << 30) + 79 + number: key for number, key in enumerate(_ARROWS_OF_PYGAME)},  # SDL 2: by scan code
    **dict(zip((275, 276, 274, 273), _ARROWS_OF_PYGAME, strict=True)),  # SDL 1, which environments still name
}


_NUMBERED: Final = (
    *(f"Digit{number}" for number in range(10)),
    *(f"Key{letter}" for letter in "QERTYUIOPGHJKLZXCVBNM"),
)
"""Keys for actions without names; F, W, A, S and D mean something else."""


def numbered(count: int) -> Chords:
    """Chords for actions without names: digits for the first ten, then letters.

    No arrows: what an action does is not known, and an arrow would promise a direction.

    Args:
      count: of the actions; those after the thirty-first have no key.

    >>> numbered(12).act({"Digit2": 1.0}), numbered(12).act({"KeyE": 1.0}), numbered(3).act({"ArrowLeft": 1.0})
    (2, 11, None)
    """
    return Chords({frozenset({key}): number for number, key in zip(range(count), _NUMBERED, strict=False)})

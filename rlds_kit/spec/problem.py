"""What does not fit a spec, and where."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

ProblemKind: TypeAlias = Literal[
    "missing", "unexpected", "type", "dtype", "shape", "value", "length", "index", "bounds", "charset"
]

_OPENING: Final = ("(", "[")


@dataclass(frozen=True)
class Problem:
    """A part of a value that does not fit a spec.

    >>> print(Problem("observation/pixels", "expected uint8 (84, 84), got list", "type"))
    observation/pixels: expected uint8 (84, 84), got list
    """

    place: str
    """Path of the value: keys, `(0)` for an item of a tuple, `[0]` for one of a list, joined by `/`."""
    message: str
    kind: ProblemKind

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def at_key(place: str, key: object) -> str:
    """The place of a dict's value, written as the paths of columns are.

    `~` and `/` inside a key are `~0` and `~1`; a key that begins like the number of an item has `~2` before it.

    >>> at_key("info", "a/b"), at_key("", "reward"), at_key("info", "(0)")
    ('info/a~1b', 'reward', 'info/~2(0)')
    """
    text = str(key)
    if "/" in text or "~" in text:
        text = text.replace("~", "~0").replace("/", "~1")
    if text.startswith(_OPENING):
        text = "~2" + text
    return f"{place}/{text}" if place else text


def at_item(place: str, index: int) -> str:
    """The place of a tuple's item.

    >>> at_item("action", 1)
    'action/(1)'
    """
    return f"{place}/({index})" if place else f"({index})"


def at_entry(place: str, index: int) -> str:
    """The place of a list's item.

    >>> at_entry("action", 1)
    'action/[1]'
    """
    return f"{place}/[{index}]" if place else f"[{index}]"

"""Numbers of bytes and of things as text."""

from typing import Final

_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")
_UNIT: Final = 1000


def size_text(size: float) -> str:
    """A number of bytes for people.

    >>> size_text(999), size_text(1_234_567)
    ('999 B', '1.2 MB')
    """
    unit = 0
    while size >= _UNIT and unit < len(_UNITS) - 1:
        size, unit = size / _UNIT, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def count_text(count: int, noun: str) -> str:
    """Formats a number of things, with its noun in the singular or plural.

    >>> count_text(1, "episode"), count_text(12000, "step")
    ('1 episode', '12,000 steps')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

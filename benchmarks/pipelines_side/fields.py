"""What all systems deliver, under the same names."""

from typing import Any, Final

BATCH: Final = 256
WINDOW: Final = 8
WINDOWS: Final = 32
"""In a batch of random windows."""
MEMORY_BYTES: Final = 200_000_000
"""Of whole episodes from the beginning, which the rows in memory work on."""

STEP: Final = ("observation", "action", "reward", "discount", "is_first", "is_last", "is_terminal")
_HERE: Final = ("observation", "action", "reward", "discount", "is_first")
_NEXT: Final = ("observation", "is_last", "is_terminal")
TRANSITION: Final = (*_HERE, *(f"next_{name}" for name in _NEXT))


def transition(here: Any, there: Any) -> dict[str, Any]:
    """Two steps, or as many batches of steps, as transitions."""
    return {name: here[name] for name in _HERE} | {f"next_{name}": there[name] for name in _NEXT}

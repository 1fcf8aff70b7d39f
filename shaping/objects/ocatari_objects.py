"""Finds objects with OCAtari's functions, which read them from the memory of an Atari game.

OCAtari is not an extra, because it requires NumPy 1 and many packages that these functions do not need. Its environment
class is not used (it swaps `terminated` and `truncated`). Its functions calculate with the integers of the memory: with
uint8 they give wrong boxes in 8 of 11 games since NumPy 2, with int64 those of NumPy 1.
"""

import importlib
import warnings
from types import ModuleType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from rlds_kit.base.errors import RldsKitError
from rlds_kit.shaping.objects.box import RAM_BYTES, Box

INSTALL: Final = (
    "pip install --no-deps ocatari==2.2.1 && pip install termcolor scikit-image opencv-python-headless pygame-ce"
)
"""The command that installs what these functions need, beside NumPy 2."""
_HAVE_GLOBALS: Final = frozenset(
    ("Assault", "Boxing", "Carnival", "Hero", "MsPacman", "Pacman", "Pitfall", "Pooyan", "Qbert", "Riverraid")
)
"""Games whose modules of OCAtari keep state in global variables: two episodes at a time would mix."""
_live: Final[set[str]] = set()


class OCAtariObjects:
    """Finds the objects of a game. Frames of an episode are given in order, from its first one on.

    Args:
      game: its name, as in `ALE/<game>-v5`.

    Raises:
      ImportError: OCAtari is not installed; the message has the command.
      ValueError: OCAtari does not support the game.
      RldsKitError: another live instance of a game whose module has global state; close it first.

    >>> with OCAtariObjects("Breakout") as extractor:  # doctest: +SKIP
    ...     extractor.reset()
    ...     boxes = extractor.objects(env.unwrapped.ale.getRAM())
    """

    def __init__(self, game: str) -> None:
        self._module = _extractors()
        if game in _HAVE_GLOBALS and game in _live:
            raise RldsKitError(
                f"OCAtari keeps the state of {game} in global variables: expected one OCAtariObjects({game!r}) at a "
                "time; close the other one, or use another process"
            )
        self.game = game
        self.reset()
        _live.add(game)
        self._is_live = True

    def reset(self) -> None:
        """Prepares for the first frame of an episode."""
        try:
            self._objects: list[Any] = self._module.init_objects(self.game, hud=False)
        except (AssertionError, AttributeError, KeyError, ModuleNotFoundError, SystemExit) as error:
            raise ValueError(f"expected a game that OCAtari knows, got {self.game!r}") from error

    def objects(self, ram: NDArray[np.uint8]) -> list[Box]:
        """The objects of the next frame; `slot` is the place in OCAtari's list.

        Args:
          ram: `[128]` uint8.

        Raises:
          ValueError: the memory has another shape or dtype.
        """
        if ram.shape != (RAM_BYTES,) or ram.dtype != np.uint8:
            raise ValueError(f"expected the memory of a frame, uint8 [{RAM_BYTES}], got {ram.dtype} {ram.shape}")
        self._module.detect_objects_ram(self._objects, ram.astype(np.int64), self.game, False)
        return [
            Box(slot, each.category, *map(int, each.xywh))
            for slot, each in enumerate(self._objects)
            if each  # NoObject, which is false, represents a missing object
        ]

    def close(self) -> None:
        """Allows another instance of the game."""
        if self._is_live:
            _live.discard(self.game)
            self._is_live = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_is_live", False):
            self.close()


def _extractors() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pygame's and OCAtari's imports
        try:
            return importlib.import_module("ocatari.ram.extract_ram_info")
        except ImportError as error:
            raise ImportError(f"{error.name or 'ocatari'} is not installed: {INSTALL}", name=error.name) from error

"""What agents of Mnih et al. (2015) see of a game, made from every frame: for programs in seats, and for recordings."""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rlds_kit.crowd.frames.shrink import Image, gray, shrink

PADDINGS: Final = ("reset", "zero")


class DeepMindFrames:
    """The last screens of a game: each the maximum of two frames, in gray, shrunk, and some frames apart.

    People see every frame; a program gets, at any of them, what it would have got in an environment that skips frames.
    At every fourth frame since the reset this is what Gymnasium's `AtariPreprocessing` (with `noop_max=0`) and
    `FrameStackObservation` give.

    Args:
      skip: frames between two screens.
      stack: screens.
      size: height and width of a screen.
      padding: what is in place of screens before the reset: "reset", its own, or "zero".

    Raises:
      ValueError: an argument is not one of these.

    >>> frames = DeepMindFrames()
    >>> frames.reset(np.zeros((210, 160, 3), np.uint8))
    >>> frames.stack().shape
    (4, 84, 84)
    """

    def __init__(self, *, skip: int = 4, stack: int = 4, size: int = 84, padding: str = "reset") -> None:
        if skip < 1 or stack < 1 or size < 1:
            raise ValueError(f"expected skip, stack and size of at least 1, got {skip}, {stack} and {size}")
        if padding not in PADDINGS:
            raise ValueError(f"padding: expected one of {', '.join(PADDINGS)}, got {padding!r}")
        self._skip, self._stack, self._size, self._padding = skip, stack, size, padding
        self._screens: deque[Image] = deque(maxlen=skip * (stack - 1) + 1)
        self._first: Image | None = None
        self._frame: Image | None = None

    def reset(self, frame: Image) -> None:
        """Begins an episode with its first frame, uint8 `[H, W, 3]`, or `[H, W]` in ALE's gray."""
        self._frame = gray(frame)
        self._first = self._shrunk(self._frame)
        self._screens.clear()
        self._screens.append(self._first)

    def push(self, frame: Image) -> None:
        """Adds the next frame.

        Raises:
          RuntimeError: no episode has begun.
        """
        if self._frame is None:
            raise RuntimeError("expected reset with the first frame before push")
        last, self._frame = self._frame, gray(frame)
        self._screens.append(self._shrunk(np.maximum(self._frame, last) if self._skip > 1 else self._frame))

    def stack(self) -> npt.NDArray[np.uint8]:
        """The screens, the latest last: uint8 `[stack, size, size]`.

        Raises:
          RuntimeError: no episode has begun.
        """
        if self._first is None:
            raise RuntimeError("expected reset with the first frame before stack")
        padding = self._first if self._padding == "reset" else np.zeros_like(self._first)
        ages = range((self._stack - 1) * self._skip, -1, -self._skip)
        return np.stack([self._screens[-1 - age] if age < len(self._screens) else padding for age in ages])

    def _shrunk(self, frame: Image) -> Image:
        return shrink(frame, self._size, self._size)


Act = Callable[[npt.NDArray[np.uint8]], Any]
"""From screens, uint8 `[stack, size, size]`, to an action."""


def every_frame(act: Act, *, skip: int = 4, **options: Any) -> Callable[[Image], Any]:
    """A policy for every frame, from one for screens: it chooses at every `skip`-th, and repeats that in between.

    Such a policy can sit in a seat of the studio beside people: return it from an entry point
    `rlds_kit.studio.policies`.

    Args:
      act: the policy for screens.
      skip: frames between two choices.
      options: of `DeepMindFrames`.

    >>> policy = every_frame(lambda screens: int(screens.max()))
    >>> [policy(np.full((210, 160), shade, np.uint8)) for shade in (3, 4, 5, 6, 7)]
    [3, 3, 3, 3, 7]
    """
    frames = DeepMindFrames(skip=skip, **options)
    seen, chosen = 0, None

    def choose(frame: Image) -> Any:
        nonlocal seen, chosen
        if seen:
            frames.push(frame)
        else:
            frames.reset(frame)
        if seen % skip == 0:
            chosen = act(frames.stack())
        seen += 1
        return chosen

    return choose

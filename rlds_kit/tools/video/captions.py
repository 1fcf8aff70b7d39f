"""Captions: the number of the step, action, reward and return, written under a picture."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.tools.video.pictures import Picture

LINE: Final = 12
"""Pixels of a line."""
_LINES: Final = 4
_LONGEST: Final = 28


@dataclass(frozen=True, slots=True)
class Captions:
    """The caption of a step.

    Attributes:
      step: its number in the episode.
      action: None where there is none.
      reward: for that action; None where there is none.
      total: of the rewards up to it.
    """

    step: int
    action: Any
    reward: Any
    total: float | None

    @property
    def lines(self) -> tuple[str, ...]:
        """One for each.

        >>> Captions(3, np.int64(1), 0.5, 2.5).lines
        ('step 3', 'action 1', 'reward 0.5', 'return 2.5')
        """
        named = (("step", self.step), ("action", self.action), ("reward", self.reward), ("return", self.total))
        return tuple(f"{name} {_text(value)}" for name, value in named)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        text = " ".join(f"{name}={_text(each)}" for name, each in value.items())
    elif isinstance(value, str | bytes):
        text = str(value)
    else:
        array = np.asarray(value)
        numbers = [f"{each:.4g}" if array.dtype.kind == "f" else str(each) for each in array.reshape(-1)[:_LONGEST]]
        text = numbers[0] if array.ndim == 0 else f"[{', '.join(numbers)}]"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def with_captions(frame: Picture, captions: Captions) -> Picture:
    """A picture with white lines on black under it. Nothing of the picture is hidden.

    Raises:
      MissingExtraError: Pillow is not installed.
    """
    with needs("video"):
        from PIL import Image, ImageDraw, ImageFont
    height, width, _ = frame.shape
    strip = Image.new("RGB", (width, _LINES * LINE))
    draw = ImageDraw.Draw(strip)
    font = ImageFont.load_default(10)
    for number, line in enumerate(captions.lines):
        draw.text((2, number * LINE), line, fill=(255, 255, 255), font=font)
    return np.concatenate([frame, np.asarray(strip, np.uint8)]).reshape(height + _LINES * LINE, width, 3)

"""The pictures of an episode, one after the other; only a few steps are in memory at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.base.step import ACTION, REWARD
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.tools.replay.drawn import NotDrawnError, drawn
from rlds_kit.tools.video.errors import VideoError
from rlds_kit.tools.video.pictures import Picture, enlarged, picture

LINE: Final = 12
"""Pixels of a line."""
_LINES: Final = 4
_LONGEST: Final = 28


@dataclass(frozen=True, slots=True)
class Captions:
    """The caption of a step.

    Attributes:
      step: its number in the episode.
      action: None if there is none.
      reward: for that action; None if there is none.
      total: the sum of the rewards so far.
    """

    step: int
    action: Any
    reward: Any
    total: float | None

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the caption.

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
    """Adds lines of white text on black below a picture.

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


_STEPS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """Options of pictures.

    Attributes:
      field: path of the images; None: frames that the environment renders again from seed and actions.
      white: the float value of white; None: 1.
      stacked: whether values are stacked frames.
      scale: width and height of each pixel in the result.
      captions: whether step, action, reward and return are written below them.
    """

    field: str | None
    white: float | None = None
    stacked: bool = False
    scale: int = 1
    captions: bool = False


def pictures_of(dataset: Dataset, number: int, options: PictureOptions) -> Iterator[Picture]:
    """The pictures of the steps of an episode that have one.

    Raises:
      VideoError: it has no such field, or the values are no images.
    """
    if options.field is None:
        yield from _drawn_again(dataset.episodes[number], number, options)
        return
    try:
        shown = dataset.select(options.field).episodes[number]
    except KeyError as error:
        raise VideoError(f"expected a field of the dataset, got {options.field!r}: {error.args[0]}") from error
    captions = _captions(dataset.episodes[number]) if options.captions else None
    for begin in range(0, len(shown), _STEPS_AT_ONCE):
        part = shown[begin : begin + _STEPS_AT_ONCE]
        try:
            values, mask = part[options.field], part.mask(options.field)
        except KeyError as error:
            raise VideoError(f"episode {number} has no field {options.field!r}") from error
        for row in np.flatnonzero(mask):
            place = f"{options.field}, episode {number}, step {begin + row}"
            frame = enlarged(picture(values[row], place, options.white, stacked=options.stacked), options.scale)
            yield frame if captions is None else with_captions(frame, captions[begin + int(row)])


def _drawn_again(episode: Episode, number: int, options: PictureOptions) -> Iterator[Picture]:
    captions = _captions(episode) if options.captions else None
    try:
        for row, shown in enumerate(drawn(episode)):
            frame = enlarged(shown, options.scale)
            yield frame if captions is None else with_captions(frame, captions[row])
    except NotDrawnError as error:
        raise VideoError(
            f"episode {number} has no images, and cannot be drawn again: {error}. Name a field with field, or --field, "
            "or leave the episode out"
        ) from error


def _captions(episode: Episode) -> list[Captions]:
    """The captions of the steps, with the sum of the rewards so far."""
    columns: dict[str, Any] = {}
    masks: dict[str, np.ndarray] = {}
    for name in (ACTION, REWARD):
        if name in episode.fields:
            columns[name], masks[name] = episode[name], episode.mask(name)
    totals = None
    if REWARD in columns and isinstance(columns[REWARD], np.ndarray) and columns[REWARD].ndim == 1:
        totals = np.cumsum(np.where(masks[REWARD], columns[REWARD], 0), dtype=np.float64)
    found = []
    for row in range(len(episode)):
        action, reward = (
            _at(columns[name], row) if name in columns and masks[name][row] else None for name in (ACTION, REWARD)
        )
        found.append(Captions(row, action, reward, None if totals is None else float(totals[row])))
    return found


def _at(column: Any, row: int) -> Any:
    if isinstance(column, dict):
        return {name: _at(each, row) for name, each in column.items()}
    return tuple(_at(each, row) for each in column) if isinstance(column, tuple) else column[row]

"""The pictures of an episode, one after the other; a few steps of it are in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit.base.step import ACTION, REWARD
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.tools.replay.drawn import NotDrawnError, drawn
from rlds_kit.tools.video.captions import Captions, with_captions
from rlds_kit.tools.video.errors import VideoError
from rlds_kit.tools.video.pictures import Picture, enlarged, picture

_STEPS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """Options of pictures.

    Attributes:
      field: path of what they show; None: what the environment draws, made again from seed and actions.
      white: the float that is white; None: 1.
      stacked: whether values are stacked frames.
      scale: how many pixels a side each pixel gets.
      captions: whether step, action, reward and return are written under them.
    """

    field: str | None
    white: float | None = None
    stacked: bool = False
    scale: int = 1
    captions: bool = False


def pictures_of(dataset: Dataset, number: int, options: PictureOptions) -> Iterator[Picture]:
    """The pictures of an episode, of the steps that have one.

    Raises:
      VideoError: it has no such field, or values that are no images.
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
    """The captions of the steps; the return is that of the rewards so far."""
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

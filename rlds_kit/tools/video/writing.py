"""Writes episodes as videos: one file, one for each episode, or all of them side by side."""

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.base.frame_rate import DEFAULT, known_rate
from rlds_kit.base.progress import Progress
from rlds_kit.base.step import TIME_NS
from rlds_kit.base.whole_file import make_directory, whole_file
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.spec import Array
from rlds_kit.tools.replay.drawn import why_not_drawn
from rlds_kit.tools.video.encoding import ENDINGS, MOST_GIF_FRAMES, write_gif, write_mp4
from rlds_kit.tools.video.episode_frames import PictureOptions, pictures_of
from rlds_kit.tools.video.errors import VideoError
from rlds_kit.tools.video.pictures import Picture, chosen_field, image_fields, side_by_side

LARGEST_SCALE: Final = 32
MOST_IN_A_GRID: Final = 64
_SLOWEST, _FASTEST = 0.01, 1000.0


@dataclass(frozen=True, slots=True)
class Video:
    """A file that was written.

    Attributes:
      path: of the file.
      episodes: numbers of those that it shows.
      frames: number of frames.
      fps: frames per second.
      is_drawn_again: whether the pictures were rendered again from seed and actions, because none were recorded.
    """

    path: Path
    episodes: tuple[int, ...]
    frames: int
    fps: float
    is_drawn_again: bool = False


def write_video(  # noqa: PLR0913  all are options of a video
    dataset: Dataset,
    to: str | os.PathLike[str],
    *,
    episodes: Iterable[int] | None = None,
    field: str | None = None,
    fps: float | None = None,
    scale: int = 1,
    white: float | None = None,
    stacked: bool = False,
    captions: bool = False,
    grid: bool = False,
    lossless: bool = False,
    progress: Progress | None = None,
) -> list[Video]:
    """Writes episodes as MP4 (H.264) or GIF.

    Args:
      dataset: an open dataset.
      to: a file that ends in .mp4 or .gif, with the episodes one after the other; else a folder, which gets an MP4 for
        each episode. The file must not exist.
      episodes: numbers; None: all.
      field: path of the images, as in "observation/pixels"; None: the only one with the shape of images; if there
        is none, the environment is made again and renders the recorded actions from the recorded seed.
      fps: frames per second; None: from the dataset's metadata, the render rate of the recorded environment, or the
        median of `time_ns`, or 30; at most 50 for a GIF.
      scale: width and height of each pixel in the video; pixels stay sharp squares.
      white: the float value of white; None: the maximum in the field's spec, or 1.
      stacked: whether values are stacked frames, of which the newest is shown.
      captions: whether step, action, reward and return are written below the pictures.
      grid: whether all episodes play side by side until the longest ends; the others then show their last picture.
      lossless: whether an MP4 stores pixels exactly; fewer programs support this. A GIF does with up to 256 colours.
      progress: gets the bytes done, estimated as equal for all steps.

    Returns:
              The written files.

    Raises:
      VideoError: there is no such episode or field, or its values are no images.
      DatasetExistsError: the file exists.
      MissingExtraError: PyAV or Pillow is not installed.

    >>> write_video(dataset, "pong.mp4", episodes=[0, 3], scale=3, captions=True)  # doctest: +SKIP
    """
    path = Path(to)
    numbers = _numbers(dataset, episodes)
    _require_numbers(scale, fps, white)
    name, spec = _shown(dataset, numbers, field)
    if white is None and spec is not None and spec.highest is not None and spec.dtype.kind == "f":
        high = float(np.max(spec.highest))
        white = high if math.isfinite(high) and high > 0 else None
    options = PictureOptions(name, white, stacked, scale, captions)
    rate = _rate(dataset, numbers, path, fps)
    size = sum(shard.stat().st_size for shard in set(dataset.shards()))
    meter = _Progress(progress, sum(dataset.episodes[number].length for number in numbers), size)
    streams = [meter.of(pictures_of(dataset, number, options)) for number in numbers]
    if path.suffix.lower() not in ENDINGS:
        if path.suffix and not path.is_dir():
            raise VideoError(f"expected a name that ends in {' or '.join(ENDINGS)}, or a folder, got {str(path)!r}")
        if grid:
            raise VideoError("a grid is one file: give a name that ends in .mp4 or .gif")
        make_directory(path)
        names = [path / f"episode-{number:06d}.mp4" for number in numbers]
        for file in names:  # before anything is drawn
            _require_free(file)
        return [
            _write(file, [number], frames, rate, is_lossless=lossless, is_drawn_again=name is None)
            for file, number, frames in zip(names, numbers, streams, strict=True)
        ]
    frames = _grid(streams) if grid else itertools.chain.from_iterable(streams)
    return [_write(path, numbers, frames, rate, is_lossless=lossless, is_drawn_again=name is None)]


def _shown(dataset: Dataset, numbers: Sequence[int], field: str | None) -> tuple[str | None, Array | None]:
    """The field to show; None if there is none with images, but the first episode can be rendered again."""
    if field is None and not image_fields(dataset.spec) and not why_not_drawn(dataset.episodes[numbers[0]]):
        return None, None
    return chosen_field(dataset.spec, field)


def _numbers(dataset: Dataset, episodes: Iterable[int] | None) -> list[int]:
    count = len(dataset.episodes)
    try:
        numbers = list(range(count)) if episodes is None else [range(count)[number] for number in episodes]
    except IndexError:
        raise VideoError(f"the dataset has {count} episodes, and not all of the given ones") from None
    if not numbers:
        raise VideoError("there are no episodes to show")
    return numbers


def _require_numbers(scale: int, fps: float | None, white: float | None) -> None:
    if not 1 <= scale <= LARGEST_SCALE:
        raise VideoError(f"expected a scale from 1 to {LARGEST_SCALE}, got {scale}")
    if fps is not None and not _SLOWEST <= fps <= _FASTEST:
        raise VideoError(f"expected from {_SLOWEST} to {_FASTEST:g} frames a second, got {fps}")
    if white is not None and not (math.isfinite(white) and white > 0):
        raise VideoError(f"expected a positive number for white, got {white}")


def _rate(dataset: Dataset, numbers: Sequence[int], path: Path, fps: float | None) -> float:
    if fps is not None:
        return fps
    found = known_rate(dataset.metadata, dataset.environment) or _recorded_rate(dataset, numbers[0]) or DEFAULT
    found = min(max(found, _SLOWEST), _FASTEST)
    return min(found, MOST_GIF_FRAMES) if path.suffix.lower() == ".gif" else found


def _recorded_rate(dataset: Dataset, number: int) -> float | None:
    """Steps per second by the recorded clock, limited to 1 to 120: faster ones were not recorded for watching."""
    episode = dataset.episodes[number]
    if TIME_NS not in episode.fields or len(episode) < 2:
        return None
    seconds = float(np.median(np.diff(episode[TIME_NS]))) / 1e9
    return 1 / seconds if seconds > 0 and 1 <= 1 / seconds <= 120 else None


def _grid(streams: Sequence[Iterator[Picture]]) -> Iterator[Picture]:
    """Pictures side by side, until the longest episode ends."""
    if len(streams) > MOST_IN_A_GRID:
        raise VideoError(f"expected at most {MOST_IN_A_GRID} episodes in a grid, got {len(streams)}")
    columns = math.ceil(math.sqrt(len(streams)))
    shown: list[Picture | None] = [None] * len(streams)
    for frames in itertools.zip_longest(*streams):
        shown = [last if frame is None else frame for frame, last in zip(frames, shown, strict=True)]
        pictures = [frame for frame in shown if frame is not None]
        if len(pictures) < len(shown) or len({frame.shape for frame in pictures}) > 1:
            raise VideoError("expected episodes with pictures of the same size in a grid; leave out the others")
        yield side_by_side(pictures, columns)


def _write(
    path: Path,
    numbers: Sequence[int],
    frames: Iterator[Picture],
    rate: float,
    *,
    is_lossless: bool,
    is_drawn_again: bool,
) -> Video:
    """Writes a file under a temporary name, and renames it when it is complete and durable."""
    _require_free(path)
    with whole_file(path, path.with_name(f".{path.name}.partial"), replace=False) as partial:
        if path.suffix.lower() == ".gif":
            count = write_gif(partial, frames, rate)
        else:
            count = write_mp4(partial, frames, rate, lossless=is_lossless)
    return Video(path, tuple(numbers), count, rate, is_drawn_again)


def _require_free(path: Path) -> None:
    if path.exists():
        raise DatasetExistsError(f"{path}: expected a path where nothing is; give another one")


class _Progress:
    """Counts the frames."""

    def __init__(self, progress: Progress | None, total: int, size: int) -> None:
        self._progress, self._total, self._size, self._done = progress, total, size, 0

    def of(self, frames: Iterator[Picture]) -> Iterator[Picture]:
        """The frames, counted."""
        for frame in frames:
            self._done += 1
            if self._progress is not None:
                self._progress(self._size * min(self._done, self._total) // self._total, self._size)
            yield frame

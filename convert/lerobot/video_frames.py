"""Frames of a video as the rows of a column, found by their times and decoded one after the other."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError, RldsKitError
from rlds_kit.base.extras import needs

LOSSLESS: Final = frozenset(("apng", "ffv1", "ffvhuff", "huffyuv", "magicyuv", "png", "qtrle", "rawvideo", "utvideo"))
"""The lossless codecs among those that LeRobot's tools can write."""
LOSSLESS_COLOURS: Final = frozenset(("rgb24", "bgr24", "rgb0", "bgr0", "0rgb", "0bgr", "gbrp", "gray"))
"""Layouts of pixels that represent 8 bits of each colour without loss."""
_MOST_PIXELS: Final = 1 << 26


def library() -> Any:
    """Imports av.

    Raises:
      MissingExtraError: it is not installed.
    """
    with needs("video"):
        import av
    return av


def coding(path: Path) -> str | None:
    """The codec of a video if it is lossy; else None.

    Raises:
      FormatError: it is no video.
      MissingExtraError: PyAV is not installed.
    """
    container, stream = _opened(path)
    with container:
        context = stream.codec_context
        layout = context.pix_fmt or "unknown pixels"
        is_lossless = context.name in LOSSLESS and layout in LOSSLESS_COLOURS
        return None if is_lossless else f"video: {stream.codec.canonical_name}, {layout}"


class VideoFrames(Sequence[np.ndarray]):
    """The frames of a video at given times.

    Decoding goes forward; reading an earlier row starts from the beginning. One frame at a time is in memory.

    Args:
      path: of the video.
      times: `[rows]` float64, seconds since the begin of the file.
      tolerance: maximum difference in seconds; less than half the duration of a frame, so that the frame is
        unambiguous.
      shape: height, width and channels, 1 or 3.
    """

    def __init__(self, path: Path, times: np.ndarray, tolerance: float, shape: tuple[int, ...]) -> None:
        self._path, self._times, self._tolerance, self.shape = path, times, tolerance, shape
        self._frames: Iterator[tuple[float, Any]] = iter(())
        self._row, self._pixels = -1, np.empty(0)

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, row: Any) -> Any:
        """A frame `[height, width, channels]`, uint8.

        Raises:
          FormatError: there is none at that time, or it has another size.
        """
        number = range(len(self._times))[row]
        if number == self._row:
            return self._pixels
        av = library()
        try:
            if number < self._row or self._row < 0:
                self._frames = self._from(self._times[number])
            self._pixels = self._next(self._times[number])
        except (av.FFmpegError, ValueError, OSError, MemoryError) as error:
            if isinstance(error, RldsKitError):
                raise
            raise FormatError(f"{self._path}: expected a video: {error}") from error
        self._row = number
        return self._pixels

    def _from(self, time: float) -> Iterator[tuple[float, Any]]:
        """The frames from one that is not after a time, each with its own time."""
        for begin in (time, None):  # if the index of a file is wrong, seeking may go too far
            frames = _frames(self._path, begin, self.shape)
            first = next(frames, None)
            if first is not None and (begin is None or first[0] <= time + self._tolerance):
                yield first
                yield from frames
                return

    def _next(self, time: float) -> np.ndarray:
        for shown, frame in self._frames:
            if abs(shown - time) <= self._tolerance:
                pixels: np.ndarray = frame.to_ndarray(format="gray" if self.shape[2] == 1 else "rgb24")
                return pixels.reshape(self.shape)
            if shown > time:
                break
        raise FormatError(f"{self._path}: expected a frame at {time:.6f} s, but there is none within its own time")


def _opened(path: Path) -> tuple[Any, Any]:
    av = library()
    if not path.is_file():
        raise FormatError(f"{path}: expected a video, but there is none")
    try:
        container = av.open(str(path), "r")
    except (av.FFmpegError, ValueError, OSError) as error:
        raise FormatError(f"{path}: expected a video: {error}") from error
    if not container.streams.video or container.streams.video[0].codec_context is None:
        container.close()
        raise FormatError(f"{path}: expected a video, but no stream of it is one that can be decoded")
    return container, container.streams.video[0]


def _frames(path: Path, begin: float | None, shape: tuple[int, ...]) -> Iterator[tuple[float, Any]]:
    container, stream = _opened(path)
    with container:
        context = stream.codec_context
        _require_size(path, (context.height, context.width), shape)
        context.options = {"max_pixels": str(_MOST_PIXELS)}
        context.thread_type = "SLICE"
        if begin is not None:
            container.seek(int(begin / stream.time_base), stream=stream)
        for frame in container.decode(stream):
            if frame.pts is None:
                raise FormatError(f"{path}: expected a time for each frame")
            _require_size(path, (frame.height, frame.width), shape)
            yield float(frame.pts * frame.time_base), frame


def _require_size(path: Path, size: tuple[int, int], shape: tuple[int, ...]) -> None:
    if size != shape[:2] or shape[2] not in (1, 3):
        raise FormatError(f"{path}: expected frames of the shape {shape}, with 1 or 3 channels, got {size}")

"""Writes pictures as MP4 or GIF."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.tools.video.errors import VideoError
from rlds_kit.tools.video.pictures import Picture

ENDINGS: Final = (".mp4", ".gif")
MOST_GIF_FRAMES: Final = 50
"""A second: viewers show GIFs that say more at 10."""
_MOST_SIDE: Final = 16_384
_COLOURS: Final = 256


def write_mp4(path: Path, frames: Iterator[Picture], fps: float, *, lossless: bool) -> int:
    """Writes H.264: with 4:2:0 chroma, which every player supports, or lossless RGB, which some do not support.

    Args:
      path: where to write.
      frames: of the same size; for 4:2:0 a black row or column is added if their number is odd.
      fps: frames per second.
      lossless: whether pixels are stored exactly.

    Returns:
      The number of frames.

    Raises:
      MissingExtraError: PyAV is not installed.
      VideoError: there are no frames, they are too large, or differ in size.
    """
    with needs("video"):
        import av
    first, rest = _begun(frames)
    rate = Fraction(fps).limit_denominator(1001)
    codec, layout, options = ("libx264rgb", "rgb24", {"qp": "0"}) if lossless else ("libx264", "yuv420p", {"crf": "18"})
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container:
        stream: Any = container.add_stream(codec, rate=rate, options=options)
        stream.pix_fmt = layout
        height, width, _ = first.shape if lossless else _even(first).shape
        stream.height, stream.width = height, width
        count = 0
        for count, frame in enumerate(rest, 1):
            shown = av.VideoFrame.from_ndarray(frame if lossless else _even(frame), format="rgb24")
            shown.pts, shown.time_base = count - 1, 1 / rate
            container.mux(stream.encode(shown))
        container.mux(stream.encode(None))
    return count


def write_gif(path: Path, frames: Iterator[Picture], fps: float) -> int:
    """Writes a GIF that repeats. Frames of up to 256 colours are stored exactly.

    Args and errors are those of `write_mp4`. All frames are in memory, one byte per pixel.
    """
    with needs("video"):
        from PIL import Image
    if fps > MOST_GIF_FRAMES:
        raise VideoError(f"a GIF shows at most {MOST_GIF_FRAMES} frames a second, got {fps:g}; give fps, or --fps")
    _, rest = _begun(frames)
    pictures = [_with_palette(Image, frame) for frame in rest]
    times = np.rint(np.arange(len(pictures) + 1) * 100 / fps).astype(int) * 10
    pictures[0].save(
        path,
        "GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=np.diff(times).tolist(),
        loop=0,
        disposal=1,
        optimize=False,
    )
    return len(pictures)


def _begun(frames: Iterator[Picture]) -> tuple[Picture, Iterator[Picture]]:
    """The first frame, and all of them."""
    first = next(frames, None)
    if first is None:
        raise VideoError("there are no frames to show")
    if max(first.shape) > _MOST_SIDE:
        raise VideoError(f"expected frames of at most {_MOST_SIDE} pixels a side, got {first.shape}; lower the scale")

    def all_of_them() -> Iterator[Picture]:
        yield first
        for number, frame in enumerate(frames, 1):
            if frame.shape != first.shape:
                raise VideoError(
                    f"expected frames of the shape {first.shape}, got {frame.shape} in frame {number}; give a folder, "
                    "which gets a file for each episode"
                )
            yield frame

    return first, all_of_them()


def _even(frame: Picture) -> Picture:
    height, width, _ = frame.shape
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0))) if height % 2 or width % 2 else frame


def _with_palette(image: Any, frame: Picture) -> Any:
    """Converts a picture to 256 colours, without a change if it has no more."""
    packed = (frame.astype(np.uint32) << np.array([16, 8, 0], np.uint32)).sum(axis=2, dtype=np.uint32)
    colours, places = np.unique(packed, return_inverse=True)
    if len(colours) > _COLOURS:
        return image.fromarray(frame).quantize(_COLOURS, method=image.Quantize.MEDIANCUT)
    made = image.fromarray(places.reshape(packed.shape).astype(np.uint8), mode="P")
    palette = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.uint8)
    made.putpalette(palette.tobytes())
    return made

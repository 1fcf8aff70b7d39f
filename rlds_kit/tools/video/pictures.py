"""Finds the field with images, and converts its values to RGB pictures of 8 bits."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rlds_kit import spec as specs
from rlds_kit.tools.video.errors import VideoError

Picture = npt.NDArray[np.uint8]
"""`[height, width, 3]`."""
SMALLEST: Final = 16
"""Fewest pixels of a side: smaller arrays are taken for other data unless they are named."""
_SHAPES: Final = "[height, width], [height, width, 1, 3 or 4] or [3, height, width]"


def image_fields(spec: specs.Dict) -> dict[str, specs.Array]:
    """The fields with the shape of images, by their paths.

    >>> image_fields(specs.Dict({"pixels": specs.Array((84, 84), "uint8"), "action": specs.Array((2,), "float32")}))
    {'pixels': Array((84, 84), uint8)}
    """
    return {path: array for path, array in _arrays(spec, "") if _is_image(array)}


def chosen_field(spec: specs.Dict, wanted: str | None) -> tuple[str, specs.Array | None]:
    """The path of the field to show, and its spec if it is declared.

    Raises:
      VideoError: no field is named, and none has the shape of images, or several have.
    """
    if wanted is not None:
        return wanted, dict(_arrays(spec, "")).get(wanted)
    found = image_fields(spec)
    if len(found) == 1:
        return next(iter(found.items()))
    if found:
        raise VideoError(f"expected one field of images, got {', '.join(found)}; name one with field, or --field")
    others = ", ".join(path for path, _ in _arrays(spec, "")) or "none that is an array"
    raise VideoError(
        f"expected a field of images of {SMALLEST} pixels a side or more; the dataset has {others}. Name one with "
        "field, or --field"
    )


def _arrays(spec: specs.Spec, path: str) -> Iterator[tuple[str, specs.Array]]:
    if isinstance(spec, specs.Dict):
        for name, inner in spec.fields.items():
            yield from _arrays(inner, f"{path}/{name}" if path else name)
    elif isinstance(spec, specs.Array):
        yield path, spec


def _is_image(array: specs.Array) -> bool:
    sides = [length for length in array.shape if length is None or length >= SMALLEST]
    is_number = array.dtype == np.uint8 or array.dtype.kind == "f"
    return is_number and 2 <= len(array.shape) <= 4 and len(sides) == 2


def picture(value: Any, place: str, maximum: float | None = None, *, stacked: bool = False) -> Picture:
    """A value as a picture.

    Args:
      value: uint8 or bool, or floats between 0 and `maximum`, of the shape [height, width], [height, width, channels]
        with 1, 3 or 4 channels, the fourth of which is left out, or [3, height, width].
      place: of the value, for errors.
      maximum: the float value of white; None: 1.
      stacked: whether the shorter one of the first and the last dimension is one of frames; the last frame is shown.

    Raises:
      VideoError: it has another dtype or shape.
    """
    frame = np.asarray(value)
    if stacked:
        if frame.ndim not in (3, 4):
            raise VideoError(f"{place}: expected stacked frames, got the shape {frame.shape}")
        frame = frame[-1] if frame.ndim == 4 or frame.shape[0] < frame.shape[-1] else frame[..., -1]
    if frame.ndim == 3 and frame.shape[0] == 3 and frame.shape[2] not in (1, 3, 4):
        frame = np.moveaxis(frame, 0, -1)
    if frame.ndim == 3 and frame.shape[2] in (1, 4):
        frame = frame[..., 0] if frame.shape[2] == 1 else frame[..., :3]
    if frame.ndim == 2:
        frame = np.repeat(frame[..., np.newaxis], 3, axis=2)
    if frame.ndim != 3 or frame.shape[2] != 3 or not frame.size:
        raise VideoError(
            f"{place}: expected an image of the shape {_SHAPES}, got {np.shape(value)}; frames that are stacked need "
            "stacked=True, or --stacked"
        )
    return _bytes(frame, place, 1.0 if maximum is None else maximum)


def _bytes(frame: np.ndarray, place: str, maximum: float) -> Picture:
    if frame.dtype == np.uint8:
        return np.ascontiguousarray(frame)
    if frame.dtype == np.bool_:
        return frame.astype(np.uint8) * np.uint8(255)
    if frame.dtype.kind != "f":
        raise VideoError(f"{place}: expected an image of uint8, bool or floats, got {frame.dtype}")
    if not np.all((frame >= 0) & (frame <= maximum)):
        low, high = np.min(frame), np.max(frame)
        raise VideoError(
            f"{place}: expected floats between 0 and {maximum:g}, got some between {low:g} and {high:g}; say what "
            "white is with white, or --white"
        )
    return np.rint(frame.astype(np.float64) * (255 / maximum)).astype(np.uint8)


def enlarged(frame: Picture, scale: int) -> Picture:
    """Enlarges a picture: each pixel becomes a square of this width, with sharp edges.

    >>> enlarged(np.zeros((2, 3, 3), np.uint8), 4).shape
    (8, 12, 3)
    """
    return frame if scale == 1 else np.repeat(np.repeat(frame, scale, axis=0), scale, axis=1)


def side_by_side(frames: list[Picture], columns: int) -> Picture:
    """Arranges pictures of the same size in rows of this length; unused places are black."""
    height, width, _ = frames[0].shape
    rows = -(-len(frames) // columns)
    sheet = np.zeros((rows * height, columns * width, 3), np.uint8)
    for number, frame in enumerate(frames):
        row, column = divmod(number, columns)
        sheet[row * height : (row + 1) * height, column * width : (column + 1) * width] = frame
    return sheet

"""Reads `meta/info.json` of a LeRobot dataset: features, frames per second, and paths of files."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError

INFO: Final = "meta/info.json"
IMAGE: Final = "image"
VIDEO: Final = "video"
TEXT: Final = "string"
DTYPES: Final = frozenset(
    (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
)
MOST_DIMENSIONS: Final = 5
_LARGEST_FILE: Final = 1 << 26
_LARGEST_VALUE: Final = 1 << 30
_MOST_FEATURES: Final = 10_000
_PLACE: Final = re.compile(r"\{(chunk_index|file_index|video_key)(?::0?(\d{1,2})d)?\}")
_CHANNELS: Final = ("channel", "channels")


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of frames.

    Attributes:
      name: its column, or the folder of its videos.
      dtype: of its values, or "image", "video", "string", or an unknown one.
      shape: of one value as declared; of images as decoded: height, width, channels.
      is_depth: whether it is a depth map, which is quantised, or stored in other files than PNG.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_depth: bool = False


@dataclass(frozen=True, slots=True)
class Info:
    """The content of `meta/info.json`.

    Attributes:
      fps: frames per second.
      features: by name.
      content: all of it.
    """

    fps: float
    features: Mapping[str, Feature]
    content: Mapping[str, Any]

    def path(self, kind: str, **places: Any) -> PurePosixPath:
        """A file below the directory of the dataset.

        Args:
          kind: "data_path" or "video_path".
          **places: chunk_index, file_index and, of videos, video_key.

        Raises:
          FormatError: the template has other names, or leads out of the directory.
        """
        template = self.content.get(kind)
        if not isinstance(template, str):
            raise FormatError(f"{INFO}: expected {kind} to be text, got {template!r}")

        def place(match: re.Match[str]) -> str:
            value = places.get(match[1])
            if value is None or (match[2] and not isinstance(value, int)):
                raise FormatError(f"{INFO}: expected {kind} without {match[0]}")
            return f"{value:0{int(match[2])}d}" if match[2] else str(value)

        text = _PLACE.sub(place, template)
        path = PurePosixPath(text)
        if path.is_absolute() or ".." in path.parts or re.search(r"[{}\\:\0]", text) or not path.parts:
            raise FormatError(f"{INFO}: expected {kind} to stay below the dataset, got {template!r}")
        return path


def read_info(directory: Path) -> Info:
    """Reads `meta/info.json`.

    Raises:
      FormatError: it is not that of a LeRobot dataset of version 3, or has impossible values.
    """
    path = directory / INFO
    content = read_json(path)
    version = str(content.get("codebase_version"))
    if not version.startswith("v3."):
        raise FormatError(
            f"{path}: expected codebase_version v3.0 or a later v3, got {version}; convert older datasets with "
            "python -m lerobot.datasets.v30.convert_dataset_v21_to_v30"
        )
    fps = content.get("fps")
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not (math.isfinite(fps) and 0 < fps < 1e9):
        raise FormatError(f"{path}: expected a positive number of frames a second, got {fps!r}")
    features = content.get("features")
    if not isinstance(features, dict) or len(features) > _MOST_FEATURES:
        raise FormatError(f"{path}: expected an object of features")
    return Info(fps, {name: _feature(name, each, f"{path}, {name}") for name, each in features.items()}, content)


def read_json(path: Path) -> dict[str, Any]:
    """An object of JSON.

    Raises:
      FormatError: the file is not a JSON object.
    """
    if not path.is_file():
        raise FormatError(f"{path}: expected a file of JSON, but there is none")
    if path.stat().st_size > _LARGEST_FILE:
        raise FormatError(f"{path}: expected at most {_LARGEST_FILE} bytes of JSON, got {path.stat().st_size}")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: expected JSON: {error}") from error
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected a JSON object")
    return content


def _feature(name: str, content: Any, place: str) -> Feature:
    if not isinstance(content, dict) or not isinstance(content.get("dtype"), str):
        raise FormatError(f"{place}: expected an object with a dtype, got {content!r:.200}")
    dtype, shape = content["dtype"], content.get("shape")
    if not isinstance(shape, list) or not all(type(each) is int and 0 < each < 1 << 31 for each in shape):
        raise FormatError(f"{place}: expected a shape of positive lengths, got {shape!r:.200}")
    itemsize = np.dtype(dtype).itemsize if dtype in DTYPES else 1
    if math.prod(shape) * itemsize > _LARGEST_VALUE:
        raise FormatError(f"{place}: expected values of at most {_LARGEST_VALUE} bytes, got the shape {shape}")
    info = content.get("info")
    info = info if isinstance(info, dict) else {}
    is_depth = bool(info.get("is_depth_map") or info.get("video.is_depth_map"))
    if dtype in (IMAGE, VIDEO):
        shape = _image_shape(shape, content.get("names"), place)
    return Feature(name, dtype, tuple(shape), is_depth)


def _image_shape(shape: list[int], names: Any, place: str) -> list[int]:
    """Height, width, channels, as images are decoded; some datasets declare the channels first."""
    if len(shape) != 3:
        raise FormatError(f"{place}: expected an image of three dimensions, got {shape}")
    named = [str(each) for each in names] if isinstance(names, list) and len(names) == 3 else []
    is_first = named[0] in _CHANNELS if named else shape[0] in (1, 3, 4) and shape[2] not in (1, 3, 4)
    return [*shape[1:], shape[0]] if is_first else shape

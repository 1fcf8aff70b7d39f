"""The interface of Minari's storages of episodes, https://minari.farama.org/content/dataset_standards."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from gymnasium import spaces

from rlds_kit.base.errors import FormatError
from rlds_kit.convert import images
from rlds_kit.convert.minari.spaces import Space
from rlds_kit.convert.protocol import Loss

DATA: Final = "data"
METADATA_FILE: Final = "metadata.json"
_SMALLEST_IMAGE: Final = 32


@dataclass(frozen=True)
class StoredEpisode:
    """An episode in Minari's form.

    Attributes:
      observations: n + 1 of them: a column, or a dict or tuple of columns like the space.
      actions: n of them.
      rewards: n of them.
      terminations: n of them.
      truncations: n of them.
      infos: columns by name, in nests.
      attributes: of the whole episode: its id, `total_steps`, seed, options and more.
      unknown: names of other data.
    """

    observations: Any
    actions: Any
    rewards: np.ndarray
    terminations: np.ndarray
    truncations: np.ndarray
    infos: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    unknown: Sequence[str] = ()


class StorageReader(Protocol):
    """Reads the episodes of a dataset.

    Attributes:
      names: of the episodes, in order.
      size: bytes on disk.
    """

    names: Sequence[str]
    size: int

    def opened(self) -> AbstractContextManager[Callable[[str], StoredEpisode]]:
        """Yields a function that reads an episode by its name, while the files are open."""


class StorageWriter(Protocol):
    """Writes the episodes of a dataset, images lossless.

    Attributes:
      data_format: Minari's name of the storage.
      has_step_infos: whether there may be one info for each action, instead of one for each observation.
    """

    data_format: str
    has_step_infos: bool

    def unfit(self, column: Any) -> str | None:
        """The reason why a column cannot be stored; None if it can."""

    def attributes(self, content: Mapping[str, Any], place: str) -> tuple[dict[str, Any], list[Loss]]:
        """The attributes of an episode that can be stored, as a nest, and the losses."""

    def write(self, number: int, episode: StoredEpisode) -> None:
        """Writes an episode whose values can all be stored."""

    def close(self) -> None:
        """Finishes the files."""


def data_directory(path: Path) -> Path:
    """Finds the directory with the files of a dataset: `data`, or the directory itself."""
    return path / DATA if (path / DATA / METADATA_FILE).is_file() else path


def read_json(path: Path) -> dict[str, Any]:
    """The content of a file with a JSON object.

    Raises:
      FormatError: it has other content.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: expected JSON: {error}") from error
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected a JSON object")
    return content


def is_image(space: Space) -> bool:
    """Whether Minari stores the values of a space as JPEG by default."""
    return (
        isinstance(space, spaces.Box)
        and len(space.shape) in (2, 3)
        and min(space.shape[:2]) >= _SMALLEST_IMAGE
        and space.dtype == np.uint8
        and bool(np.all(space.low == 0) and np.all(space.high == 255))
    )


def decoded_images(files: Sequence[bytes], space: Space) -> np.ndarray:
    """The pixels of JPEG files `[files, ...]`, of the shape that their space has."""
    height, width, *channels = space.shape or ()
    shape = (height, width, channels[0] if channels else 1)
    frames = [images.decode(each, shape, np.dtype(np.uint8)) for each in files]
    return np.stack(frames).reshape(-1, *(space.shape or ()))

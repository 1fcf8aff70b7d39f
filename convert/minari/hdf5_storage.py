"""Minari's storage in HDF5: a group for each episode in `main_data.hdf5`, and a dataset for each column."""

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit.base.errors import FormatError
from rlds_kit.convert import hdf5
from rlds_kit.convert.decoded_size import require_plausible
from rlds_kit.convert.minari.columns import attributes, is_name
from rlds_kit.convert.minari.spaces import Space
from rlds_kit.convert.minari.storage import StoredEpisode, decoded_images, is_image
from rlds_kit.convert.nest_of_paths import unflattened
from rlds_kit.convert.protocol import ConversionError, Loss

MAIN_FILE: Final = "main_data.hdf5"
_COLUMNS: Final = ("observations", "actions", "rewards", "terminations", "truncations")
_INFOS: Final = "infos"
_COMPRESS: Final = 4096
"""Bytes from which on compressing is worth the chunks."""


class Hdf5Reader:
    """Reads one file. A `StorageReader`."""

    def __init__(self, directory: Path, observations: Space, actions: Space, *, is_jpeg: bool) -> None:
        self._path, self._spaces, self._is_jpeg = directory / MAIN_FILE, (observations, actions), is_jpeg
        with hdf5.opened(self._path) as file:
            self.names: Sequence[str] = sorted(
                (name for name in file if re.fullmatch(r"episode_\d+", name)), key=_number
            )
        self.size = self._path.stat().st_size

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[str], StoredEpisode]]:
        """Opens the file."""
        with hdf5.opened(self._path) as file:
            place = str(self._path)
            yield lambda name: self._read(hdf5.child(file, name, place), f"{place}/{name}")

    def _read(self, group: Any, place: str) -> StoredEpisode:
        names = set(group)
        missing = [name for name in _COLUMNS if name not in names]
        if missing:
            raise FormatError(f"{place}: expected {', '.join(missing)}")
        unknown = sorted(names - {*_COLUMNS, _INFOS})
        for name in unknown:
            hdf5.child(group, name, place)
        observations, actions = (
            self._decoded(group, name, space, place) for name, space in zip(_COLUMNS, self._spaces, strict=False)
        )
        rewards, terminations, truncations = (hdf5.column(group, name, place) for name in _COLUMNS[2:])
        return StoredEpisode(
            observations,
            actions,
            rewards,
            terminations,
            truncations,
            infos=_infos(hdf5.child(group, _INFOS, place), f"{place}/{_INFOS}") if _INFOS in names else {},
            attributes=unflattened({name: _attribute(value) for name, value in hdf5.attributes(group).items()}),
            unknown=unknown,
        )

    def _decoded(self, group: Any, name: str, space: Space, place: str) -> Any:
        if isinstance(space, spaces.Dict):
            node, place = hdf5.child(group, name, place), f"{place}/{name}"
            return {key: self._decoded(node, key, each, place) for key, each in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            node, place = hdf5.child(group, name, place), f"{place}/{name}"
            return tuple(self._decoded(node, f"_index_{i}", each, place) for i, each in enumerate(space.spaces))
        if isinstance(space, spaces.Text):
            return hdf5.texts(hdf5.child(group, name, place), f"{place}/{name}")
        if self._is_jpeg and is_image(space):
            node = hdf5.child(group, name, place)
            require_plausible(len(node) * math.prod(space.shape or ()), self.size, f"{place}/{name}")
            return decoded_images([bytes(each) for each in node], space)
        return hdf5.column(group, name, place)


class Hdf5Writer:
    """Writes one file. A `StorageWriter`."""

    data_format = "hdf5"
    has_step_infos = True

    def __init__(self, directory: Path, observations: Space, actions: Space) -> None:
        _require_groups(observations, "observation")
        _require_groups(actions, "action")
        self._file = hdf5.library().File(directory / MAIN_FILE, "w", track_order=True)

    def unfit(self, _column: Any) -> str | None:
        """HDF5 can store every column."""
        return None

    def attributes(self, content: Mapping[str, Any], place: str) -> tuple[dict[str, Any], list[Loss]]:
        """Numbers, arrays and text."""
        flat, lost = attributes(content, place)
        return unflattened(flat), lost

    def write(self, number: int, episode: StoredEpisode) -> None:
        """Adds a group."""
        group = self._file.create_group(f"episode_{number}", track_order=True)
        for name in _COLUMNS:
            _store(group, name, getattr(episode, name))
        if episode.infos:
            _store(group, _INFOS, dict(episode.infos))
        group.attrs.update(attributes(episode.attributes, "")[0])

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def _require_groups(space: Space, place: str) -> None:
    """Rejects spaces that HDF5 cannot distinguish or name: empty ones, and names that are paths."""
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return
    parts = dict(space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces))
    if not parts:
        raise ConversionError(f"{place}: Minari cannot store spaces of nothing in HDF5")
    for key, each in parts.items():
        if isinstance(key, str) and not is_name(key):
            raise ConversionError(f"{place}: Minari cannot store a space of the name {key!r} in HDF5")
        _require_groups(each, f"{place}/{key}")


def _number(name: str) -> int:
    return int(name.partition("_")[2])


def _infos(node: Any, place: str) -> Any:
    if hasattr(node, "keys"):
        return {name: _infos(each, f"{place}/{name}") for name, each in hdf5.children(node, place).items()}
    if hdf5.library().check_string_dtype(node.dtype) is not None:
        return hdf5.texts(node, place) if node.ndim else [node.asstr()[()]]
    return node[()] if node.ndim else node[()][np.newaxis]


def _attribute(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) and value.dtype == np.object_ else value


def _store(group: Any, name: str, columns: Any) -> None:
    if isinstance(columns, tuple):
        columns = {f"_index_{index}": each for index, each in enumerate(columns)}
    if isinstance(columns, dict):
        inner = group.create_group(name, track_order=True)
        for key, each in columns.items():
            _store(inner, key, each)
    elif isinstance(columns, list):
        group.create_dataset(name, data=columns, dtype=hdf5.library().string_dtype("utf-8"))
    else:
        large = columns.nbytes >= _COMPRESS
        group.create_dataset(name, data=columns, **({"compression": "gzip", "shuffle": True} if large else {}))

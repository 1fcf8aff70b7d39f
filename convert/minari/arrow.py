"""Minari's storages in Arrow and Parquet: a directory for each episode, with a table and a `metadata.json`.

The table has a row for each observation; actions, rewards and flags of the last row are placeholders. Elements of
arrays are lists of fixed size, and nested spaces and infos are structs. Minari reads a file as one batch, which with
its pyarrow ends after 131,072 rows.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit.base.errors import FormatError
from rlds_kit.convert import arrow_files, parquet
from rlds_kit.convert.minari.columns import in_json
from rlds_kit.convert.minari.spaces import Space
from rlds_kit.convert.minari.storage import METADATA_FILE, StoredEpisode, decoded_images, is_image, read_json
from rlds_kit.convert.protocol import ConversionError, Loss

_COLUMNS: Final = ("observations", "actions", "rewards", "terminations", "truncations")
_INFOS: Final = "infos"
_PARTITION: Final = "episode_id"
_SHAPE: Final = b"shape"
"""The key of a field's metadata that holds the shape of each element of an array, as in `2,3`."""
_NUMBERS: Final = "biuf"


class ArrowReader:
    """Reads directories of Arrow IPC files. A `StorageReader`."""

    suffix = "arrow"

    def __init__(self, directory: Path, observations: Space, actions: Space, *, is_jpeg: bool) -> None:
        self._directory, self._spaces, self._is_jpeg = directory, (observations, actions), is_jpeg
        numbers = [path.name for path in directory.iterdir() if re.fullmatch(r"\d{1,18}", path.name) and path.is_dir()]
        self.names: Sequence[str] = sorted(numbers, key=int)
        self.size = sum(path.stat().st_size for name in numbers for path in (directory / name).iterdir())
        parquet.library()

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[str], StoredEpisode]]:
        """Opens nothing: every episode has its own file."""
        yield self._read

    def table(self, path: Path) -> Any:
        """The table in a file."""
        return arrow_files.read_arrow(path)

    def _read(self, name: str) -> StoredEpisode:
        path = self._file(self._directory / name)
        table = self.table(path)
        with arrow_files.reading(str(path)):
            return self._episode(table, read_json(path.parent / METADATA_FILE))

    def _file(self, directory: Path) -> Path:
        """The one file with data."""
        found = [path for path in directory.iterdir() if path.name[0] not in "_." and path.name != METADATA_FILE]
        if len(found) != 1 or found[0].is_symlink() or directory.is_symlink():
            raise FormatError(f"{directory}: expected one {self.suffix} file and no links, got {found or 'none'}")
        return found[0]

    def _episode(self, table: Any, attributes: Mapping[str, Any]) -> StoredEpisode:
        names = table.column_names
        missing = [name for name in _COLUMNS if name not in names]
        if missing or len(set(names)) < len(names):
            raise FormatError(f"expected one column each of {', '.join(_COLUMNS)}, got {', '.join(names)}")
        parts = {name: _array(table[name]) for name in names if name != _PARTITION}
        acted = {name: parts[name].slice(0, max(len(table) - 1, 0)) for name in _COLUMNS[1:]}
        rewards, terminations, truncations = (_numbers(acted[name]) for name in _COLUMNS[2:])
        return StoredEpisode(
            self._decoded(parts["observations"], self._spaces[0]),
            self._decoded(acted["actions"], self._spaces[1]),
            rewards,
            terminations,
            truncations,
            infos=_infos(parts[_INFOS]) if _INFOS in parts else {},
            attributes=attributes,
            unknown=sorted(parts.keys() - {*_COLUMNS, _INFOS}),
        )

    def _decoded(self, array: Any, space: Space) -> Any:
        if isinstance(space, spaces.Dict):
            return {name: self._decoded(array.field(name), each) for name, each in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            return tuple(self._decoded(array.field(str(i)), each) for i, each in enumerate(space.spaces))
        if array.null_count:
            raise FormatError("expected a value in every row, got nulls")
        if isinstance(space, spaces.Text):
            return array.to_pylist()
        if self._is_jpeg and is_image(space):
            return decoded_images(array.to_pylist(), space)
        return _numbers(array, space.shape or ())


class ParquetReader(ArrowReader):
    """Reads directories of Parquet files. A `StorageReader`."""

    suffix = "parquet"

    def table(self, path: Path) -> Any:
        """The table in a file."""
        return arrow_files.read_parquet(path)


class ArrowWriter:
    """Writes directories of Arrow IPC files. A `StorageWriter`."""

    data_format = "arrow"
    has_step_infos = False

    def __init__(self, directory: Path, observations: Space, actions: Space) -> None:
        self._directory, self._spaces = directory, (observations, actions)
        parquet.library()

    def unfit(self, column: Any) -> str | None:
        """Arrow has fewer types of numbers than NumPy, and does not store the length of lists without elements."""
        if isinstance(column, np.ndarray):
            if column.dtype.kind not in _NUMBERS or not column.dtype.isnative:
                return f"Arrow has no {column.dtype}"
            if not column[:1].size:
                return "Arrow has no arrays without elements"
        return None

    def attributes(self, content: Mapping[str, Any], place: str) -> tuple[dict[str, Any], list[Loss]]:
        """Stores values as JSON can represent them."""
        return in_json(content, place)

    def write(self, number: int, episode: StoredEpisode) -> None:
        """Makes a directory."""
        pa = parquet.library()
        columns = [
            _encoded(episode.observations, self._spaces[0], "observation"),
            _padded(_encoded(episode.actions, self._spaces[1], "action")),
            *(_padded(_column(getattr(episode, name))) for name in _COLUMNS[2:]),
        ]
        names = list(_COLUMNS)
        if episode.infos:
            columns, names = [*columns, _encoded_infos(episode.infos)], [*names, _INFOS]
        directory = self._directory / str(number)
        directory.mkdir()
        self.store(pa.Table.from_arrays(columns, names), directory)
        (directory / METADATA_FILE).write_text(json.dumps(episode.attributes), "utf-8")

    def store(self, table: Any, directory: Path) -> None:
        """Writes a table as one batch."""
        pa = parquet.library()
        with pa.OSFile(str(directory / "part-0.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=len(table))

    def close(self) -> None:
        """Does nothing: no file stays open."""


class ParquetWriter(ArrowWriter):
    """Writes directories of Parquet files. A `StorageWriter`."""

    data_format = "parquet"

    def store(self, table: Any, directory: Path) -> None:
        """Writes a table as one group of rows."""
        import pyarrow.parquet

        path = directory / "part-0.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=len(table), compression="zstd")


def _array(column: Any) -> Any:
    """A column of a table as one chunk."""
    pa, chunks = parquet.library(), column.chunks
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks or [pa.array([], column.type)])


def _numbers(array: Any, shape: Sequence[int] = ()) -> np.ndarray:
    """`[rows, *shape]` of an array of numbers, or of lists of numbers that are all of one length.

    Raises:
      FormatError: it has other values, or nulls.
    """
    types = parquet.library().types
    rows, depth = len(array), 0
    while types.is_fixed_size_list(array.type):
        if array.null_count:
            raise FormatError("expected a value in every row, got nulls")
        array, depth = array.flatten(), depth + 1
    if array.null_count or not (
        types.is_boolean(array.type) or types.is_integer(array.type) or types.is_floating(array.type)
    ):
        raise FormatError(f"expected numbers in every row, got {array.type} with {array.null_count} nulls")
    flat = parquet.numbers_in(array)
    if flat.size != rows * int(np.prod(shape, dtype=np.int64)):
        raise FormatError(f"expected {rows} arrays of shape {tuple(shape)}, got {flat.size} elements")
    return flat.reshape(rows, *shape)


def _infos(array: Any) -> Any:
    """The columns of infos; an element that is a list of numbers is an array."""
    types = parquet.library().types
    if types.is_struct(array.type):
        if array.null_count:
            return array.to_pylist()
        fields = [array.type.field(number) for number in range(array.type.num_fields)]
        return {field.name: _info(array.field(number), field) for number, field in enumerate(fields)}
    raise FormatError(f"expected infos by name, got {array.type}")


def _info(array: Any, field: Any) -> Any:
    types = parquet.library().types
    if types.is_struct(array.type) and not array.null_count:
        return _infos(array)
    if array.null_count or types.is_list(array.type) or types.is_large_list(array.type):
        return array.to_pylist()
    if types.is_fixed_size_list(array.type):
        stored = (field.metadata or {}).get(_SHAPE)
        shape = [array.type.list_size] if stored is None else [int(each) for each in stored.split(b",") if each]
        return _numbers(array, shape)
    return _numbers(array) if not (_is_text(array.type)) else array.to_pylist()


def _is_text(found: Any) -> bool:
    types = parquet.library().types
    return any(
        check(found) for check in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _encoded(columns: Any, space: Space, place: str) -> Any:
    """The columns of a space, as Minari's own code encodes them."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        pairs = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        inner = {str(key): _encoded(columns[key], each, f"{place}/{key}") for key, each in pairs}
        if not inner:
            raise ConversionError(f"{place}: Minari cannot store spaces of nothing in Arrow or Parquet")
        return parquet.library().StructArray.from_arrays(list(inner.values()), names=list(inner))
    if isinstance(space, spaces.Text):
        return _column(columns)
    if columns.shape[1:] != space.shape:
        raise ConversionError(f"{place}: expected values of shape {space.shape}, got {columns.shape[1:]}")
    return _column(columns) if isinstance(space, spaces.Discrete) else _lists(columns)


def _column(column: Any) -> Any:
    return parquet.library().array(column)


def _lists(column: np.ndarray) -> Any:
    """`[rows, ...]` as one list of fixed size per row."""
    pa = parquet.library()
    flat = np.ascontiguousarray(column).reshape(len(column), -1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), flat.shape[1])


def _encoded_infos(infos: Mapping[str, Any]) -> Any:
    pa = parquet.library()
    arrays, fields = [], []
    for name, column in infos.items():
        metadata = None
        if isinstance(column, Mapping):
            array = _encoded_infos(column)
        elif isinstance(column, np.ndarray) and column.ndim > 1:
            array, metadata = _lists(column), {_SHAPE: ",".join(map(str, column.shape[1:]))}
        else:
            array = _column(column)
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata=metadata))
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _padded(array: Any) -> Any:
    """Appends a row of zeros, or of nulls if there is no zero."""
    pa = parquet.library()
    return pa.concat_arrays([array, _filler(array.type)])


def _filler(found: Any) -> Any:
    pa = parquet.library()
    if pa.types.is_struct(found):
        fields = [found.field(number) for number in range(found.num_fields)]
        return pa.StructArray.from_arrays([_filler(field.type) for field in fields], fields=fields)
    if pa.types.is_fixed_size_list(found):
        return pa.FixedSizeListArray.from_arrays(_zeros(found.list_size, found.value_type), found.list_size)
    return pa.nulls(1, found) if _is_text(found) else _zeros(1, found)


def _zeros(count: int, found: Any) -> Any:
    return parquet.library().array(np.zeros(count, found.to_pandas_dtype()), found)

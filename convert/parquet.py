"""Opens Parquet files from untrusted sources, reads their rows in order, and limits the memory that this takes."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError, RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.convert.decoded_size import require_plausible

_FLOATS: Final = {"halffloat": "float16", "float": "float32", "double": "float64"}
"""Names of NumPy, where pyarrow's are others."""
_LARGEST_TEXT: Final = 1 << 26
_MOST_THINGS: Final = 1 << 22
_BUFFER: Final = 1 << 20
_MOST_FILES: Final = 8
_METADATA: Final[dict[tuple[str, int, int], Any]] = {}
"""Of the files that were opened last, by path, size and time. Files have a row group for each episode, so that parsing
their metadata takes as long as reading some hundred episodes."""
_ROWS_AT_ONCE: Final = 64
"""Rows that are read at once if they may be large: images, text, lists of any length."""
_BYTES_AT_ONCE: Final = 4 << 20
"""Bytes that are read at once if rows are numbers and lists of a fixed length."""


def library() -> Any:
    """Imports pyarrow.

    Raises:
      MissingExtraError: it is not installed.
    """
    known = sys.modules.get("pyarrow")
    if known is not None and hasattr(known, "compute") and hasattr(known, "parquet"):  # nearly always
        return known
    with needs("compat"):
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet
    return pa


def numbers_in(values: Any) -> np.ndarray:
    """The elements of an array of pyarrow, as `to_numpy` returns them.

    The first call of `to_numpy` takes a third of a second, because it imports pandas. So arrays of numbers without
    nulls are viewed directly.
    """
    types = library().types
    if types.is_boolean(values.type) and not values.null_count:
        return numbers_in(values.cast(library().uint8())).view(np.bool_)
    if values.null_count or not len(values) or not (types.is_integer(values.type) or types.is_floating(values.type)):
        found: np.ndarray = values.to_numpy(zero_copy_only=False)
        return found
    dtype = np.dtype(_FLOATS.get(str(values.type), str(values.type)))
    return np.frombuffer(values.buffers()[1], dtype, len(values), values.offset * dtype.itemsize)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Converts pyarrow's errors for invalid files to a `FormatError`."""
    pa = library()
    try:
        yield
    except RldsKitError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError, OverflowError, MemoryError) as error:
        if isinstance(error, FileNotFoundError):
            raise FormatError(f"{path}: expected a Parquet file, but there is none") from error
        raise FormatError(f"{path}: expected Parquet in the layout of its format: {error}") from error


def opened(path: Path) -> Any:
    """Opens a Parquet file and reads its metadata only.

    Raises:
      FormatError: it is not Parquet, or its claimed size is impossible.
      MissingExtraError: pyarrow is not installed.
    """
    pa = library()
    with reading(path):
        if not path.is_file():
            raise FormatError(f"{path}: expected a Parquet file, but there is none")
        stat = path.stat()
        version = (str(path), stat.st_size, stat.st_mtime_ns)
        known = _METADATA.get(version)
        file = pa.parquet.ParquetFile(
            path,
            metadata=known,
            pre_buffer=False,
            buffer_size=_BUFFER,
            thrift_string_size_limit=_LARGEST_TEXT,
            thrift_container_size_limit=_MOST_THINGS,
        )
        if known is None:
            _require_sane(file.metadata, path)
            while len(_METADATA) >= _MOST_FILES:
                _METADATA.pop(next(iter(_METADATA)), None)
            _METADATA[version] = file.metadata
        return file


def _require_sane(metadata: Any, path: Path) -> None:
    """Raises an error for row groups whose claimed size is impossible.

    The metadata of columns are not read: if they contradict each other, pyarrow 25 crashes the process.
    """
    size = path.stat().st_size
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if not 0 <= group.num_rows <= metadata.num_rows:
            raise FormatError(f"{path}: expected row groups of its {metadata.num_rows} rows, got {group.num_rows}")
        require_plausible(group.total_byte_size, size, f"{path}, row group {number}")


class RowCursor:
    """Rows of a file in their order, some at a time.

    Args:
      path: of the file.
      columns: to read.
      begin: the first requested row; row groups before it are not read.

    Attributes:
      path: as given.
      schema: of these columns.
      position: number of the next row.
    """

    def __init__(self, path: Path, columns: Sequence[str], begin: int = 0) -> None:
        self.path = path
        file = opened(path)
        with reading(path):
            names = file.schema_arrow.names
            missing = [name for name in columns if name not in names]
            if missing or len(set(names)) != len(names):
                raise FormatError(f"{path}: expected the columns {', '.join(columns)}, each once; it has {names}")
            self.schema = library().schema([file.schema_arrow.field(name) for name in columns])
            first, self.position = group_of(file.metadata, begin)
            groups = range(first, file.metadata.num_row_groups)
            self._batches = file.iter_batches(
                _rows_at_once(self.schema), list(groups), list(columns), use_threads=False
            )
        self._rest: list[Any] = []

    def take(self, count: int) -> Any:
        """The next rows, as a table.

        Raises:
          FormatError: there are fewer.
        """
        pa = library()
        with reading(self.path):
            taken, wanted = [], count
            while wanted:
                batch = self._rest.pop() if self._rest else next(self._batches, None)
                if batch is None:
                    raise FormatError(f"{self.path}: expected {wanted} more rows after row {self.position}")
                if len(batch) > wanted:
                    self._rest.append(batch.slice(wanted))
                    batch = batch.slice(0, wanted)
                wanted -= len(batch)
                self.position += len(batch)
                taken.append(batch)
            return pa.Table.from_batches([each.select(self.schema.names) for each in taken], self.schema)

    def skip_to(self, row: int) -> None:
        """Skips rows up to one."""
        while self.position < row:
            self.take(min(_ROWS_AT_ONCE, row - self.position))


def _rows_at_once(schema: Any) -> int:
    sizes = [_size_of(field.type) for field in schema]
    return max(_ROWS_AT_ONCE, _BYTES_AT_ONCE // (sum(sizes) or 1)) if 0 not in sizes else _ROWS_AT_ONCE


def _size_of(kind: Any) -> int:
    """Bytes of a value; 0 if sizes differ."""
    types = library().types
    if types.is_fixed_size_list(kind):
        return int(kind.list_size) * _size_of(kind.value_type)
    is_number = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    return (kind.bit_width + 7) // 8 if is_number else 0


def group_of(metadata: Any, row: int) -> tuple[int, int]:
    """The row group with a row, and the first row of that group; the last group for rows beyond the end."""
    begin = 0
    for number in range(metadata.num_row_groups - 1):
        end = begin + metadata.row_group(number).num_rows
        if row < end:
            return number, begin
        begin = end
    return max(0, metadata.num_row_groups - 1), begin

"""Opens Arrow and Parquet files from untrusted sources, https://arrow.apache.org/docs/format/Columnar.html."""

import contextlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.errors import FormatError, RldsKitError
from rlds_kit.convert import parquet
from rlds_kit.convert.decoded_size import require_plausible

_BROKEN: Final = (
    KeyError,
    ValueError,
    RuntimeError,
    OSError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    TypeError,
)
_MAGIC: Final = b"ARROW1\0\0"
_ROWS_AT_ONCE: Final = 256
_DEEPEST: Final = 32
_WIDEST: Final = 16
"""Bytes of a value of fixed width."""


@contextlib.contextmanager
def reading(place: str) -> Iterator[None]:
    """Adds the path of the file to errors of pyarrow.

    Raises:
      FormatError: the file contradicts itself.
    """
    try:
        yield
    except RldsKitError:
        raise
    except _BROKEN as error:
        raise FormatError(f"{place}: expected data in the layout of its format: {error}") from error


def read_arrow(path: Path) -> Any:
    """The table in an Arrow IPC file that is not compressed; its columns are in the bytes of the file.

    The file is read from its beginning, never at positions from its footer, and its content is validated before it is
    used.

    Raises:
      FormatError: it is no such file, is compressed, or has columns of other types than numbers, text and lists and
        structs of these.
    """
    pa = parquet.library()
    import pyarrow.ipc  # noqa: F401  a module that is not loaded with the package

    with reading(str(path)):
        data = path.read_bytes()
        if not data.startswith(_MAGIC):
            raise FormatError(f"{path}: expected an Arrow IPC file")
        messages = _messages(pa.ipc.MessageReader.open_stream(pa.py_buffer(data)[len(_MAGIC) :]))
        first = next(messages, None)
        if first is None or first.type != "schema":  # pyarrow 25 accepts any message here, and may crash the process
            raise FormatError(f"{path}: expected an Arrow IPC file, but it does not begin with a schema")
        schema = pa.ipc.read_schema(first)
        _require_types(schema, path)
        batches = []
        for message in messages:
            if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
                raise FormatError(f"{path}: expected record batches that are not compressed, got a {message.type}")
            batch = pa.ipc.read_record_batch(message, schema)
            batch.validate(full=True)
            require_plausible(batch.num_rows, len(data), f"{path}, rows")
            batches.append(batch)
        return pa.Table.from_batches(batches, schema).combine_chunks()


def _messages(messages: Any) -> Iterator[Any]:
    while True:
        try:
            yield messages.read_next_message()
        except StopIteration:
            return


def _is_compressed(metadata: bytes) -> bool:
    """Whether the buffers of a record batch are compressed; its metadata are a flatbuffer (`RecordBatch` in Arrow)."""
    message = _Table.root(metadata)
    batch = message.child(_Table.HEADER)
    return batch is not None and batch.at(_Table.COMPRESSION) is not None


class _Table:
    """A table of a flatbuffer, whose fields are found by their number."""

    HEADER: Final = 2
    """In a message."""
    COMPRESSION: Final = 3
    """In a record batch."""

    def __init__(self, data: bytes, begin: int) -> None:
        self._data, self._begin = data, begin

    @classmethod
    def root(cls, data: bytes) -> "_Table":
        return cls(data, _unpacked("<I", data, 0))

    def at(self, number: int) -> int | None:
        """Returns the position of a field, or None if it is left out."""
        names = self._begin - _unpacked("<i", self._data, self._begin)
        place = 4 + 2 * number
        offset = _unpacked("<H", self._data, names + place) if place < _unpacked("<H", self._data, names) else 0
        return self._begin + offset if offset else None

    def child(self, number: int) -> "_Table | None":
        place = self.at(number)
        return None if place is None else _Table(self._data, place + _unpacked("<I", self._data, place))


def _unpacked(layout: str, data: bytes, place: int) -> int:
    if place < 0 or place + struct.calcsize(layout) > len(data):
        raise FormatError("a message points to a place outside of it")
    return int(struct.unpack_from(layout, data, place)[0])


def read_parquet(path: Path) -> Any:
    """The table in a Parquet file.

    Raises:
      FormatError: it is no such file, claims to be larger than possible, or has columns of other types than numbers,
        text and lists and structs of these.
    """
    pa = parquet.library()
    file, stored = parquet.opened(path), path.stat().st_size
    with file, reading(str(path)):
        about = file.metadata
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        # The metadata of columns are not read: if they contradict each other, pyarrow 25 crashes the process.
        for claim in (_WIDEST * about.num_rows, sum(group.total_byte_size for group in groups)):
            require_plausible(claim, stored, str(path))
        _require_types(file.schema_arrow, path)
        size, batches = 0, []
        for batch in file.iter_batches(_ROWS_AT_ONCE, use_threads=False):
            size += batch.nbytes
            require_plausible(size, stored, str(path))
            batch.validate(full=True)
            batches.append(batch)
        return pa.Table.from_batches(batches, file.schema_arrow).combine_chunks()


def _require_types(schema: Any, path: Path) -> None:
    for field in schema:
        _require_type(field.type, f"{path}, {field.name}", 0)


def _require_type(found: Any, place: str, depth: int) -> None:
    """Numbers, text, bytes, and lists and structs of them: no type in which few bytes represent many values."""
    types = parquet.library().types
    if depth > _DEEPEST:
        raise FormatError(f"{place}: expected no more than {_DEEPEST} lists and structs in each other")
    if types.is_struct(found):
        for field in found:
            _require_type(field.type, f"{place}/{field.name}", depth + 1)
    elif types.is_fixed_size_list(found) or types.is_list(found) or types.is_large_list(found):
        _require_type(found.value_type, place, depth + 1)
        if types.is_fixed_size_list(found) and found.list_size < 1:
            raise FormatError(f"{place}: expected lists with elements")
    elif not any(
        check(found)
        for check in (
            *(types.is_boolean, types.is_integer, types.is_floating, types.is_string, types.is_large_string),
            *(types.is_binary, types.is_large_binary),
        )
    ):
        raise FormatError(f"{place}: expected numbers, text, or lists or structs of them, got {found}")

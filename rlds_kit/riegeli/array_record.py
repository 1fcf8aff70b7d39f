"""The index that makes a Riegeli/records file an ArrayRecord file too.

After the user's chunks follow a chunk of footers (where each chunk is), padding to a 64 KiB boundary, a
chunk with three copies of a postscript (where the footers are), and padding to the end of that block.

https://github.com/google/array_record/blob/main/cpp/layout.proto, on top of "Simple chunk with records" and
"Padding chunk" of https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO, NamedTuple, TypeVar

from rlds_kit.riegeli import varint
from rlds_kit.riegeli._implementation import native
from rlds_kit.riegeli.blocks import BLOCK_SIZE, possible_boundary
from rlds_kit.riegeli.chunk import SIMPLE
from rlds_kit.riegeli.chunk_reader import Chunk, read_chunk
from rlds_kit.riegeli.codec import UNCOMPRESSED, take_length_prefixed
from rlds_kit.riegeli.errors import DamagedError
from rlds_kit.riegeli.reader import decode_records
from rlds_kit.riegeli.recovery import ChunkDamage
from rlds_kit.riegeli.simple import decode_last
from rlds_kit.riegeli.source import FileSource, Source
from rlds_kit.riegeli.writer import RecordWriter

MAGIC = 0x71930E704FDAE05E
VERSION = 1
POSTSCRIPT_COPIES = 3

_FIRST_CHUNK = 64
# The postscript chunk is a few dozen bytes long; the magic further into the block is user data.
_POSTSCRIPT_LIMIT = 256

_VARINT, _BYTES = 0, 2  # wire types of protocol buffers

Index = TypeVar("Index")


class ChunkEntry(NamedTuple):
    """A chunk in the footer of an ArrayRecord file: its position, the bytes and the number of its user records."""

    chunk_offset: int
    decoded_data_size: int
    num_records: int


@dataclass(frozen=True, slots=True)
class Footer:
    """The index of a file: user records end before file position `offset`."""

    offset: int
    num_records: int
    writer_options: str
    chunks: tuple[ChunkEntry, ...]


def write_footer(writer: RecordWriter, chunks: Iterable[tuple[int, int, int]], options: str) -> None:
    """Write the index of `chunks` and the postscript; nothing may be written after it.

    `chunks` are `(chunk_offset, decoded_data_size, num_records)` in file order. Readers compute record i to
    be in chunk i // g where g is the first chunk's `num_records`, so all chunks but the last must agree.
    `options` is stored as information.

    Raises:
        ValueError: a chunk before the last has another number of records than the first, or the last more.
    """
    entries, counts = chunk_entries(chunks)
    _check_groups(counts)
    offset = writer.write_chunk([_encode_metadata(len(counts), sum(counts), options), *entries])
    writer.pad(BLOCK_SIZE)
    writer.write_chunk([_fields((1, offset), (2, MAGIC))] * POSTSCRIPT_COPIES, UNCOMPRESSED)
    writer.pad(BLOCK_SIZE)


def chunk_entries_in_python(chunks: Iterable[tuple[int, int, int]]) -> tuple[list[bytes], list[int]]:
    """Return the entries of `chunks` in the footer, and how many records each has.

    >>> entries, counts = chunk_entries_in_python([(64, 300, 1)])
    >>> entries[0].hex(), counts
    ('084010ac021801', [1])
    """
    entries, counts = list[bytes](), list[int]()
    for offset, size, count in chunks:
        entries.append(_fields((1, offset), (2, size), (3, count)))
        counts.append(count)
    return entries, counts


chunk_entries: Callable[[Iterable[tuple[int, int, int]]], tuple[list[bytes], list[int]]] = getattr(
    native, "chunk_entries", chunk_entries_in_python
)
"""`chunk_entries_in_python`, in C if it was built."""


def read_footer(file: BinaryIO) -> Footer | None:
    """Return the index of an ArrayRecord file, None where the file has none.

    Raises:
        DamagedError: there is an index, but it is broken.

    >>> import io
    >>> file = io.BytesIO()
    >>> with RecordWriter(file, "uncompressed") as writer:
    ...     write_footer(writer, [(writer.write_chunk([b"record"]), 6, 1)], "group_size:1")
    >>> read_footer(file).chunks
    (ChunkEntry(chunk_offset=64, decoded_data_size=6, num_records=1),)
    """
    return _read_index(FileSource(file), _parse_index)


def last_chunk(source: Source) -> int | None:
    """Return where the last chunk of user records begins, None where there is no index or no such chunk.

    Parses no more of the index than that takes, which is much quicker than `read_footer` in a file of many chunks.

    Raises:
        DamagedError: there is an index, but it is broken.
    """
    return _read_index(source, _parse_last_offset)


def _read_index(source: Source, parse: Callable[[Chunk], Index]) -> Index | None:
    """Return what `parse` makes of the footer chunk; None where there is no index."""
    size = source.size()
    begin = size - BLOCK_SIZE
    if begin < _FIRST_CHUNK or size % BLOCK_SIZE or _fields((2, MAGIC)) not in source.read(begin, _POSTSCRIPT_LIMIT):
        return None
    try:
        offset = _parse_postscript(decode_records(_read_simple(source, begin, size)))
        return parse(_read_simple(source, offset, begin))
    except (ChunkDamage, DamagedError) as error:
        raise DamagedError(f"the ArrayRecord index is broken: {error.message}", begin=begin, end=size) from error


def _parse_last_offset(chunk: Chunk) -> int | None:
    header = chunk.header
    header.validate()
    if header.num_records < 2:  # only the metadata
        return None
    return _parse_entry(decode_last(chunk.data, header.num_records, header.decoded_data_size)).chunk_offset


def _check_groups(counts: Sequence[int]) -> None:
    groups = set(counts[:-1])
    if len(groups) > 1 or (groups and counts[-1] > max(groups)):
        raise ValueError(f"all chunks but the last must have the same number of records, got {sorted(set(counts))}")


def _encode_metadata(num_chunks: int, num_records: int, options: str) -> bytes:
    text = options.encode()
    body = _fields((1, VERSION), (2, num_chunks), (3, num_records))
    if text:
        body += _key(4, _BYTES) + varint.encode(len(text)) + text
    return _key(1, _BYTES) + varint.encode(len(body)) + body


def _key(number: int, wire_type: int) -> bytes:
    return varint.encode(number << 3 | wire_type)


def _fields(*fields: tuple[int, int]) -> bytes:
    return b"".join(_key(number, _VARINT) + varint.encode(value) for number, value in fields)


def _read_simple(source: Source, begin: int, end: int) -> Chunk:
    if not _FIRST_CHUNK <= begin < end or not possible_boundary(begin):
        raise DamagedError(f"no chunk can begin at {begin}")
    chunk = read_chunk(source, begin)
    if not isinstance(chunk, Chunk) or chunk.header.chunk_type != SIMPLE or chunk.end > end:
        raise DamagedError(f"a simple chunk was expected at {begin}")
    return chunk


def _parse_postscript(copies: Sequence[bytes]) -> int:
    if not copies or len(set(copies)) != 1:
        raise DamagedError("the copies of the postscript differ")
    fields = _parse_message(copies[0])
    if fields.get(2) != MAGIC:
        raise DamagedError("the postscript has no magic number")
    return _number(fields, 1)


def _parse_index(chunk: Chunk) -> Footer:
    records = decode_records(chunk)
    metadata = _parse_message(records[0]).get(1) if records else None
    if not isinstance(metadata, bytes):
        raise DamagedError("it does not begin with its metadata")
    fields = _parse_message(metadata)
    if fields.get(1) != VERSION:
        raise DamagedError(f"version {VERSION} was expected, got {fields.get(1)!r}")
    chunks = tuple(_parse_entry(record) for record in records[1:])
    num_records = sum(each.num_records for each in chunks)
    found, announced = (len(chunks), num_records), (_number(fields, 2), _number(fields, 3))
    if found != announced:
        raise DamagedError(f"it announces (chunks, records) {announced}, but lists {found}")
    offsets = [0, *(each.chunk_offset for each in chunks), chunk.begin]
    if any(here >= there for here, there in pairwise(offsets)):
        raise DamagedError("its chunks are not in the order of the file")
    options = fields.get(4, b"")
    return Footer(
        chunk.begin, num_records, options.decode(errors="replace") if isinstance(options, bytes) else "", chunks
    )


def _parse_entry(record: bytes) -> ChunkEntry:
    fields = _parse_message(record)
    return ChunkEntry(_number(fields, 1), _number(fields, 2), _number(fields, 3))


def _number(fields: Mapping[int, int | bytes], number: int) -> int:
    value = fields.get(number, 0)
    if not isinstance(value, int):
        raise DamagedError(f"field {number} is not a number")
    return value


def _parse_message(data: bytes) -> dict[int, int | bytes]:
    """Return the fields of a message that has only varints and strings, by field number."""
    fields: dict[int, int | bytes] = {}
    position = 0
    while position < len(data):
        key, position = varint.decode(data, position, bits=32)
        if key & 7 == _BYTES:
            value, position = take_length_prefixed(memoryview(data), position)
            fields[key >> 3] = bytes(value)
        elif key & 7 == _VARINT:
            fields[key >> 3], position = varint.decode(data, position)
        else:
            raise DamagedError(f"field {key >> 3} has wire type {key & 7}")
    return fields

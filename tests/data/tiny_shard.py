"""The tiny shard whose bytes docs/format.md explains: one episode of one action and two observations.

PYTHONPATH=. python tests/data/tiny_shard.py    prints the annotated bytes
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from google.protobuf.descriptor import FieldDescriptor

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.riegeli import varint
from rlds_kit.spec import value
from rlds_kit.spec.message import to_message
from rlds_kit.storage.column import Column
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.shard_writer import ShardWriter

EPISODE_ID: Final = bytes.fromhex("e0" * 16)
WIDTH: Final = 16
"""Bytes in a line."""

MEANINGS: Final = {
    bytes((10, 20, 10, 21)): "row 0: 10, 20; row 1: 10, 21",
    bytes((3, 0, 0, 0, 0, 0, 0, 0)): "row 0: 3",
    np.float64(0.5).tobytes(): "row 0: 0.5",
}
"""Of the payloads."""

Line = tuple[bytes, str]


def write(path: Path) -> None:
    """Writes the shard. UUIDs and times are fixed and nothing in it is worth compressing, so its bytes never change."""
    header = pb.ShardHeader(
        shard_id=bytes.fromhex("50" * 16),
        writer="tiny",
        created_unix_ns=1_000_000_000,
        spec=to_message(specs.Dict({"observation": specs.Array((2,), "uint8")})),
        metadata=value.encode({}),
        environment=value.encode({}),
    )
    start = pb.EpisodeStart(
        episode_id=EPISODE_ID,
        metadata=value.encode({"who": "ada"}),
        seed=value.encode(7),
        options=value.encode(None),
        provenance=value.encode({}),
        started_unix_ns=2_000_000_000,
    )
    end = pb.EpisodeEnd(episode_id=EPISODE_ID, ending=pb.TERMINATED, terminated=True, rows=2, metadata=value.encode({}))
    pixels = np.array([[10, 20], [10, 21]], np.uint8)
    columns = [
        Column(ColumnKey("observation", pb.ARRAY, pixels.dtype, 1), np.array([0, 1]), pixels),
        Column(ColumnKey("action", pb.INT, None, 0), np.array([0]), np.array([3])),
        Column(ColumnKey("reward", pb.FLOAT, None, 0), np.array([0]), np.array([0.5])),
    ]
    digest = EpisodeDigest()
    digest.update(columns)
    end.content_digest = digest.digest(start, end)
    writer = ShardWriter(path, header)
    writer.start(start)
    writer.block(EPISODE_ID, range(2), columns, FilterChoice())
    writer.end(end)
    writer.close()


def dump(data: bytes) -> str:
    """The bytes of the shard, each with what it means."""
    text, at = "", 0
    for line, meaning in _file(data):
        run = len(line) > WIDTH and not line.strip(b"\0")
        pieces = [line] if run else [line[begin : begin + WIDTH] for begin in range(0, len(line), WIDTH)]
        for piece in pieces:
            shown = f"00 x {len(piece)}" if run else piece.hex(" ")
            text += f"{at:6}  {shown:<47}  {meaning}".rstrip() + "\n"
            at += len(piece)
            meaning = ""  # noqa: PLW2901  said once
    return text


def parse(text: str) -> bytes:
    """The bytes that a dump shows; offsets must be right.

    >>> parse("     0  0a 0b  two bytes" + chr(10) + "     2  00 x 3  zeros").hex()
    '0a0b000000'
    """
    data = bytearray()
    for line in text.splitlines():
        offset, shown = line.split(maxsplit=1)[0], line[8:55].split("  ")[0].strip()
        if int(offset) != len(data):
            raise ValueError(f"expected offset {len(data)}, got {line!r}")
        data += bytes(int(shown[4:])) if shown.startswith("00 x") else bytes.fromhex(shown)
    return bytes(data)


def _file(data: bytes) -> Iterator[Line]:
    at = 0
    while at < len(data):
        begin = at
        if at % 65536 == 0:
            yield data[at : at + 8], "block header: HighwayHash-64 of the next 16 bytes"
            yield data[at + 8 : at + 16], "previous_chunk 0: the chunk begins here"
            size = int.from_bytes(data[at + 16 : at + 24], "little")
            yield data[at + 16 : at + 24], f"next_chunk {size}: where it ends, from here"
            at += 24
        header = data[at : at + 40]
        size, records = (int.from_bytes(header[place : place + 8], "little") for place in (8, 24))
        kind, count = chr(records & 255), records >> 8
        yield header[:8], f"CHUNK at {begin}: HighwayHash-64 of the next 32 bytes"
        yield header[8:16], f"data_size {size}"
        yield header[16:24], "data_hash: HighwayHash-64 of the data"
        yield header[24:32], f"chunk_type {kind!r}, num_records {count}"
        yield header[32:], f"decoded_data_size {int.from_bytes(header[32:], 'little')}"
        at += 40
        if kind == "r":
            yield from _records(data[at : at + size], count)
        elif size:
            yield data[at : at + size], "padding"
        at += size


def _records(data: bytes, count: int) -> Iterator[Line]:
    yield data[:1], "compression: none"
    length, at = varint.decode(data, 1)
    yield data[1:at], f"the sizes take {length} byte{'s' if length > 1 else ''}"
    sizes = varint.decode_all(data[at : at + length], count)
    yield data[at : at + length], f"size of the record: {sizes[0]}" if count == 1 else f"sizes of the records: {sizes}"
    at += length
    for number, size in enumerate(sizes):
        yield from _record(data[at : at + size], number, count)
        at += size


def _record(data: bytes, number: int, count: int) -> Iterator[Line]:
    if count == 1:
        yield from _message(data, pb.Record.DESCRIPTOR, 0)
    elif data.endswith(bytes.fromhex("dec0ebfe84cec3c971")):
        yield from _numbers(data, ("footer_offset", "magic"), f"postscript, copy {number + 1}: ")
    elif number == 0:
        yield data[:2], f"metadata of the footer: {data[1]} bytes"
        yield from _numbers(data[2:], ("version", "num_chunks", "num_records", "writer_options"), "  ")
    else:
        names = ("chunk_offset", "decoded_data_size", "num_records")
        yield from _numbers(data, names, f"footer of chunk {number}: ")


def _numbers(data: bytes, names: Sequence[str], place: str) -> Iterator[Line]:
    """A flat message."""
    at = 0
    while at < len(data):
        tag, end = varint.decode(data, at)
        value, end = varint.decode(data, end)
        if tag & 7 == 2:
            end += value
            yield data[at:end], f"{place}{names[(tag >> 3) - 1]} {data[end - value : end].decode()!r}"
        else:
            yield data[at:end], f"{place}{names[(tag >> 3) - 1]} {value}"
        at = end


def _message(data: bytes, message: Any, depth: int) -> Iterator[Line]:
    """A message of ours, field by field; `message` is its descriptor, of which protobuf has two classes."""
    at, indent = 0, "  " * depth
    while at < len(data):
        tag, end = varint.decode(data, at)
        field = message.fields_by_number[tag >> 3]
        if tag & 7 == 1:
            yield data[at : end + 8], f"{indent}{field.name} {_fixed(field, data[end : end + 8])}"
            at = end + 8
            continue
        number, end = varint.decode(data, end)
        if tag & 7 == 0:
            yield data[at:end], f"{indent}{field.name} {_varint(field, number)}"
            at = end
            continue
        content = data[end : end + number]
        below = pb.BlockHeader.DESCRIPTOR if field.full_name.endswith("StepBlock.header") else field.message_type
        if below is not None:
            yield data[at:end], f"{indent}{field.name}: {below.name} of {number} bytes"
            yield from _message(content, below, depth + 1)
        elif number > 8 or field.name == "payload":
            yield data[at:end], f"{indent}{field.name}, {number} byte{'s' if number > 1 else ''}"
            yield content, f"{indent}  {_bytes(field, content)}"
        else:
            yield data[at : end + number], f"{indent}{field.name} {_bytes(field, content)}"
        at = end + number


def _varint(field: FieldDescriptor, number: int) -> str:
    if field.enum_type is not None:
        return f"{field.enum_type.values_by_number[number].name}"
    if field.type == FieldDescriptor.TYPE_SINT64:
        number = number >> 1 ^ -(number & 1)
    return str(bool(number)).lower() if field.type == FieldDescriptor.TYPE_BOOL else str(number)


def _fixed(field: FieldDescriptor, data: bytes) -> str:
    return f"{int.from_bytes(data, 'little'):#018x}" if field.name.endswith("xxh3") else str(np.frombuffer(data)[0])


def _bytes(field: FieldDescriptor, data: bytes) -> str:
    if field.type == FieldDescriptor.TYPE_STRING or field.name == "text":
        return repr(data.decode())
    if field.full_name.startswith("rlds_kit.v1.EpisodeTable.") and len(data) < WIDTH:
        return str(int.from_bytes(data, "little"))  # of one episode and one block
    if field.type == FieldDescriptor.TYPE_BYTES:
        return MEANINGS.get(data, "")
    numbers, at = [], 0  # packed
    while at < len(data):
        number, at = varint.decode(data, at)
        numbers.append(_varint(field, number))
    return ", ".join(numbers)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "tiny.riegeli")
        write(path)
        print(dump(path.read_bytes()), end="")

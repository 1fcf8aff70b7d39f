"""Damages shards and layers chunk by chunk with valid checksums: records from other places."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rlds_kit.riegeli import chunk, simple, varint
from rlds_kit.riegeli.chunk import ChunkHeader
from rlds_kit.riegeli.chunk_reader import Chunk, read_chunk
from rlds_kit.riegeli.codec import Codec
from rlds_kit.riegeli.errors import DamagedError
from rlds_kit.storage.shard_file import ShardFile

_UNKNOWN: Final = varint.encode(1000 << 3 | 2)
"""Begins a field that no version knows."""


@dataclass(frozen=True)
class Piece:
    """A chunk without its place."""

    chunk_type: int
    num_records: int
    decoded_size: int
    data: bytes

    @property
    def record(self) -> bytes:
        """The one record in it."""
        return simple.decode(self.data, self.num_records, self.decoded_size)[0]


def pieces_of(path: Path) -> list[Piece]:
    """The chunks of a file, the signature first."""
    file, found, position = ShardFile(path), list[Piece](), 0
    while isinstance(each := read_chunk(file, position), Chunk):
        header = each.header
        found.append(Piece(header.chunk_type, header.num_records, header.decoded_data_size, bytes(each.data)))
        position = each.end
    return found


def write(path: Path, pieces: list[Piece]) -> None:
    """Writes chunks one after the other."""
    made = bytearray()
    for each in pieces:
        header = ChunkHeader.describe(
            each.data,
            chunk_type=each.chunk_type,
            num_records=each.num_records,
            decoded_data_size=each.decoded_size,
        )
        made += chunk.frame_chunk(len(made), header, each.data)
    path.write_bytes(made)


def piece_of(record: bytes) -> Piece:
    """A chunk of one record."""
    return Piece(chunk.SIMPLE, 1, len(record), simple.encode([record], Codec.NONE, bytes))


def of_size(piece: Piece, size: int) -> Piece | None:
    """The same record in a chunk of as many bytes, filled up with a field that is not known; None: it is too large."""
    if len(piece.data) == size:
        return piece
    try:
        record = piece.record if piece.num_records == 1 and piece.chunk_type == chunk.SIMPLE else b""
    except DamagedError:
        return None
    for fill in range(size - len(record)):
        made = piece_of(record + _UNKNOWN + varint.encode(fill) + bytes(fill))
        if len(made.data) == size:
            return made
    return None


def garbage(dice: random.Random) -> Piece:
    """A chunk with a foreign record, or with an empty or invalid one."""
    noise = dice.randbytes(dice.choice((0, 1, 5, 60, 500)))
    records = (
        noise,
        b"\x08\x01" + noise,
        b"\x08\x01",
        b"\x08\x07" + noise,
        b"\x08\x01\x22" + varint.encode(len(noise)) + noise,
        b"\x08\x01" + varint.encode(dice.choice((2, 3, 5, 6, 7)) << 3 | 2) + b"\0",
        b"\x08\x01\x1a\x12\x0a\x10" + dice.randbytes(16),
        b"\x08\x01\x2a\x12\x0a\x10" + dice.randbytes(16),
        b"\x08\x01\x1a\x03\x0a\x01x",
        b"\x08\x01\x2a\x03\x0a\x01x",
    )
    made = piece_of(dice.choice(records))
    kind = dice.randrange(6)
    if kind == 0:
        return replace(made, data=noise, chunk_type=dice.choice((chunk.PADDING, chunk.METADATA, chunk.TRANSPOSED)))
    if kind == 1:
        return Piece(chunk.SIMPLE, 2, 4, simple.encode([b"ab", b"cd"], Codec.NONE, bytes))
    if kind == 2:
        return replace(made, data=noise or b"?")
    return made


Strike = Callable[[list[Piece], list[Piece], random.Random], None]


def _replace(pieces: list[Piece], others: list[Piece], dice: random.Random) -> None:
    pieces[_place(pieces, dice)] = _other(others, dice)


def _replace_in_size(pieces: list[Piece], others: list[Piece], dice: random.Random) -> None:
    at = _place(pieces, dice)
    fitting = [made for _ in range(12) if (made := of_size(_other(others, dice), len(pieces[at].data))) is not None]
    pieces[at] = dice.choice(fitting or [garbage(dice)])


def _insert(pieces: list[Piece], others: list[Piece], dice: random.Random) -> None:
    pieces.insert(_place(pieces, dice), _other(others, dice))


def _copy(pieces: list[Piece], _: list[Piece], dice: random.Random) -> None:
    pieces.insert(_place(pieces, dice), pieces[_place(pieces, dice)])


def _copy_over(pieces: list[Piece], _: list[Piece], dice: random.Random) -> None:
    pieces[_place(pieces, dice)] = pieces[_place(pieces, dice)]


def _swap(pieces: list[Piece], _: list[Piece], dice: random.Random) -> None:
    one, other = _place(pieces, dice), _place(pieces, dice)
    pieces[one], pieces[other] = pieces[other], pieces[one]


STRIKES: Final[tuple[Strike, ...]] = (_replace, _replace_in_size, _insert, _copy, _copy_over, _swap)


def _place(pieces: list[Piece], dice: random.Random) -> int:
    """Not the signature; of the end of a closed file the index, seldom what comes after it."""
    ours = [number for number, each in enumerate(pieces) if number and each.num_records == 1]
    return dice.choice(ours) if dice.random() < 0.97 else dice.randrange(1, len(pieces))


def _other(others: list[Piece], dice: random.Random) -> Piece:
    return dice.choice(others) if dice.random() < 0.6 else garbage(dice)

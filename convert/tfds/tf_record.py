"""Reads TFRecord files: records, each with two checksums. No TensorFlow is needed.

"TFRecords format details" of https://www.tensorflow.org/tutorials/load_data/tfrecord: eight bytes of length, their
checksum, the data, its checksum; little-endian. A checksum is a CRC-32C, rotated and offset ("masked").
"""

import functools
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from rlds_kit.base.errors import DamagedError
from rlds_kit.extension import extension

_HEADER: Final = struct.Struct("<QI")
_TRAILER: Final = struct.Struct("<I")
_MASK: Final = 0xA282EAD8


def records(path: Path, begin: int = 0) -> Iterator[bytes]:
    """The records of a file, one after the other, every byte checked.

    Args:
      path: of the file.
      begin: number of the first requested one; of earlier ones only the lengths are read.

    Raises:
      DamagedError: a checksum does not match, or the file ends inside a record; the message names file and offset.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        number = 0
        while (offset := file.tell()) < size:
            length = _length(file, path, offset, size)
            if number < begin:
                file.seek(length + _TRAILER.size, os.SEEK_CUR)
            else:
                yield _record(file, path, offset, length)
            number += 1


def masked(checksum: int) -> int:
    """A CRC-32C as the format stores it.

    >>> hex(masked(0xE3069283))
    '0xc78ab0e5'
    """
    return ((checksum >> 15 | checksum << 17) + _MASK) & 0xFFFFFFFF


def _length(file: BinaryIO, path: Path, offset: int, size: int) -> int:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise _cut(path, offset, size)
    length, checksum = _HEADER.unpack(header)
    if masked(crc32c(header[:8])) != checksum:
        raise DamagedError(f"{path}: the length of the record at byte {offset} does not match its checksum; {_ADVICE}")
    if length + _TRAILER.size > size - file.tell():
        raise _cut(path, offset, size)
    return int(length)


def _record(file: BinaryIO, path: Path, offset: int, length: int) -> bytes:
    data = file.read(length)
    (checksum,) = _TRAILER.unpack(file.read(_TRAILER.size))
    if masked(crc32c(data)) != checksum:
        begin = offset + _HEADER.size
        raise DamagedError(
            f"{path}: the record at byte {offset} does not match its checksum; {_ADVICE}",
            begin=begin,
            end=begin + length,
        )
    return data


def _cut(path: Path, offset: int, size: int) -> DamagedError:
    return DamagedError(f"{path}: the file ends at byte {size}, inside the record that begins at {offset}; {_ADVICE}")


_ADVICE: Final = "get the file again from where it came from"


_native: Final = extension("rlds_kit.riegeli")
_POLYNOMIAL: Final = 0x82F63B78
_LANE_BYTES: Final = 64
_MAX_LANES: Final = 1 << 14
_WORD: Final = np.dtype("<u2")


def crc32c(data: bytes | memoryview) -> int:
    """The checksum CRC-32C of some bytes, in C or in NumPy.

    The polynomial is Castagnoli's, bits reflected: RFC 3720, section 12.1.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    return int(_native.crc32c(data)) if _native else in_numpy(data)


def in_numpy(data: bytes | memoryview) -> int:
    """The same in NumPy, at 50 MB/s, if the extension was not built.

    A message is divided into lanes of equal length, whose checksums are computed in parallel and joined in pairs:
    appending zero bytes is a linear map of a checksum's bits.
    """
    state = 0xFFFFFFFF
    view = memoryview(data).cast("B")
    while len(view) >= 2 * _LANE_BYTES:
        lanes = min(_MAX_LANES, 1 << (len(view) // _LANE_BYTES).bit_length() - 1)
        size = lanes * _LANE_BYTES
        state = _append(state, size) ^ _side_by_side(view[:size], lanes)
        view = view[size:]
    table = _byte_table_list()
    for byte in view:
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFFFFFF


def _side_by_side(view: memoryview, lanes: int) -> int:
    """The state after a message of `lanes * _LANE_BYTES` bytes, with initial state zero."""
    words = np.ascontiguousarray(np.frombuffer(view, _WORD).reshape(lanes, -1).T)
    table = _word_table()
    states = np.zeros(lanes, np.uint32)
    for column in words:
        states = table[(states ^ column) & 0xFFFF] ^ (states >> 16)
    size = _LANE_BYTES
    while len(states) > 1:
        states = _appended(states[0::2], size) ^ states[1::2]
        size *= 2
    return int(states[0])


def _append(state: int, size: int) -> int:
    return int(_appended(np.array([state], np.uint32), size)[0])


def _appended(states: np.ndarray, size: int) -> np.ndarray:
    """The states after `size` more zero bytes, a power of two."""
    tables = _zeros_tables(size)
    joined: np.ndarray = tables[0][states & 0xFF]
    for number in (1, 2, 3):
        joined = joined ^ tables[number][states >> (8 * number) & 0xFF]
    return joined


@functools.cache
def _zeros_tables(size: int) -> np.ndarray:
    """`[4, 256]`: the result of `size` zero bytes for each byte of a state."""
    states = np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32)[:, None])
    if size > 1:
        return _appended(_appended(states, size // 2), size // 2)
    table: np.ndarray = _byte_table()[states & 0xFF] ^ (states >> 8)
    return table


@functools.cache
def _byte_table() -> np.ndarray:
    """`[256]`: the state after one byte."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


@functools.cache
def _byte_table_list() -> list[int]:
    return [int(state) for state in _byte_table()]


@functools.cache
def _word_table() -> np.ndarray:
    """`[65536]`: the state after two bytes, of which the first is the lower one."""
    states = np.arange(1 << 16, dtype=np.uint32)
    table = _byte_table()
    for _ in range(2):
        states = table[states & 0xFF] ^ (states >> 8)
    return states

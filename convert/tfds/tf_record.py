"""Reads TFRecord files: records, each with two checksums. No TensorFlow is needed.

"TFRecords format details" of https://www.tensorflow.org/tutorials/load_data/tfrecord: eight bytes of length, their
checksum, the data, its checksum; little-endian. A checksum is a CRC-32C, rotated and offset ("masked").
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from rlds_kit.base.errors import DamagedError
from rlds_kit.convert.tfds.crc32c import crc32c

_HEADER: Final = struct.Struct("<QI")
_TRAILER: Final = struct.Struct("<I")
_MASK: Final = 0xA282EAD8


def records(path: Path, begin: int = 0) -> Iterator[bytes]:
    """The records of a file, one after the other, every byte checked.

    Args:
      path: of the file.
      begin: number of the first one that is wanted; of those before it only the lengths are read.

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

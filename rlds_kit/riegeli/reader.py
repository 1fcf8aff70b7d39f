"""Reads the records of a Riegeli/records file, in order or by position.

"Summary", "File metadata" and "Properties of the file format" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, BinaryIO

from rlds_kit.closing import Closing
from rlds_kit.riegeli import simple, transposed
from rlds_kit.riegeli.chunk import METADATA, SIMPLE, TRANSPOSED
from rlds_kit.riegeli.chunk_reader import Chunk, Truncation, read_chunk
from rlds_kit.riegeli.codec import MAX_DECODED_SIZE
from rlds_kit.riegeli.errors import DamagedError, TruncatedWarning
from rlds_kit.riegeli.recovery import ChunkDamage, Recovery, Resume, SkippedRegion, resume_position
from rlds_kit.riegeli.seek import locate
from rlds_kit.riegeli.source import FileSource

_FIRST_CHUNK_AFTER_SIGNATURE = 64


def decode_records(chunk: Chunk, *, max_decoded_size: int = MAX_DECODED_SIZE) -> list[bytes]:
    """Return the records of `chunk`; signature, metadata and padding chunks have none.

    Raises:
        DamagedError: the chunk's data do not decode to what its header describes.
    """
    header = chunk.header
    header.validate()
    if header.chunk_type == SIMPLE:
        return simple.decode(chunk.data, header.num_records, header.decoded_data_size, max_size=max_decoded_size)
    if header.chunk_type == TRANSPOSED:
        return transposed.decode(chunk.data, header.num_records, header.decoded_data_size, max_size=max_decoded_size)
    return []


class RecordReader(Closing):
    """Iterates over the records of a file as bytes.

    `source` is a path, or a seekable binary file object, which stays open when the reader is closed.
    Records have numeric positions: the begin of their chunk plus their index in it. `seek` takes any
    number from 0 to the file's size.

    **Truncated files** (the writer died): every complete chunk is delivered, then iteration ends as at the
    end of any file. `truncated` is then where the incomplete chunk begins, and the reader reports it once,
    to `recovery` if there is one, else by a `TruncatedWarning`. If the file has grown since, reading goes on
    at the next call.

    **Damaged files**: without `recovery`, reading raises `DamagedError`, whose `end` is a position to seek to
    for what comes after the damage. With it, `recovery` is called with the `SkippedRegion` and reading
    goes on after it if it returns True, and ends there (until the next `seek`) if it returns False.

    `max_decoded_size` is the largest chunk to decompress, in bytes; more is treated as damage.

    >>> import io
    >>> from rlds_kit.riegeli import RecordWriter
    >>> file = io.BytesIO()
    >>> with RecordWriter(file, "zstd") as writer:
    ...     position = [writer.write_record(record) for record in (b"one", b"two")]
    >>> with RecordReader(file) as reader:
    ...     list(reader), reader.seek(position[1]), reader.read_record()
    ([b'one', b'two'], None, b'two')
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        *,
        recovery: Recovery | None = None,
        max_decoded_size: int = MAX_DECODED_SIZE,
    ) -> None:
        self._owned: IO[bytes] | None = None
        if isinstance(source, (str, os.PathLike)):
            self._owned = Path(source).open("rb")  # noqa: SIM115  # closed by `close`
        self._source = FileSource(self._owned or source)  # type: ignore[arg-type]  # not a path: a file
        self._recovery = recovery
        self._max_decoded_size = max_decoded_size
        self._records: Sequence[bytes] = ()
        self._chunk_begin = 0
        self._index = 0  # of the next record in `_records`
        self._next_chunk = 0
        self._next_index = 0  # of the first record wanted from the next chunk
        self._last_position: int | None = None
        self._ended = False
        self._truncated: Truncation | None = None
        self._warned_at = -1

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        record = self.read_record()
        if record is None:
            raise StopIteration
        return record

    @property
    def position(self) -> int:
        """The position at which reading goes on: seeking here delivers the record that would come next anyway."""
        if self._index < len(self._records):
            return self._chunk_begin + self._index
        return self._next_chunk + self._next_index

    @property
    def last_position(self) -> int:
        """The numeric position of the record delivered last.

        Raises:
            ValueError: no record was delivered yet.
        """
        if self._last_position is None:
            raise ValueError("no record was read yet")
        return self._last_position

    @property
    def truncated(self) -> Truncation | None:
        """The incomplete chunk that the last attempt to read ran into, None if there was none."""
        return self._truncated

    @property
    def metadata(self) -> bytes | None:
        """The serialized `riegeli.RecordsMetadata` message of the file, None where it has none.

        Raises:
            DamagedError: the chunk that holds it is damaged.
        """
        try:
            chunk = read_chunk(self._source, _FIRST_CHUNK_AFTER_SIGNATURE)
        except ChunkDamage as damage:
            raise self._as_error(damage) from damage
        if not isinstance(chunk, Chunk) or chunk.header.chunk_type != METADATA:
            return None
        chunk.header.validate()
        size = chunk.header.decoded_data_size
        return transposed.decode(chunk.data, 1, size, max_size=self._max_decoded_size)[0]

    def read_record(self) -> bytes | None:
        """Return the next record, None where no complete chunk is left.

        Raises:
            DamagedError: the next chunk is damaged and there is no `recovery`.
        """
        while self._index >= len(self._records):
            if not self._read_chunk():
                return None
        record = self._records[self._index]
        self._last_position = self._chunk_begin + self._index
        self._index += 1
        return record

    def read_some(self, most: int) -> Sequence[bytes]:
        """Return the next records, at least one and at most `most`, all of one chunk; none where none is left.

        The positions of records of one chunk follow each other; `last_position` is that of the last one.

        Raises:
            DamagedError: the next chunk is damaged and there is no `recovery`.
        """
        while self._index >= len(self._records):
            if not self._read_chunk():
                return ()
        found = self._records[self._index : self._index + most]
        self._index += len(found)
        self._last_position = self._chunk_begin + self._index - 1
        return found

    def seek(self, position: int) -> None:
        """Go to the record at numeric `position`, or to the next one where that hits no record.

        Raises:
            ValueError: `position` lies outside the file.
            DamagedError: a header on the way is damaged and there is no `recovery`.
        """
        if 0 <= position - self._chunk_begin < len(self._records):
            self._index = position - self._chunk_begin
            self._next_index = 0
            self._ended = False
            return
        if position < 0 or not self._source.reaches(position):
            raise ValueError(f"position {position} is outside the file, which has {self._source.size()} bytes")
        self._ended = False
        try:
            self._go_to(*locate(self._source, position))
        except ChunkDamage as damage:
            self._skip(damage)

    def close(self) -> None:
        """Close the file if it was opened from a path."""
        if self._owned is not None:
            self._owned.close()

    def _go_to(self, chunk: int, index: int) -> None:
        self._records = ()
        self._index = 0
        self._next_chunk = chunk
        self._next_index = index

    def _read_chunk(self) -> bool:
        """Make the next chunk the current one; False where there is none."""
        if self._ended:
            return False
        try:
            chunk = read_chunk(self._source, self._next_chunk)
            if not isinstance(chunk, Chunk):
                self._truncated = chunk
                self._report_truncation()
                return False
            records = self._decode(chunk)
        except ChunkDamage as damage:
            return self._skip(damage)
        self._truncated = None
        self._records = records
        self._chunk_begin, self._index = chunk.begin, min(self._next_index, len(records))
        self._next_chunk, self._next_index = chunk.end, 0
        return True

    def _decode(self, chunk: Chunk) -> list[bytes]:
        try:
            return decode_records(chunk, max_decoded_size=self._max_decoded_size)
        except DamagedError as error:
            raise ChunkDamage(error.message, chunk.begin, Resume.at(chunk.end)) from error

    def _as_error(self, damage: ChunkDamage) -> DamagedError:
        end = resume_position(self._source, damage.resume)
        return DamagedError(damage.message, begin=damage.begin, end=end)

    def _skip(self, damage: ChunkDamage) -> bool:
        """Report the damage to `recovery`, if there is one, and skip it; True if reading continues."""
        if self._recovery is None:
            raise self._as_error(damage) from damage
        region = SkippedRegion(damage.begin, resume_position(self._source, damage.resume), damage.message)
        self._go_to(region.end, 0)
        self._ended = not self._recovery(region)
        return not self._ended

    def _report_truncation(self) -> None:
        """Report each incomplete chunk once."""
        torn = self._truncated
        if torn is None or torn.begin == self._warned_at:
            return
        self._warned_at = torn.begin
        if self._recovery is not None:
            self._recovery(SkippedRegion(torn.begin, torn.begin + torn.length, str(torn)))
        else:
            warnings.warn(str(torn), TruncatedWarning, stacklevel=4)

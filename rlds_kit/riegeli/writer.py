"""Writes Riegeli/records files.

"Chunk", "File signature", "File metadata" and "Padding chunk" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

from rlds_kit.closing import Closing
from rlds_kit.riegeli import blocks, simple, transposed_encode
from rlds_kit.riegeli.buffer import Buffer
from rlds_kit.riegeli.chunk import METADATA, PADDING, SIGNATURE, SIMPLE, TRANSPOSED, ChunkHeader, frame_chunk
from rlds_kit.riegeli.codec import Compression, make_compressor
from rlds_kit.riegeli.errors import RiegeliError
from rlds_kit.riegeli.options import WriterOptions, parse_options

RECORD_OVERHEAD = 8
"""What each record counts for besides its own bytes when a chunk is filled."""


class Destination(Protocol):
    """A binary file object, as far as a writer uses it."""

    def write(self, data: bytes, /) -> int | None:
        """Write some or all of `data` and return the number of bytes written; None means all."""

    def flush(self) -> object:
        """Write buffered data to the operating system."""


class RecordWriter(Closing):
    """Writes records to a file; what is written is complete after `flush` or `close`.

    `dest` is a path or a binary file object; of the latter only `write` and `flush` are used, and it
    stays open. `options` is a string such as "zstd:6,chunk_size:1M" or "uncompressed". `metadata` is a
    serialized `riegeli.RecordsMetadata` message, written at the begin of a new file.

    `position` is where in the file writing begins. A path is then opened for update and cut there, which
    is how to go on after a crash: cut at the end of the last complete chunk. A file object must already
    stand there.

    If a write fails, its error is raised and nothing more is written: the file then ends with an
    incomplete chunk, as after a crash.

    >>> import io
    >>> file = io.BytesIO()
    >>> with RecordWriter(file, "uncompressed") as writer:
    ...     writer.write_record(b"first"), writer.write_record(b"second")
    (64, 65)
    """

    def __init__(
        self,
        dest: str | os.PathLike[str] | Destination,
        options: str | WriterOptions = "",
        *,
        metadata: bytes | None = None,
        position: int = 0,
    ) -> None:
        self._options = parse_options(options) if isinstance(options, str) else options
        self._compress = make_compressor(self._options.compression)
        self._records: list[bytes] = []
        self._cost = 0
        self._position = position
        self._failed = False
        self._closed = False
        self._owned: IO[bytes] | None = None
        if isinstance(dest, (str, os.PathLike)):
            self._owned = _open(dest, position)
        self._dest: Destination = self._owned or dest  # type: ignore[assignment]  # not a path: a file
        self._begin(metadata)

    @property
    def position(self) -> int:
        """The end of the chunks written so far, in bytes from the begin of the file.

        Records since the last `close_chunk`, `flush` or `pad` are not in it; the next chunk begins here.
        """
        return self._position

    def write_record(self, data: Buffer) -> int:
        """Add a record and return its numeric position, which a reader can seek to.

        Raises:
            RiegeliError: the writer is closed or an earlier write failed.
        """
        self._check_usable()
        record = data if type(data) is bytes else memoryview(data).tobytes()
        chunk_size = self._options.desired_chunk_size
        cost = len(record) + RECORD_OVERHEAD
        if self._records and self._cost + cost > chunk_size:
            self.close_chunk()
        position = self._position + len(self._records)
        self._records.append(record)
        self._cost += cost
        if self._cost + RECORD_OVERHEAD > chunk_size:
            self.close_chunk()
        return position

    def write_chunk(self, records: Sequence[bytes], compression: Compression | None = None) -> int:
        """Write `records` as one simple chunk and return where it begins.

        The chunk that is open is closed first. `compression` is the writer's own by default.
        """
        self.close_chunk()
        codec = (compression or self._options.compression).codec
        compress = self._compress if compression is None else make_compressor(compression)
        return self._write_records_chunk(SIMPLE, simple.encode(records, codec, compress), records)

    def close_chunk(self) -> None:
        """Write the records that wait for their chunk to fill up."""
        self._check_usable()
        if not self._records:
            return
        # A transposed chunk cannot represent a record of 4 GiB or more; a file may mix both types.
        fits = max(map(len, self._records)) <= transposed_encode.MAX_RECORD_SIZE
        chunk_type = TRANSPOSED if self._options.transpose and fits else SIMPLE
        encode = transposed_encode.encode if chunk_type == TRANSPOSED else simple.encode
        data = encode(self._records, self._options.compression.codec, self._compress)
        records, self._records, self._cost = self._records, [], 0
        self._write_records_chunk(chunk_type, data, records)

    def pad(self, multiple: int) -> None:
        """Close the chunk, then fill up with a padding chunk until the position is a multiple of `multiple`.

        >>> import io
        >>> writer = RecordWriter(io.BytesIO())
        >>> writer.pad(65536), writer.position
        (None, 65536)
        """
        self.close_chunk()
        end = padded_end(self._position, multiple)
        if end == self._position:
            return
        filler = bytes(blocks.without_overhead(self._position, end) - blocks.CHUNK_HEADER_SIZE)
        self._write_chunk(ChunkHeader.describe(filler, chunk_type=PADDING), filler)

    def flush(self) -> None:
        """Close the chunk, pad as the options specify, and write everything to the operating system.

        It does not sync the file: to make the data survive a power failure, pass a file object
        and call `os.fsync` on it after this.
        """
        self.close_chunk()
        self.pad(self._options.final_padding)
        self._dest.flush()

    def close(self) -> None:
        """Flush, and close the file if it was opened from a path. Closing twice is fine."""
        if self._closed:
            return
        try:
            if not self._failed:
                self.flush()
        finally:
            self._closed = True
            if self._owned is not None:
                self._owned.close()

    def _begin(self, metadata: bytes | None) -> None:
        if self._position == 0:
            self._write_chunk(ChunkHeader.describe(b"", chunk_type=SIGNATURE), b"")
            if metadata is not None:
                codec = self._options.compression.codec
                data = transposed_encode.encode([metadata], codec, self._compress)
                header = ChunkHeader.describe(data, chunk_type=METADATA, decoded_data_size=len(metadata))
                self._write_chunk(header, data)
            return
        if not blocks.possible_boundary(self._position):
            self._write(bytes(-self._position % blocks.BLOCK_SIZE))
        self.pad(self._options.initial_padding)

    def _write_records_chunk(self, chunk_type: int, data: bytes, records: Sequence[bytes]) -> int:
        header = ChunkHeader.describe(
            data, chunk_type=chunk_type, num_records=len(records), decoded_data_size=sum(map(len, records))
        )
        return self._write_chunk(header, data)

    def _write_chunk(self, header: ChunkHeader, data: bytes) -> int:
        begin = self._position
        self._write(frame_chunk(begin, header, data))
        return begin

    def _write(self, raw: bytes) -> None:
        """Write all of `raw`. An unbuffered file may accept fewer bytes in one call."""
        left: bytes | memoryview = raw
        try:
            while left:
                written = self._dest.write(left)  # type: ignore[arg-type]  # files take any buffer
                left = memoryview(left)[len(left) if written is None else written :]
        except BaseException:
            self._failed = True
            raise
        self._position += len(raw)

    def _check_usable(self) -> None:
        if self._failed:
            raise RiegeliError(f"an earlier write failed; the file is complete up to byte {self._position}")
        if self._closed:
            raise RiegeliError("the writer is closed")


def _open(path: str | os.PathLike[str], position: int) -> IO[bytes]:
    if position == 0:
        return Path(path).open("wb")
    file = Path(path).open("r+b")  # noqa: SIM115  # the writer's own, which closes it
    file.seek(position)
    file.truncate()
    return file


def padded_end(position: int, multiple: int) -> int:
    """Return where a padding chunk at `position` ends to reach a multiple of `multiple`, `position` if none is needed.

    >>> padded_end(64, 65536), padded_end(65530, 65536)
    (65536, 131072)
    """
    if multiple <= 1 or position % multiple == 0:
        return position
    length = multiple - position % multiple
    while length < blocks.CHUNK_HEADER_SIZE:
        length += multiple
    end = position + length
    while not blocks.possible_boundary(end):
        end += multiple
    return end

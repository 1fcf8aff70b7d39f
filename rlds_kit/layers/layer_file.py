"""One file of a layer: records that were appended by one writer, each made durable as a whole."""

import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from google.protobuf.message import DecodeError

from rlds_kit._version import __version__
from rlds_kit.errors import FormatError
from rlds_kit.layers import layers_pb2 as lp
from rlds_kit.layers.message import MAJOR_VERSION
from rlds_kit.remote.path import RemotePath
from rlds_kit.riegeli import DamagedError as RiegeliDamagedError
from rlds_kit.riegeli import chunk, simple
from rlds_kit.riegeli.chunk_reader import Chunk, Truncation, read_chunk
from rlds_kit.riegeli.codec import Codec, Compression, make_compressor
from rlds_kit.riegeli.recovery import ChunkDamage, SkippedRegion
from rlds_kit.storage import resync
from rlds_kit.storage.append_file import AppendFile
from rlds_kit.storage.place import Place

_ZSTD: Final = Compression(Codec.ZSTD)


class LayerFileWriter:
    """Creates a file, which must not exist, and appends records to it.

    Raises:
      OSError: it cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self._file = AppendFile(path)
        self._compress = make_compressor(_ZSTD)
        header = lp.LayerHeader(
            writer_id=uuid.uuid4().bytes, writer=f"rlds_kit {__version__}", created_unix_ns=time.time_ns()
        )
        try:
            signature = chunk.ChunkHeader.describe(b"", chunk_type=chunk.SIGNATURE)
            self._file.append(chunk.frame_chunk(0, signature, b""))
            self.append(lp.LayerRecord(version=MAJOR_VERSION, header=header).SerializeToString())
        except BaseException:
            self._file.close()
            raise

    def append(self, record: bytes) -> None:
        """Writes all of a record, or leaves the file as it was.

        Raises:
          OSError: the disk is full, or gone.
        """
        data = simple.encode([record], Codec.ZSTD, self._compress)
        header = chunk.ChunkHeader.describe(data, chunk_type=chunk.SIMPLE, num_records=1, decoded_data_size=len(record))
        self._file.append(chunk.frame_chunk(self._file.position, header, data))

    def sync(self) -> None:
        """Returns when everything written would survive a power cut.

        Raises:
          OSError: the disk is full, or gone.
        """
        self._file.sync()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class FileContents:
    """What is in a file of a layer, up to `end`.

    Attributes:
      batches: the records that hold annotations, in file order.
      skipped: damaged bytes.
      end: where the last whole chunk ends: reading can go on there when the file has grown.
    """

    batches: tuple[lp.Annotations, ...] = ()
    skipped: tuple[SkippedRegion, ...] = ()
    end: int = 0


def read_file(path: Path, before: FileContents | None = None, until: int | None = None) -> FileContents:
    """Reads what is in a file now; an unfinished chunk at its end, which nobody was told to be durable, is left out.

    Args:
      path: of the file.
      before: what was in it when it was read last; only what was added since is read.
      until: how much of the file to look at; None: all that is there.

    Raises:
      FormatError: it is no file of a layer, or of a newer major version.
      OSError: it cannot be read.
    """
    before = FileContents() if before is None else before
    if isinstance(path, RemotePath):
        return path.file().sound(lambda: _contents(path, before, until), lambda found: found.skipped == before.skipped)
    return _contents(path, before, until)


def _contents(path: Path, before: FileContents, until: int | None) -> FileContents:
    file = _tail(path, before.end, until)
    batches, skipped, position = list(before.batches), list(before.skipped), before.end
    while True:
        try:
            found = read_chunk(file, position)
            if found is None or isinstance(found, Truncation):
                break
            batches += _annotations(found, path)
            position = found.end
        except ChunkDamage as damage:
            resumed = resync.next_chunk(file, damage)
            skipped.append(SkippedRegion(position, resumed, damage.message))
            position = resumed
    return FileContents(tuple(batches), tuple(skipped), position)


def _annotations(found: Chunk, path: Path) -> list[lp.Annotations]:
    """The annotations in a chunk whose hashes match."""
    header, place = found.header, Place(path, found.begin)
    if header.chunk_type != chunk.SIMPLE:
        return []  # the signature; padding
    try:
        record = lp.LayerRecord.FromString(simple.decode(found.data, header.num_records, header.decoded_data_size)[0])
    except (RiegeliDamagedError, DecodeError, IndexError) as error:
        raise FormatError(f"{place}: expected the record of a layer: the file is none of a layer") from error
    if record.version != MAJOR_VERSION:
        raise FormatError(
            f"{place}: format version {record.version}, this is rlds_kit {__version__} and knows version "
            f"{MAJOR_VERSION}: upgrade rlds_kit"
        )
    return [record.annotations] if record.WhichOneof("kind") == "annotations" else []


def _tail(path: Path, begin: int, until: int | None) -> "_Tail":
    with path.open("rb") as file:
        file.seek(begin)
        return _Tail(begin, file.read(-1 if until is None else max(until - begin, 0)))


class _Tail:
    """A file from some position on, in memory: layers are small. A `rlds_kit.riegeli.source.Source`."""

    def __init__(self, begin: int, data: bytes) -> None:
        self._begin, self._data = begin, data

    def read(self, begin: int, size: int, /) -> bytes:
        """Up to `size` bytes at file position `begin`."""
        return self._data[begin - self._begin : begin - self._begin + size]

    def size(self) -> int:
        """Bytes in the file."""
        return self._begin + len(self._data)

    def reaches(self, position: int, /) -> bool:
        """Whether the file has so many bytes."""
        return position <= self.size()

"""A file of a layer: records that one writer appends, each completely or not at all."""

import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import xxhash
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from rlds_kit._version import __version__
from rlds_kit.base.append_file import AppendFile
from rlds_kit.base.errors import FormatError
from rlds_kit.layers import layers_pb2 as lp
from rlds_kit.layers.message import MAJOR_VERSION, known
from rlds_kit.remote.path import RemotePath
from rlds_kit.riegeli import DamagedError as RiegeliDamagedError
from rlds_kit.riegeli import chunk, simple
from rlds_kit.riegeli.chunk_reader import Chunk, read_chunk
from rlds_kit.riegeli.codec import Codec, Compression, make_compressor
from rlds_kit.riegeli.recovery import ChunkDamage, SkippedRegion
from rlds_kit.storage import resync
from rlds_kit.storage.manifest import ClosedFile
from rlds_kit.storage.place import Place
from rlds_kit.storage.regular import open_regular
from rlds_kit.storage.sightings import SIGNATURE_END

_ZSTD: Final = Compression(Codec.ZSTD)


class LayerFileWriter:
    """Creates a file, which must not exist, and appends records to it.

    Raises:
      OSError: it cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self._file = AppendFile(path)
        self._compress, self._digest = make_compressor(_ZSTD), xxhash.xxh3_128()
        header = lp.LayerHeader(
            writer_id=uuid.uuid4().bytes, writer=f"rlds_kit {__version__}", created_unix_ns=time.time_ns()
        )
        try:
            signature = chunk.ChunkHeader.describe(b"", chunk_type=chunk.SIGNATURE)
            self._append(chunk.frame_chunk(0, signature, b""))
            self.append(lp.LayerRecord(version=MAJOR_VERSION, header=header).SerializeToString())
        except BaseException:
            self._file.close()
            raise

    def append(self, record: bytes) -> None:
        """Appends a whole record, or leaves the file unchanged.

        Raises:
          OSError: the disk is full, or gone.
        """
        data = simple.encode([record], Codec.ZSTD, self._compress)
        header = chunk.ChunkHeader.describe(data, chunk_type=chunk.SIMPLE, num_records=1, decoded_data_size=len(record))
        self._append(chunk.frame_chunk(self._file.position, header, data))

    def _append(self, data: bytes) -> None:
        self._file.append(data)
        self._digest.update(data)

    def closed(self, dataset: Path) -> ClosedFile:
        """The entry of the closed file for the manifest of the dataset."""
        path = self._file.path.relative_to(dataset).as_posix()
        return ClosedFile(path, self._file.position, self._digest.hexdigest())

    def sync(self) -> None:
        """Returns when all written data would survive a power failure.

        Raises:
          OSError: the disk is full, or gone.
        """
        self._file.sync()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class FileContents:
    """The content of a file of a layer, up to `end`.

    Attributes:
      batches: the records with annotations, in file order.
      skipped: damaged bytes.
      end: the end of the last complete chunk, where reading can continue when the file has grown.
    """

    batches: tuple[lp.Annotations, ...] = ()
    skipped: tuple[SkippedRegion, ...] = ()
    end: int = 0


def read_file(path: Path, before: FileContents | None = None, until: int | None = None) -> FileContents:
    """Reads a file; an incomplete chunk at its end, which was never reported as durable, is left out.

    Args:
      path: of the file.
      before: the result of the previous read; only new records are read.
      until: number of bytes to read; None: the whole file.

    Raises:
      FormatError: it is not a file of a layer, or has a newer major version.
      OSError: it cannot be read.
    """
    before = FileContents() if before is None else before
    if isinstance(path, RemotePath):
        return path.file().sound(lambda: _contents(path, before, until), lambda found: found.skipped == before.skipped)
    return _contents(path, before, until)


def _contents(path: Path, before: FileContents, until: int | None) -> FileContents:
    file = _tail(path, before.end, until)
    batches, skipped, position = list(before.batches), list(before.skipped), before.end
    ids = {each.annotation_id for batch in batches for each in batch.annotation}
    foreign: FormatError | None = None
    is_ours = before.end > 0
    while True:
        try:
            found = read_chunk(file, position)
        except ChunkDamage as damage:
            resumed = resync.next_chunk(file, damage)
            skipped.append(SkippedRegion(position, resumed, damage.message))
            position = resumed
            continue
        if not isinstance(found, Chunk):
            break
        try:
            record = _record(found, path)
            if record is not None:
                # The header of a shard has the same fields and more, so unknown fields show that it is not ours.
                is_ours |= record.WhichOneof("kind") == "header" and not len(UnknownFieldSet(record.header))
                batch = _new_annotations(record, ids, Place(path, position))
                batches += [] if batch is None else [batch]
                is_ours |= batch is not None
        except FormatError as error:  # its checksums match, so it was copied from another file
            foreign = foreign or error
            skipped.append(SkippedRegion(position, found.end, str(error)))
        position = found.end
    if foreign is not None and not is_ours:
        # Which record fails first, and how, depends on random bytes such as the ids of episodes.
        raise FormatError(f"the file is none of a layer that this version reads: {foreign}") from foreign
    return FileContents(tuple(batches), tuple(skipped), position)


def _record(found: Chunk, path: Path) -> lp.LayerRecord | None:
    """The record in a chunk whose hashes match; None for the file's signature.

    Raises:
      FormatError: it does not belong into a layer, or has a newer major version.
    """
    header, place = found.header, Place(path, found.begin)
    if header.chunk_type == chunk.SIGNATURE and found.begin == 0:
        return None
    if header.chunk_type != chunk.SIMPLE or header.num_records != 1:
        raise FormatError(f"{place}: expected the record of a layer")
    try:
        record = lp.LayerRecord.FromString(simple.decode(found.data, header.num_records, header.decoded_data_size)[0])
    except (RiegeliDamagedError, DecodeError, IndexError) as error:
        raise FormatError(f"{place}: expected the record of a layer") from error
    if record.version != MAJOR_VERSION:
        raise FormatError(
            f"{place}: format version {record.version}, this is rlds_kit {__version__} and knows version "
            f"{MAJOR_VERSION}: upgrade rlds_kit"
        )
    return record


def _new_annotations(record: lp.LayerRecord, ids: set[bytes], place: Place) -> lp.Annotations | None:
    """The annotations of a record, whose ids are added to `ids`; None if it has none.

    Raises:
      FormatError: it contradicts itself, or is a copy: the file already has these annotations.
    """
    kind, batch = record.WhichOneof("kind"), record.annotations
    if (kind == "header") != (place.position == SIGNATURE_END):
        raise FormatError(f"{place}: expected the file's header at its beginning and nowhere else, got {kind}")
    if kind is None or not (batch.annotation or kind == "header"):
        raise FormatError(f"{place}: expected annotations, got a record without any that this version knows")
    known(batch, place)
    fresh = {each.annotation_id for each in batch.annotation}
    if fresh & ids:
        raise FormatError(f"{place}: expected new annotations, got some that the file has already")
    ids |= fresh
    return batch if kind == "annotations" else None


def _tail(path: Path, begin: int, until: int | None) -> "_Tail":
    with path.open("rb") if isinstance(path, RemotePath) else os.fdopen(open_regular(path), "rb") as file:
        file.seek(begin)
        return _Tail(begin, file.read(-1 if until is None else max(until - begin, 0)))


class _Tail:
    """A file from some position on, in memory, because layers are small. A `rlds_kit.riegeli.source.Source`."""

    def __init__(self, begin: int, data: bytes) -> None:
        self._begin, self._data = begin, data

    def read(self, begin: int, size: int, /) -> bytes:
        """Up to `size` bytes at file position `begin`."""
        return self._data[begin - self._begin : begin - self._begin + size]

    def size(self) -> int:
        """Bytes in the file."""
        return self._begin + len(self._data)

    def reaches(self, position: int, /) -> bool:
        """Whether the file has this many bytes."""
        return position <= self.size()

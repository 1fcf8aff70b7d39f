"""Reading one chunk: the cases that whole files do not have."""

import io

import pytest

from rlds_kit.riegeli.chunk import SIMPLE, ChunkHeader, frame_chunk
from rlds_kit.riegeli.chunk_reader import Chunk, Truncation, read_chunk, read_header
from rlds_kit.riegeli.recovery import ChunkDamage, Resume
from rlds_kit.riegeli.source import FileSource

DATA = bytes(range(200))
HEADER = ChunkHeader.describe(DATA, chunk_type=SIMPLE, num_records=1, decoded_data_size=200)
FILE = bytes(64) + frame_chunk(64, HEADER, DATA)


class Raw(io.BytesIO):
    """Returns at most seven bytes at a time, as an unbuffered file may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(7, size or 0))


@pytest.mark.parametrize("kind", [io.BytesIO, Raw])
def test_a_whole_chunk(kind: type[io.BytesIO]) -> None:
    """Header, data and end of the chunk, however the file hands out its bytes."""
    assert read_chunk(FileSource(kind(FILE)), 64) == Chunk(64, HEADER, DATA, len(FILE))


def test_the_end_of_the_file() -> None:
    """No byte at the position means no chunk."""
    assert read_chunk(FileSource(io.BytesIO(FILE)), len(FILE)) is None


def test_a_position_where_no_chunk_may_begin() -> None:
    """Such a position is damage that is searched on from."""
    with pytest.raises(ChunkDamage, match="cannot begin") as caught:
        read_header(FileSource(io.BytesIO(FILE)), 24)
    assert caught.value.resume == Resume.find(24)


def test_a_header_needs_no_data() -> None:
    """The header of an incomplete chunk can be read; the chunk itself is truncated."""
    source = FileSource(io.BytesIO(FILE[:110]))
    assert read_header(source, 64) == HEADER
    assert read_chunk(source, 64) == Truncation(64, 46, 240)
    assert str(Truncation(64, 46, 240)) == "the file ends 46 bytes into the chunk at 64, which needs 240"


def test_a_file_that_shrinks() -> None:
    """A file that was cut after its size was looked up is truncated, not an error."""
    file = io.BytesIO(FILE)
    source = FileSource(file)
    file.truncate(150)
    assert read_chunk(source, 64) == Truncation(64, 86, 240)

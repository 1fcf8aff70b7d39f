"""The layout of a block is the same whether C or Python reads its header, whatever the header contains."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError, RldsKitError
from rlds_kit.storage import block_layout, located, shard_file
from rlds_kit.storage.block_layout import BlockLayout, read_block_layout
from rlds_kit.storage.column_layout import layout_of_stored
from rlds_kit.storage.episode_reader import everything
from rlds_kit.storage.located import Wanted
from rlds_kit.storage.shard_file import ShardFile
from tests.loader.recording import plain, recorded
from tests.storage.forged_headers import forged_headers, forged_shard

needs_c = pytest.mark.skipif(located.native is None, reason="the C extension is left out")


def _in_python(file: ShardFile) -> BlockLayout:
    return block_layout.block_layout(shard_file.read_block_prefix(file, 64), file.place(64))


def _found(read: Any, file: ShardFile) -> object:
    """Everything that a header says, column by column, or why it cannot be read."""
    try:
        layout = read(file)
    except RldsKitError as error:
        return type(error), str(error)
    columns = list[object]()
    for number, path in enumerate(layout.paths):
        try:
            columns.append((path, layout._column(number)))
        except RldsKitError as error:
            columns.append((path, type(error), str(error)))
    return layout.episode_id, layout.first_row, layout.end_row, layout.payload_base, columns


@given(raw=forged_headers())
def test_forged_headers_say_the_same(raw: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any bytes: the same layouts, and the same errors."""
    file = forged_shard(tmp_path_factory.mktemp("forged"), raw)
    assert _found(lambda file: read_block_layout(file, 64), file) == _found(_in_python, file)


COLUMN = pb.Column(path="x", kind=pb.ARRAY, dtype="float32", count=3, rank=1, shape=[2], length=7, decoded_length=24)


def _header(column: bytes, rest: bytes = b"") -> bytes:
    """A header with one column."""
    head = pb.BlockHeader(episode_id=b"e" * 16, first_row=2, end_row=5).SerializeToString()
    return head + b"\x22" + bytes((len(column),)) + column + rest


@needs_c
@pytest.mark.parametrize(
    ("raw", "is_read_in_c"),
    [
        (_header(COLUMN.SerializeToString()), True),
        (_header(COLUMN.SerializeToString(), b"\x28\x07"), False),  # a field of a later version
        (_header(COLUMN.SerializeToString(), b"\x18\x06"), False),  # the last row once more
        (_header(COLUMN.SerializeToString() + b"\x48\x03"), False),  # a dimension after the length
        (_header(COLUMN.SerializeToString() + b"\x80\x01\x03"), False),  # a field of a later version in the column
        (_header(COLUMN.SerializeToString() + b"\x78\x03"), False),  # a checksum that is no fixed64
        (_header(pb.Column(path="x" * 600).SerializeToString()[:120] + b"\x28\x03"), False),
        (_header(COLUMN.SerializeToString().replace(b"\x01x", b"\x01\xff")), False),  # a path that is no text
        (_header(COLUMN.SerializeToString()[:-1]), False),
        (b"\x00\x03" + _header(COLUMN.SerializeToString()), False),  # field 0
        (b"\x8a\x80\x80\x80\x80\x00" + _header(COLUMN.SerializeToString())[1:], False),  # a tag of six bytes
        (b"\x0a\x90\x80\x80\x80\x80\x00" + _header(COLUMN.SerializeToString())[2:], False),  # a length of six bytes
        (_header(COLUMN.SerializeToString())[18:], True),  # no id
        (b"\x12\x01\x05" + _header(COLUMN.SerializeToString())[20:], False),  # a first row that is no number
    ],
)
def test_what_c_does_not_know_is_read_in_python(raw: bytes, *, is_read_in_c: bool, tmp_path: Path) -> None:
    """And says the same."""
    file = forged_shard(tmp_path, raw)
    found = _found(lambda file: read_block_layout(file, 64), file)
    assert found == _found(_in_python, file)
    if isinstance(found, tuple) and isinstance(found[0], bytes):
        assert (read_block_layout(file, 64).layout is layout_of_stored) is is_read_in_c


@pytest.mark.parametrize(("offset", "length"), [(1 << 63, 20), ((1 << 64) - 1, (1 << 64) - 1), (0, 1 << 62)])
def test_bytes_that_no_file_has_are_refused(offset: int, length: int, tmp_path: Path) -> None:
    """Before anything is read at such a position."""
    column = pb.Column(path="x", kind=pb.ARRAY, dtype="float32", count=3, rank=1, shape=[2], decoded_length=24)
    column.offset, column.length = offset, length
    layout = read_block_layout(forged_shard(tmp_path, _header(column.SerializeToString())), 64)
    with pytest.raises(FormatError, match=f"it claims {length} bytes from byte {offset} on"):
        layout.columns(everything)


def test_a_header_of_another_checksum_is_refused(tmp_path: Path) -> None:
    """Neither the layout nor a table of columns is made of it."""
    raw = _header(COLUMN.SerializeToString())
    data = bytearray(forged_shard(tmp_path, raw).path.read_bytes())
    data[data.index(raw) + len(raw) + 1] ^= 1
    (tmp_path / "changed").write_bytes(data)
    file = ShardFile(tmp_path / "changed")
    with pytest.raises(DamagedError, match="the block header does not match its checksum"):
        read_block_layout(file, 64)
    places = np.zeros(1, located.PLACE)
    places["position"], places["first_row"], places["end_row"], places["episode_id"] = 64, 2, 5, b"e" * 16
    found = located.locate(file, places, [Wanted("x", np.dtype(np.float32), (2,))])
    assert found[0, 0, located.STATUS] == located.OTHER


@needs_c
def test_blocks_of_a_recording_are_read_in_c() -> None:
    """All of them, with the layouts that Python reads."""
    with recorded(plain(300, 200, observation="large image")) as dataset:
        source = dataset.source()
        for number, entry in enumerate(source.entries):
            file = source.reader(number).plain_file
            assert file is not None
            for position in entry.blocks.tolist():
                layout = read_block_layout(file, position)
                assert layout.layout is layout_of_stored
                expected = block_layout.block_layout(shard_file.read_block_prefix(file, position), file.place(position))
                assert layout.columns(everything) == expected.columns(everything)
                assert layout.payload_base == expected.payload_base

"""Columns that are found and read in C: the checksum is that of the package, headers are those that Python reads."""

from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.riegeli import blocks
from rlds_kit.storage import located, shard_file
from rlds_kit.storage.block_layout import block_layout
from rlds_kit.storage.episode_reader import everything
from rlds_kit.storage.located import Wanted
from tests.loader.recording import plain, recorded
from tests.storage.forged_headers import forged_headers, forged_shard

pytestmark = pytest.mark.skipif(located.native is None, reason="the C extension is left out")


@given(st.integers(0, 3000), st.integers(0, 1 << 32))
def test_the_checksum_is_xxh3(size: int, seed: int) -> None:
    """Of any length: short ones are computed in other ways than long ones."""
    data = np.random.default_rng(seed).bytes(size)
    assert located.native is not None
    assert located.native.xxh3(data) == xxhash.xxh3_64_intdigest(data)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1024, 1025, 65, 1 << 17])
def test_the_checksum_at_limits(size: int) -> None:
    """Where one way ends and the next begins."""
    data = bytes(range(256)) * (size // 256 + 1)
    assert located.native is not None
    assert located.native.xxh3(data[:size]) == xxhash.xxh3_64_intdigest(data[:size])


def test_what_is_found_is_what_headers_have() -> None:
    """Position, length, checksum, filter, codec and rows of every column."""
    with recorded(plain(300, 200, observation="large image")) as dataset:
        source = dataset.source()
        for number, entry in enumerate(source.entries):
            reader = source.reader(number)
            file = reader.plain_file
            assert file is not None
            for block in range(len(entry.blocks)):
                layout = reader._layout(block)
                places = np.zeros(1, located.PLACE)
                places["position"], places["first_row"] = entry.blocks[block], layout.first_row
                places["end_row"], places["episode_id"] = layout.end_row, entry.episode_id
                for column in layout.columns(everything):
                    wanted = Wanted(column.path, column.dtype, column.shape)
                    if not wanted.is_findable:
                        continue
                    (((status, offset, *numbers),),) = located.locate(file, places, [wanted]).tolist()
                    assert status == located.FOUND
                    assert offset == layout.payload_base + column.offset
                    assert (numbers[0], numbers[1], numbers[2] % (1 << 64)) == (
                        column.length,
                        column.decoded_length,
                        column.xxh3,
                    )
                    assert numbers[3:] == [column.filter, column.codec, column.first_row, column.end_row]


def test_another_dtype_shape_or_episode_is_not_found() -> None:
    """These are left to the reader of episodes; a field that is not there is absent."""
    with recorded(plain(30, observation="vector")) as dataset:
        source = dataset.source()
        file, entry = source.reader(0).plain_file, source.entries[0]
        assert file is not None
        places = np.zeros(1, located.PLACE)
        places["position"], places["end_row"] = entry.blocks[0], entry.end_row[0]
        places["episode_id"] = entry.episode_id
        single, double = np.dtype(np.float32), np.dtype(np.float64)
        wanted = [
            Wanted("observation", single, (3,)),
            Wanted("observation", double, (3,)),
            Wanted("observation", single, (4,)),
            Wanted("observation", single, ()),
            Wanted("nothing", single, (3,)),
        ]
        expected = [located.FOUND, *[located.OTHER] * 3, located.ABSENT]
        assert located.locate(file, places, wanted)[0, :, located.STATUS].tolist() == expected
        for name, value in (("episode_id", bytes(16)), ("end_row", 7), ("position", 3), ("position", 1 << 40)):
            wrong = places.copy()
            wrong[name] = value
            assert located.locate(file, wrong, wanted)[0, :, located.STATUS].tolist() == [located.OTHER] * 5


@given(data=st.data())
def test_forged_headers_are_read_as_in_python(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any bytes: what C finds is what Python finds, and what Python refuses C does not find."""
    file = forged_shard(tmp_path_factory.mktemp("forged"), data.draw(forged_headers()))
    places = np.zeros(1, located.PLACE)
    places["position"], places["end_row"], places["episode_id"] = 64, 5, b"e" * 16
    wanted = Wanted("x", np.dtype(np.float32), (3,))
    ((found,),) = located.locate(file, places, [wanted])
    if found[located.STATUS] != located.FOUND:
        return
    layout = block_layout(shard_file.read_block_prefix(file, 64), "here")
    (column_read,) = layout.columns(lambda path: path == "x")
    mine = wanted.layout(found)
    assert mine._replace(key=column_read.key, offset=column_read.offset) == column_read
    assert mine.offset == column_read.offset + layout.payload_base


def test_a_header_that_claims_too_much_is_not_found(tmp_path: Path) -> None:
    """Compressed bytes are not more than those before: else two gigabytes would be allocated for each such block."""
    places = np.zeros(1, located.PLACE)
    places["position"], places["end_row"], places["episode_id"] = 64, 5, b"e" * 16
    for length, status in ((50, located.FOUND), (1 << 20, located.OTHER), (1 << 31, located.OTHER)):
        header = pb.BlockHeader(episode_id=b"e" * 16, first_row=0, end_row=5)
        header.columns.add(
            path="x", kind=pb.ARRAY, dtype="float32", count=5, codec=pb.ZSTD, length=length, decoded_length=20
        )
        file = forged_shard(tmp_path, header.SerializeToString())
        ((found,),) = located.locate(file, places, [Wanted("x", np.dtype(np.float32), ())])
        assert found[located.STATUS] == status


def test_parts_are_copied_around_the_headers_of_the_container() -> None:
    """Those interrupt a chunk every 64 KiB; a part that ends beyond the file, or beyond the memory, is not copied."""
    with recorded(plain(300, observation="large image")) as dataset:
        file = dataset.source().reader(0).plain_file
        assert file is not None
        size = file.size()
        begin, payload = 0, blocks.unframe(file.path.read_bytes(), 0)
        request = np.zeros(1, located.REQUEST)
        for offset, length in ((0, 10), (5, len(payload) - 5), (65_000, 1_000), (65_512, 1), (65_511, 65_600)):
            if offset + length > len(payload):
                continue
            request["offset"], request["length"], request["position"] = offset, length, begin
            request["checksum"] = np.uint64(xxhash.xxh3_64_intdigest(payload[offset : offset + length])).astype(
                np.int64
            )
            out = np.zeros(length, np.uint8)
            assert located.read(file, request, out, is_checked=True) == 1
            assert out.tobytes() == payload[offset : offset + length]
            request["checksum"] += 1
            assert located.read(file, request, out, is_checked=True) == 0
        request["offset"], request["length"] = size, 10
        assert located.read(file, request, np.zeros(10, np.uint8), is_checked=False) == 0
        request["offset"], request["to"] = 0, 1
        with pytest.raises(ValueError, match="not inside of the array"):
            located.read(file, request, np.zeros(10, np.uint8), is_checked=False)


@pytest.mark.parametrize(
    ("codec", "filter_", "length", "expected"),
    [
        (pb.STORED, pb.REPEAT, 8, True),
        (pb.STORED, pb.REPEAT, 16, False),
        (pb.STORED, pb.SHUFFLE, 8, False),
        (pb.ZSTD, pb.REPEAT, 8, False),
    ],
)
def test_which_columns_are_one_row(codec: int, filter_: int, length: int, *, expected: bool) -> None:
    """Only one that is there as it is can be copied to all rows."""
    numbers = np.zeros((1, located.NUMBERS), np.int64)
    numbers[0, [located.CODEC, located.FILTER, located.LENGTH]] = codec, filter_, length
    assert located.are_repeated(numbers, 8).tolist() == [expected]

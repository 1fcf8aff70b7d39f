"""Digests and records of parts of episodes: C and Python make the same ones."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import value
from rlds_kit.storage import block
from rlds_kit.storage.digest import EpisodeDigest, digest_in_python, digests_of_run, shape_bytes
from rlds_kit.storage.leaf import EMPTY_DICT
from rlds_kit.storage.part_records import PartRecords, part_records, part_records_in_python
from rlds_kit.storage.whole_hashes import LeafFields, leaf_hashes, leaf_hashes_in_python

ID = bytes(range(16))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=300),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=6,
)
DICTS = st.dictionaries(st.text(), VALUES, max_size=3)
needs_native = pytest.mark.skipif(block.native is None, reason="the C extension is not built")


@st.composite
def _starts(draw: st.DrawFn) -> pb.EpisodeStart:
    """Messages with all fields or some."""
    start = pb.EpisodeStart(episode_id=ID, started_unix_ns=draw(st.integers(0, (1 << 63) - 1)))
    for field, values in (("metadata", DICTS), ("seed", VALUES), ("options", VALUES), ("provenance", DICTS)):
        if draw(st.booleans()):
            getattr(start, field).CopyFrom(value.encode(draw(values), field))
    return start


@st.composite
def _ends(draw: st.DrawFn) -> pb.EpisodeEnd:
    end = pb.EpisodeEnd(episode_id=ID, ending=draw(st.sampled_from(pb.Ending.keys())))
    end.terminated, end.truncated = draw(st.booleans()), draw(st.booleans())
    end.rows = draw(st.integers(0, (1 << 64) - 1))
    if draw(st.booleans()):
        end.metadata.CopyFrom(value.encode(draw(DICTS), "metadata"))
    return end


PART = st.tuples(st.binary(max_size=700), _starts(), st.binary(max_size=40), st.none() | _ends(), st.booleans())
PARTS = st.lists(PART, max_size=4)


def _lists(parts: list[Any]) -> Any:
    hashes, starts, blocks, ends, begins = ([each[at] for each in parts] for at in range(5))
    messages = [b"" if each is None else each.SerializeToString() for each in ends]
    return hashes, [each.SerializeToString() for each in starts], blocks, messages, bytes(begins)


@given(PARTS)
def test_records_and_digests_are_the_same(parts: list[Any]) -> None:
    """Those that protobuf writes, whatever an episode's messages have, and whether a part begins or ends it."""
    found = part_records(*_lists(parts))
    assert found == part_records_in_python(*_lists(parts))
    made, expected = PartRecords(*found), list[bytes]()
    for at, (hashes, start, record, end, begins) in enumerate(parts):
        digest = made.digests[16 * at : 16 * at + 16]
        expected += [pb.Record(version=1, start=start).SerializeToString()] * begins + [record] * bool(record)
        if end is None:
            assert (digest, made.endings[at]) == (bytes(16), 0)
            continue
        whole = EpisodeDigest()
        whole.update_whole(hashes)
        assert digest == whole.digest(start, end) == digest_in_python(hashes, start, end)
        end.content_digest = digest
        expected.append(pb.Record(version=1, end=end).SerializeToString())
        assert made.endings[at] == end.ending
        assert made.has_metadata[at] or not (start.metadata.dict.key or end.metadata.dict.key)
    assert made.records == expected


def test_empty_metadata_are_none() -> None:
    """As most episodes have them: the encoded empty dict."""
    start, end = pb.EpisodeStart(), pb.EpisodeEnd()
    for message in (start, end):
        message.metadata.ParseFromString(EMPTY_DICT)
    made = part_records([b""], [start.SerializeToString()], [b""], [end.SerializeToString()], b"\1")
    assert PartRecords(*made).has_metadata == b"\0"


@needs_native
@pytest.mark.parametrize("data", [b"\x79" + bytes(8), b"\x7d" + bytes(4), b"\x78\x05", b"\x7a\x02ab"])
def test_fields_of_later_versions_have_no_effect(data: bytes) -> None:
    """Of any size, as in Python."""
    start = pb.EpisodeStart(episode_id=ID, metadata=value.encode({"a": 1}, "metadata"))
    end = pb.EpisodeEnd(episode_id=ID, rows=3, metadata=value.encode({"b": 2}, "metadata"))
    expected = digest_in_python(b"leaves", start, end)
    messages = start.SerializeToString(), end.SerializeToString()
    native: Any = block.native
    for first, last in ((data + messages[0], messages[1] + data), (messages[0] + data, data + messages[1])):
        assert native.digest(b"leaves", first, last) == expected


@pytest.mark.parametrize("data", [b"\x7b\x08\x01\x7c", b"\x10\x05", b"\x19" + bytes(8)])
def test_fields_that_only_protobuf_knows_have_no_effect(data: bytes) -> None:
    """Groups, and known fields of another type."""
    first, last = pb.EpisodeStart(episode_id=ID), pb.EpisodeEnd(episode_id=ID, rows=3, ending=pb.TRUNCATED)
    expected = EpisodeDigest().digest(first, last)
    odd = pb.EpisodeStart.FromString(first.SerializeToString() + data)
    assert odd.SerializeToString() != first.SerializeToString()
    assert EpisodeDigest().digest(odd, last) == expected


@needs_native
@pytest.mark.parametrize(
    "data",
    [b"\x0a", b"\x0a\x05abc", b"\x09" + bytes(7), b"\x0d" + bytes(3), b"\x0b", b"\x80" * 11, b"\x12\xff" + b"\xff" * 9],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    """Cut messages, and groups."""
    for start, end in ((data, b""), (b"", data)):
        with pytest.raises(ValueError, match="message"):
            block.native.part_records([b""], [start], [b""], [end], b"\1")  # type: ignore[union-attr]
        with pytest.raises(ValueError, match="message"):
            block.native.digest(b"", start, end)  # type: ignore[union-attr]


@needs_native
def test_other_arguments_are_refused() -> None:
    """Lists of other lengths, and what is not bytes."""
    native: Any = block.native
    for at in range(4):
        lists = [[b""]] * 4
        lists[at] = []
        with pytest.raises(ValueError, match="1 hashes, starts, blocks and ends"):
            native.part_records(*lists, b"\1")
    for at, other in enumerate(("", None, bytearray(), bytearray())):
        with pytest.raises(TypeError):
            native.part_records(*[[other if at == each else b""] for each in range(4)], b"\1")
    with pytest.raises(TypeError):
        native.digest(b"", b"", None)


def _column(rng: np.random.Generator, shape: tuple[int, ...], blocks: int, most: int) -> LeafFields:
    first = rng.integers(0, 3, blocks)
    count = rng.integers(0, most, blocks) * (rng.random(blocks) < 0.8)  # some have no rows
    spans = np.stack((first, first + count, first, first), axis=1)
    return (
        rng.bytes(int(rng.integers(90))),
        shape_bytes(shape),
        spans.tobytes(),
        rng.bytes(16 * blocks),
    )


@pytest.mark.parametrize("most", [2, 40, 600])
def test_hashes_of_leaves_are_the_same(most: int) -> None:
    """Of columns with the same rows and with others, and values of several dimensions."""
    rng, blocks = np.random.default_rng(most), 20
    columns = [_column(rng, shape, blocks, most) for shape in ((), (4,), (3, 0), (1,) * 64, (), (2, 5))]
    is_whole = bytes(rng.integers(0, 2, blocks).astype(np.uint8))
    found = leaf_hashes(columns, is_whole)
    assert found == leaf_hashes_in_python(columns, is_whole)
    assert [bool(each) for each in found] == [bool(each) for each in is_whole]
    head, shape, spans, hashes = columns[0]
    rows = np.frombuffer(spans, np.int64).reshape(-1, 4)[:, :2].tolist()
    number, (first, stop) = next((at, each) for at, each in enumerate(rows) if is_whole[at] and each[0] < each[1])
    expected = head + digests_of_run(first, stop, shape) + hashes[16 * number : 16 * number + 16]
    assert found[number].startswith(expected)


def test_no_blocks_and_no_columns() -> None:
    """Nothing comes out."""
    assert leaf_hashes([], b"") == []
    assert leaf_hashes([], b"\1") == leaf_hashes_in_python([], b"\1") == [b""]


@needs_native
def test_columns_of_other_blocks_are_refused() -> None:
    """Nothing is read beyond what they have."""
    native: Any = block.native
    good = (b"", b"", bytes(64), bytes(32))
    assert native.leaf_hashes([good], b"\1\1") == [b"", b""]
    others = (*good[:2], good[2][:32], good[3]), (*good[:3], good[3][:16]), (b"", bytes(8 * 257), *good[2:])
    for other in others:
        with pytest.raises(ValueError, match="2 blocks"):
            native.leaf_hashes([good, other], b"\1\1")
    for wrong in ([3], [good[:3]], (good,)):
        with pytest.raises(TypeError):
            native.leaf_hashes(wrong, b"\1\1")

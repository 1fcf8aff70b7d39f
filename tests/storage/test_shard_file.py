"""Parts of a shard are read by position, whatever size a header claims."""

import os
import random
from pathlib import Path
from typing import Final

import pytest

from rlds_kit import DamagedError
from rlds_kit.riegeli import blocks
from rlds_kit.storage.shard_file import ShardFile, read_payload

SIZE: Final = 5 * blocks.BLOCK_SIZE + 777
MUCH: Final = 40 << 20


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of random bytes."""
    made = tmp_path_factory.mktemp("shard") / "bytes"
    made.write_bytes(random.Random(0).randbytes(SIZE))
    return made


@pytest.mark.parametrize("claimed", [SIZE, 1 << 26, 1 << 40, (1 << 63) - 1], ids=str)
def test_a_read_beyond_the_end_gives_what_is_there(path: Path, claimed: int) -> None:
    """And allocates no more memory than the existing bytes."""
    file = ShardFile(path)
    assert file.read(100, claimed) == path.read_bytes()[100:]
    assert file.read(SIZE + 1, claimed) == b""


@pytest.mark.parametrize("claimed", [SIZE, 1 << 26, 1 << 40, (1 << 63) - 1], ids=str)
def test_a_payload_that_claims_more_than_the_file_has_is_damaged(path: Path, claimed: int) -> None:
    """It is not a MemoryError, which would not describe the file."""
    with pytest.raises(DamagedError, match="the file ends before the chunk does"):
        read_payload(ShardFile(path), 0, 0, claimed)


@pytest.mark.parametrize("seed", range(40))
def test_a_payload_is_what_is_read_without_its_block_headers(path: Path, seed: int) -> None:
    """Long or short, from anywhere, whichever way it is read."""
    rng = random.Random(seed)
    position = rng.choice([0, 64, blocks.BLOCK_SIZE, rng.randrange(25, blocks.BLOCK_SIZE)])
    offset, size = rng.randrange(blocks.BLOCK_SIZE), rng.choice([1, 1000, blocks.BLOCK_SIZE, rng.randrange(1, 200_000)])
    begin, end = blocks.physical(position, offset), blocks.physical(position, offset + size - 1) + 1
    found = read_payload(ShardFile(path), position, offset, size)
    assert len(found) == size
    assert found == blocks.unframe(path.read_bytes()[begin:end], begin)


def test_a_payload_of_many_blocks_is_read(tmp_path: Path) -> None:
    """Of more than one read can take apart."""
    path = tmp_path / "bytes"
    content = random.Random(1).randbytes(MUCH + blocks.BLOCK_SIZE)
    path.write_bytes(content)
    for size in (30 << 20, MUCH):
        end = blocks.physical(0, size - 1) + 1
        found = read_payload(ShardFile(path), 0, 0, size)
        assert found == blocks.unframe(content[blocks.physical(0, 0) : end], blocks.physical(0, 0))


class _ShortReads(ShardFile):
    """A file of which each system call gives at most 1,000 bytes, as a network disk or a signal may have it."""

    def _read(self, begin: int, size: int) -> bytes:
        return super()._read(begin, min(size, 1000))


@pytest.mark.parametrize("size", [1, 999, 1000, 1001, 50_000, SIZE, MUCH])
@pytest.mark.parametrize("begin", [0, 77, SIZE - 1500])
def test_short_reads_are_continued(path: Path, begin: int, size: int) -> None:
    """Until all bytes are read, or the file ends."""
    assert _ShortReads(path).read(begin, size) == path.read_bytes()[begin : begin + size]


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="reads are made in another way here")
def test_a_payload_of_which_less_is_read_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One read of many parts that gives less than was wanted is not taken for all of it."""
    whole = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, parts, begin: whole(file, parts[:1], begin))
    begin, size = blocks.physical(0, 100), 3 * blocks.BLOCK_SIZE
    end = blocks.physical(0, 100 + size - 1) + 1
    assert read_payload(ShardFile(path), 0, 100, size) == blocks.unframe(path.read_bytes()[begin:end], begin)

"""Records that changed places: each matches its checksums, and belongs to something else."""

import itertools
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit import DamagedError, EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.riegeli.chunk import ChunkHeader
from rlds_kit.riegeli.chunk_reader import read_header
from rlds_kit.storage.contents import contents
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.episode_blocks import blocks_of
from rlds_kit.tools.upkeep.rechunk import rechunk
from rlds_kit.tools.upkeep.verify import verify

EPISODES = 5


def _record(directory: Path, *, start_note: str = "", end_note: str = "") -> Path:
    with Recorder(directory, specs.Dict({}), policy=FlushPolicy(block_rows=4, interval=None)) as recorder:
        for number in range(EPISODES):
            episode = recorder.start_episode(metadata={"number": number, "note": start_note}, seed=number + 100)
            for row in range(8):
                episode.append({"observation": 10 * number + row}, {"action": number} if row else None)
            episode.end(EpisodeEnd.TERMINATED, metadata={"score": number, "note": end_note})
    (path,) = directory.glob("*.riegeli")
    return path


def _swap(path: Path, one: int, other: int) -> None:
    """Lets two chunks of equal size change places."""
    data, file = bytearray(path.read_bytes()), ShardFile(path)
    (begin, end), (begin_2, end_2) = (_span(file, each) for each in (one, other))
    assert end - begin == end_2 - begin_2
    data[begin:end], data[begin_2:end_2] = data[begin_2:end_2], data[begin:end]
    path.write_bytes(data)


def _span(file: ShardFile, position: int) -> tuple[int, int]:
    header = read_header(file, position)
    assert isinstance(header, ChunkHeader)
    return position, header.end(position)


PAIRS = list(itertools.combinations(range(EPISODES), 2))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("what", ["start", "end"])
def test_swapped_starts_or_ends_are_refused(tmp_path: Path, what: str, pair: tuple[int, int]) -> None:
    """No metadata, seed or ending of another episode is handed out; the error names file and place."""
    path = _record(tmp_path)
    entries = contents(ShardFile(path)).episodes
    positions = [getattr(entries[each], what) for each in pair]
    _swap(path, *positions)
    episodes = rlds_kit.open(tmp_path).episodes
    for number, position in zip(pair, positions, strict=True):
        place = f"{path}, chunk at byte {position}: expected the {what} of episode"
        with pytest.raises(DamagedError) as raised:
            _ = episodes[number].metadata
        assert place in str(raised.value)
        with pytest.raises(DamagedError):
            list(rlds_kit.open(tmp_path).where(lambda metadata: bool(metadata["score"])).episodes)
        assert episodes[number]["observation"].tolist() == [10 * number + row for row in range(8)]
    whole = next(number for number in range(EPISODES) if number not in pair)
    assert episodes[whole].seed == whole + 100
    assert episodes[whole].metadata == {"number": whole, "note": "", "score": whole}
    assert not verify(tmp_path).ok
    with pytest.raises(DamagedError):
        rechunk(tmp_path, tmp_path / "copy")


@pytest.mark.parametrize("what", ["start", "end"])
def test_record_of_another_kind_is_refused(tmp_path: Path, what: str) -> None:
    """An end in the place of a start, and the other way round."""
    start_bytes, end_bytes = (_chunk_bytes(tmp_path / "d", each) for each in ("start", "end"))
    longer = "x" * abs(start_bytes - end_bytes)
    path = _record(tmp_path / "e", **({"end_note": longer} if start_bytes > end_bytes else {"start_note": longer}))
    entries = contents(ShardFile(path)).episodes
    _swap(path, entries[0].start, entries[1].end)
    episode = rlds_kit.open(tmp_path / "e").episodes[0 if what == "start" else 1]
    with pytest.raises(
        DamagedError, match=rf"chunk at byte \d+: expected the {what} of episode .* got a record of kind"
    ):
        _ = episode.seed if what == "start" else episode.metadata


def _chunk_bytes(directory: Path, what: str) -> int:
    if not directory.exists():
        _record(directory)
    (path,) = directory.glob("*.riegeli")
    file = ShardFile(path)
    begin, end = _span(file, getattr(contents(file).episodes[1], what))
    return end - begin


@pytest.mark.parametrize("pair", PAIRS)
def test_swapped_blocks_are_refused(tmp_path: Path, pair: tuple[int, int]) -> None:
    """Steps of another episode never come."""
    path = _record(tmp_path)
    one, other = (int(contents(ShardFile(path)).episodes[each].blocks[0]) for each in pair)
    _swap(path, one, other)
    for number in pair:
        entry = contents(ShardFile(path)).episodes[number]
        with pytest.raises(DamagedError, match=r"chunk at byte \d+: the block is not the one"):
            list(rlds_kit.open(tmp_path).episodes[number].steps)
        with pytest.raises(DamagedError, match=r"chunk at byte \d+: the block is not the one"):
            list(blocks_of(ShardFile(path), entry))

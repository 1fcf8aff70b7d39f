"""Continuing after damage: no intact chunk is skipped, and no bytes that only resemble a chunk are used."""

import random
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.riegeli import blocks
from rlds_kit.riegeli.recovery import ChunkDamage, Resume
from rlds_kit.storage import resync
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.survey import survey
from tests.tools.upkeep.mending import damage, record, record_and_die, shard

pytestmark = pytest.mark.filterwarnings("ignore::rlds_kit.base.errors.DamageWarning")


def lost_blocks(path: Path, position: int, size: int) -> list[int]:
    """Which blocks a survey no longer finds after damage, by their number in the file."""
    before = sorted(block.position for each in survey(ShardFile(path)).episodes.values() for block in each.blocks)
    raw = path.read_bytes()
    damage(path, before[position], size)
    found = {
        block.position for each in survey(ShardFile(path)).episodes.values() for block in each.blocks if block.is_intact
    }
    path.write_bytes(raw)
    return [number for number, block in enumerate(before) if block not in found]


def _record_bytes(directory: Path, *values: bytes) -> EpisodeRecorder:
    """Records bytes as values and stops as if killed."""
    recorder = Recorder(directory, specs.Dict({}), policy=FlushPolicy.every_step())
    episode = recorder.start_episode()
    for content in values:
        episode.append({"file": content})
    recorder._intake._shards.abandon()
    return episode


@pytest.mark.parametrize("size", [8, 60, 150], ids=["its hash", "header and record", "half of it"])
@pytest.mark.parametrize("closed", [True, False])
def test_damage_to_a_chunk_costs_that_chunk(tmp_path: Path, size: int, closed: bool) -> None:
    """With and without a footer, and even if nothing in the chunk gives its length."""
    make = record if closed else record_and_die
    path = shard(make(tmp_path / "d", policy=FlushPolicy.every_step(), lengths=(40, 40)))
    assert lost_blocks(path, 20, size) == [20]


def test_opening_finds_the_chunks_after_the_damage(tmp_path: Path) -> None:
    """Steps before and after a lost block can be read; those in it cannot."""
    path = shard(record_and_die(tmp_path / "d", policy=FlushPolicy.every_step(), lengths=(40, 40)))
    episode = next(iter(survey(ShardFile(path)).episodes.values()))
    damage(path, episode.blocks[20].position)
    first = rlds_kit.open(tmp_path / "d").episodes[0]
    assert (first.length, first.end) == (40, EpisodeEnd.TRUNCATED)
    assert first[30:]["observation/pixels"].shape == (10, 6, 5)
    with pytest.raises(rlds_kit.DamagedError, match="steps 20"):
        first["action"]


@pytest.mark.parametrize("size", [8, 60], ids=["its hash", "header and record"])
def test_shard_that_was_recorded_as_a_value_brings_no_episodes(tmp_path: Path, size: int) -> None:
    """The chunks of a file inside a record are not taken for chunks of the file around it."""
    rng = random.Random(0)
    _record_bytes(tmp_path / "inner", *(rng.randbytes(20_000) for _ in range(2)))  # does not compress
    inner = shard(tmp_path / "inner").read_bytes()
    episode = _record_bytes(tmp_path / "d", inner, inner, inner)
    path = shard(tmp_path / "d")
    assert inner in path.read_bytes()
    (found,) = survey(ShardFile(path)).episodes.values()
    damage(path, found.blocks[0].position, size)
    assert [each.id for each in rlds_kit.open(tmp_path / "d").episodes] == [episode.id]


def test_damaged_index_does_not_keep_a_shard_from_being_opened(tmp_path: Path) -> None:
    """The scan that replaces the index ends at the footer, which is not a record of rlds_kit."""
    path = shard(record(tmp_path / "d"))
    before = rlds_kit.open(tmp_path / "d").lengths()
    damage(path, survey(ShardFile(path)).index_position + 100)
    assert rlds_kit.open(tmp_path / "d").lengths() == before


def _chunks_of_all_sizes(directory: Path, *, closed: bool) -> Path:
    """A shard of chunks between 100 bytes and 200 KiB, which lie in every way across the blocks of 64 KiB."""
    rng = random.Random(3)
    recorder = Recorder(directory, specs.Dict({}), policy=FlushPolicy.every_step())
    episode = recorder.start_episode()
    for size in (10, 10, 30_000, 10, 40_000, 10, 200_000, 10, 10, 65_000, 65_500, 10, 10, 131_000, 10, 500, 10):
        episode.append({"file": rng.randbytes(size)})
    if closed:
        episode.end(EpisodeEnd.TERMINATED)
        recorder.close()
    else:
        recorder._intake._shards.abandon()
    return shard(directory)


def _wreck(raw: bytes, begin: int, end: int, how: str) -> bytes:
    """The file with a chunk that is damaged in one way."""
    data = bytearray(raw)
    boundary = begin + -begin % blocks.BLOCK_SIZE
    spans = {
        "hash": [(begin, begin + 8)],
        "size": [(begin + 8, begin + 16)],
        "frame": [(begin + 40, begin + 60)],
        "header and frame": [(begin, begin + 60)],
        "all": [(begin, end)],
        "header and block header": [(begin, begin + 60), (boundary, boundary + blocks.BLOCK_HEADER_SIZE)],
    }[how]
    for first, until in spans:
        for at in range(first, min(until, end)):
            data[at] ^= 0xA5
    return bytes(data)


@pytest.mark.parametrize("how", ["hash", "size", "frame", "header and frame", "all", "header and block header"])
@pytest.mark.parametrize("closed", [True, False])
def test_whatever_chunk_is_wrecked_the_others_are_found(tmp_path: Path, closed: bool, how: str) -> None:
    """Small ones and large ones, at the beginning of a block of the file and across several."""
    path = _chunks_of_all_sizes(tmp_path / "d", closed=closed)
    raw = path.read_bytes()
    (episode,) = survey(ShardFile(path)).episodes.values()
    places = [(block.position, block.end) for block in episode.blocks]
    for number, (begin, end) in enumerate(places):
        path.write_bytes(_wreck(raw, begin, end, how))
        found = survey(ShardFile(path))
        whole = {block.position for each in found.episodes.values() for block in each.blocks if block.is_intact}
        assert whole == {position for position, _ in places} - {begin}, number
        assert len(found.episodes) == 1
        damaged = [(region.begin, region.end) for region in found.damage]
        assert damaged == [(begin, end)], number


class _Counted:
    """A shard that counts the bytes that are read of it."""

    def __init__(self, path: Path) -> None:
        self._file, self.bytes = ShardFile(path), 0

    def size(self) -> int:
        return self._file.size()

    def reaches(self, position: int) -> bool:
        return self._file.reaches(position)

    def read(self, position: int, size: int) -> bytes:
        data = self._file.read(position, size)
        self.bytes += len(data)
        return data


def _places(path: Path) -> list[tuple[int, int]]:
    """Begin and end of every block of the only episode."""
    (episode,) = survey(ShardFile(path)).episodes.values()
    return [(block.position, block.end) for block in episode.blocks]


@pytest.mark.parametrize("left", ["header", "frame", "footer"])
def test_what_is_left_of_a_chunk_or_of_the_footer_says_where_to_go_on(tmp_path: Path, left: str) -> None:
    """Its own header, the length of its record, or the places in the footer: no byte is searched for the next chunk."""
    path = _chunks_of_all_sizes(tmp_path / "d", closed=False)
    places = _places(path)
    raw = path.read_bytes()
    known = [begin for begin, _ in places] if left == "footer" else []
    for begin, end in places if left == "frame" else places[:-1]:
        data = bytearray(raw)
        spared = {"header": (begin, begin + 40), "frame": (begin + 40, end), "footer": (begin, begin)}[left]
        boundaries = range(begin + -begin % blocks.BLOCK_SIZE, end, blocks.BLOCK_SIZE)
        if any(each < begin + 100 for each in boundaries):
            continue  # the header stands behind that of a block, or is in two parts
        for at in range(begin, end):
            is_block_header = any(each <= at < each + blocks.BLOCK_HEADER_SIZE for each in boundaries)
            if not (spared[0] <= at < spared[1] or is_block_header):
                data[at] ^= 0xA5
        path.write_bytes(data)
        source = _Counted(path)
        damage = ChunkDamage("", begin, Resume.find(begin + 1))
        assert resync.next_chunk(source, damage, known) == end
        assert source.bytes < 500


def test_a_place_in_the_footer_counts_only_if_a_chunk_begins_there(tmp_path: Path) -> None:
    """Of two damaged chunks in a row none is taken for a whole one, and none before the damage."""
    path = _chunks_of_all_sizes(tmp_path / "d", closed=False)
    places = _places(path)
    (first, middle), (_, last) = places[6:8]
    data = bytearray(path.read_bytes())
    for at in (*range(first, first + 60), *range(middle, middle + 40)):
        data[at] ^= 0xA5
    path.write_bytes(data)
    damage = ChunkDamage("", first, Resume.find(first + 1))
    assert resync.next_chunk(ShardFile(path), damage, [begin for begin, _ in places]) == last


def _with_sizes(path: Path, number: int, *, codec: int = 0, sizes: bytes) -> tuple[bytearray, int, int]:
    """The file with a damaged header, and other sizes of the records in the chunk; where that begins and ends."""
    begin, end = _places(path)[number]
    data = bytearray(path.read_bytes())
    for at in range(begin, begin + 40):
        data[at] ^= 0xA5
    data[begin + 40] = codec
    data[begin + 41 : begin + 41 + len(sizes)] = sizes
    return data, begin, end


@pytest.mark.parametrize("how", ["no chunk there", "another codec", "another length", "beyond all files"])
def test_a_length_that_was_damaged_too_is_not_believed(tmp_path: Path, how: str) -> None:
    """It may lead over whole chunks, into the middle of one, or to where no file goes."""
    path = _chunks_of_all_sizes(tmp_path / "d", closed=False)
    places = _places(path)
    number = next(n for n, (begin, end) in enumerate(places) if begin % blocks.BLOCK_SIZE > 100 and end - begin < 500)
    begin, end = places[number]
    over_next = places[number + 1][1] - begin - 40 - 4  # to the end of the chunk after it
    assert over_next < 1 << 14
    assert places[number + 1][1] // blocks.BLOCK_SIZE == begin // blocks.BLOCK_SIZE
    size = bytes((over_next & 0x7F | 0x80, over_next >> 7))
    codec, sizes = {
        "no chunk there": (0, b"\x02" + bytes((size[0] ^ 1, size[1]))),
        "another codec": (ord("z"), b"\x02" + size),
        "another length": (0, b"\x07" + size),
        "beyond all files": (0, b"\x0a" + b"\xff" * 9 + b"\x01"),
    }[how]
    data, begin, end = _with_sizes(path, number, codec=codec, sizes=sizes)
    path.write_bytes(data)
    assert resync.next_chunk(ShardFile(path), ChunkDamage("", begin, Resume.find(begin + 1))) == end


def test_a_length_is_believed_where_it_leads_to_a_chunk(tmp_path: Path) -> None:
    """The same size as in the test before, without a contradiction: this is what must not be believed there."""
    path = _chunks_of_all_sizes(tmp_path / "d", closed=False)
    places = _places(path)
    number = next(n for n, (begin, end) in enumerate(places) if begin % blocks.BLOCK_SIZE > 100 and end - begin < 500)
    over_next = places[number + 1][1] - places[number][0] - 40 - 4
    data, begin, _ = _with_sizes(path, number, sizes=b"\x02" + bytes((over_next & 0x7F | 0x80, over_next >> 7)))
    path.write_bytes(data)
    assert resync.next_chunk(ShardFile(path), ChunkDamage("", begin, Resume.find(begin + 1))) == places[number + 1][1]


def test_the_next_chunk_is_behind_the_damage_and_in_the_file(tmp_path: Path) -> None:
    """Also where a header is whole and its chunk is not."""
    path = _chunks_of_all_sizes(tmp_path / "d", closed=False)
    begin, end = _places(path)[-1]
    path.write_bytes(path.read_bytes()[: end - 3])
    assert resync.next_chunk(ShardFile(path), ChunkDamage("", begin, Resume.find(begin + 1))) == end - 3


@pytest.mark.parametrize("left", [5, 30, 50], ids=["of a header", "of a header and more", "of a record"])
def test_chunks_before_a_torn_one_are_found(tmp_path: Path, left: int) -> None:
    """The last chunk of a file that a crash cut short is no reason to give up those between it and the damage."""
    path = _chunks_of_all_sizes(tmp_path / "d", closed=False)
    places = _places(path)
    (damaged, whole), (last, _) = places[-3], places[-1]
    data = bytearray(path.read_bytes()[: last + left])
    for at in range(damaged, damaged + 60):
        data[at] ^= 0xA5
    path.write_bytes(data)
    assert resync.next_chunk(ShardFile(path), ChunkDamage("", damaged, Resume.find(damaged + 1))) == whole


def test_chunks_in_a_value_are_no_chunks_of_the_file(tmp_path: Path) -> None:
    """They lead nowhere: a part of a shard may have been recorded as a value, without its beginning."""
    rng = random.Random(0)
    _record_bytes(tmp_path / "inner", *(rng.randbytes(20_000) for _ in range(2)))  # does not compress
    part = rng.randbytes(64) + shard(tmp_path / "inner").read_bytes()[64:] + rng.randbytes(64)
    episode = _record_bytes(tmp_path / "d", part, b"after it")
    path = shard(tmp_path / "d")
    assert part in path.read_bytes()
    (found,) = survey(ShardFile(path)).episodes.values()
    first, second = found.blocks
    damage(path, first.position, 100)
    assert resync.next_chunk(ShardFile(path), ChunkDamage("", first.position, Resume.find(0))) == second.position
    assert [each.id for each in rlds_kit.open(tmp_path / "d").episodes] == [episode.id]


def test_a_chunk_in_a_value_that_leads_too_far_is_none_of_the_file(tmp_path: Path) -> None:
    """Its end is in the file, and no chunk begins there."""
    rng = random.Random(0)
    _record_bytes(tmp_path / "inner", rng.randbytes(131_000))
    raw = shard(tmp_path / "inner").read_bytes()
    ((begin, _),) = _places(shard(tmp_path / "inner"))
    part = rng.randbytes(64) + raw[begin : begin + 3_000]
    _record_bytes(tmp_path / "d", part, *(rng.randbytes(3_000) for _ in range(60)))
    path = shard(tmp_path / "d")
    assert part in path.read_bytes()
    first, second = _places(path)[:2]
    damage(path, first[0], 100)
    assert resync.next_chunk(ShardFile(path), ChunkDamage("", first[0], Resume.find(first[0] + 1))) == second[0]


def test_a_second_damage_does_not_hide_the_chunks_before_it(tmp_path: Path) -> None:
    """Also where the first one has taken a block header along."""
    rng = random.Random(0)
    _record_bytes(tmp_path / "d", *(rng.randbytes(9_000) for _ in range(30)))
    path = shard(tmp_path / "d")
    places = _places(path)
    number = next(n for n, (begin, end) in enumerate(places) if begin // blocks.BLOCK_SIZE < end // blocks.BLOCK_SIZE)
    data = bytearray(path.read_bytes())
    for begin, end in (places[number], places[number + 10]):
        for at in range(begin, end):
            data[at] ^= 0xA5
    path.write_bytes(data)
    begin, end = places[number]
    assert resync.next_chunk(ShardFile(path), ChunkDamage("", begin, Resume.find(begin + 1))) == end


def test_a_torn_chunk_with_a_damaged_header_is_the_last(tmp_path: Path) -> None:
    """A block header in it has the position of its end, which is beyond the file."""
    _record_bytes(tmp_path / "d", random.Random(0).randbytes(200_000))
    path = shard(tmp_path / "d")
    ((begin, _),) = _places(path)
    data = bytearray(path.read_bytes()[:100_000])
    for at in range(begin, begin + 60):
        data[at] ^= 0xA5
    path.write_bytes(data)
    assert resync.next_chunk(ShardFile(path), ChunkDamage("", begin, Resume.find(begin + 1))) == 100_000


def test_a_search_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is left of the file, not all of it is read byte by byte."""
    monkeypatch.setattr(resync, "SEARCH_BYTES", 1000)
    path = _chunks_of_all_sizes(tmp_path / "d", closed=False)
    path.write_bytes(path.read_bytes()[:100] + random.Random(0).randbytes(50_000))
    source = _Counted(path)
    assert resync.next_chunk(source, ChunkDamage("", 100, Resume.find(101))) == path.stat().st_size
    assert source.bytes < 1000 * 60

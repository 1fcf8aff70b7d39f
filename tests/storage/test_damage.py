"""Random damage to shards: whatever is read is the truth, or an error of ours."""

import random
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit import Dataset, Episode, EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.riegeli import blocks
from rlds_kit.riegeli.chunk import PADDING, ChunkHeader
from rlds_kit.riegeli.chunk_reader import read_header
from rlds_kit.storage import contents as shard_contents
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile, read_block_prefix
from rlds_kit.tools.upkeep.finding import Finding
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.verify import verify
from tests.storage.truth import REFUSALS, Given, GivingRecorder, Step, by_id, same

pytestmark = pytest.mark.filterwarnings("ignore::rlds_kit.DamageWarning")

EPISODES: Final = 6
DAMAGES_PER_REGION: Final = 110
DECLARED: Final = specs.Dict(
    {
        "observation": specs.Dict({"pixels": specs.Array((16, 16, 3), np.uint8), "t": specs.Array((), np.float32)}),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
    }
)


@dataclass(frozen=True)
class Whole:
    """An undamaged shard, what is in it, and where."""

    path: Path
    data: bytes
    given: dict[uuid.UUID, Given]
    steps: dict[uuid.UUID, list[Step]]
    regions: dict[str, list[range]]


def _record(directory: Path, seed: int, *, closed: bool, salt: int = 0) -> Whole:
    """Records interleaved episodes into one shard of more than three Riegeli blocks.

    `closed`: with its index. `salt` makes other pixels, and all else as it was.
    """
    rng = np.random.default_rng(seed)
    policy = FlushPolicy(block_rows=12, interval=None)
    recorder = Recorder(directory, DECLARED, policy=policy, metadata={"run": seed})
    episodes = [GivingRecorder(recorder, metadata={"n": i, "note": "x" * 50}, seed=i) for i in range(EPISODES)]
    for row in range(60):
        for number, episode in enumerate(episodes):
            if row < 60 - 5 * number:
                episode.append(*_row(rng, row, salt))
    for number, episode in enumerate(episodes[:-1]):
        ending = (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED)[number % 3]
        episode.end(ending, metadata={"score": number / 7}, truncated=number == 3)
    if closed:
        episodes[-1].end(EpisodeEnd.TERMINATED, metadata={"score": -1.0})
        recorder.close()
    else:
        recorder.flush()
    (path,) = directory.glob("*.riegeli")
    data = path.read_bytes()
    if not closed:  # as if the process had died here
        recorder.close()
        path.write_bytes(data)
    assert len(data) > 3 * blocks.BLOCK_SIZE
    given = by_id([episode.given for episode in episodes])
    return Whole(path, data, given, {key: one.steps() for key, one in given.items()}, _regions(path))


def _row(rng: np.random.Generator, row: int, salt: int) -> tuple[Step, Step | None]:
    pixels = rng.integers(0, 256, (16, 16, 3), np.uint8) ^ np.uint8(salt)
    info = {"lives": row // 5, "text": "y" * int(rng.integers(0, 9)), "noise": rng.normal(size=int(rng.integers(0, 4)))}
    observed = {"observation": {"pixels": pixels, "t": np.float32(rng.normal())}, "info": info}
    acted = {"action": np.int64(rng.integers(0, 6)), "reward": float(rng.normal())}
    return observed, acted if row else None


def _regions(path: Path) -> dict[str, list[range]]:
    """The bytes of a shard by what they are for."""
    file, position = ShardFile(path), 0
    found: dict[str, list[range]] = {}
    at = 0
    while isinstance(header := read_header(file, at), ChunkHeader):
        end = header.end(at)
        body = range(blocks.physical(at, 0) if at % blocks.BLOCK_SIZE == 0 else at, end)
        found.setdefault("chunk headers", []).append(range(body.start, min(body.start + 40, end)))
        found.setdefault(_region(file, at, header), []).append(range(min(body.start + 40, end), end))
        if header.num_records == 1 and (prefix := _block(file, at)) is not None:
            del found["blocks"][-1]
            columns_at = blocks.physical(at, prefix + 40)
            found.setdefault("step headers", []).append(range(body.start + 40, columns_at))
            found.setdefault("columns", []).append(range(columns_at, end))
        at = end
    position = at
    found["file header"] = [range(64)]
    found["block headers"] = [
        range(boundary, min(boundary + blocks.BLOCK_HEADER_SIZE, position))
        for boundary in range(blocks.BLOCK_SIZE, position, blocks.BLOCK_SIZE)
    ]
    return {name: [one for one in ranges if len(one)] for name, ranges in found.items() if any(map(len, ranges))}


def _block(file: ShardFile, at: int) -> int | None:
    """Where in a step block's chunk data the columns begin; None for other chunks."""
    try:
        return read_block_prefix(file, at).payload_base - 40
    except REFUSALS:
        return None


def _region(file: ShardFile, at: int, header: ChunkHeader) -> str:
    if header.chunk_type == PADDING:
        return "padding"
    if header.num_records != 1:
        return "footer"  # of the footers, or of the three copies of the postscript
    record = shard_contents.parse_record(file.record(at), "")
    names = {"shard": "shard record", "start": "starts and ends", "end": "starts and ends", "amendment": "shard record"}
    return {**names, "block": "blocks", "index": "index"}[record.WhichOneof("kind") or ""]


@pytest.fixture(scope="module")
def closed_shard(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A shard with its index."""
    return _record(tmp_path_factory.mktemp("closed"), 1, closed=True)


@pytest.fixture(scope="module")
def open_shard(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A shard whose writer was killed."""
    return _record(tmp_path_factory.mktemp("open"), 2, closed=False)


# Each kind of damage takes the shard, where it is to strike, and dice; the second result says whether bytes are missing
# at the end, which cannot be told from a writer that was killed.
Damage = Callable[[bytearray, int, random.Random], bool]


def _flip(data: bytearray, at: int, dice: random.Random) -> bool:
    for _ in range(dice.choice((1, 1, 3))):
        data[min(at + dice.randrange(4), len(data) - 1)] ^= 1 << dice.randrange(8)
    return False


def _zero(data: bytearray, at: int, dice: random.Random) -> bool:
    end = min(len(data), at + dice.choice((1, 8, 100, 5_000, 70_000)))
    data[at:end] = bytes(end - at)
    return False


def _fill(data: bytearray, at: int, dice: random.Random) -> bool:
    end = min(len(data), at + dice.choice((1, 12, 100)))
    data[at:end] = b"\xff" * (end - at)
    return False


def _truncate(data: bytearray, at: int, dice: random.Random) -> bool:
    del data[at:]
    return True


def _swap(data: bytearray, at: int, dice: random.Random) -> bool:
    size = dice.choice((2, 40, 700, 5_000))
    other = dice.randrange(len(data))
    low, high = sorted((at, other))
    size = min(size, high - low, len(data) - high)
    data[low : low + size], data[high : high + size] = data[high : high + size], data[low : low + size]
    return False


def _insert(data: bytearray, at: int, dice: random.Random) -> bool:
    data[at:at] = dice.randbytes(dice.choice((1, 40, 300)))
    return False


def _remove(data: bytearray, at: int, dice: random.Random) -> bool:
    end = at + dice.choice((1, 40, 3_000))
    del data[at:end]
    return end >= len(data)


def _repeat(data: bytearray, at: int, dice: random.Random) -> bool:
    """Puts a copy of other bytes of the shard here."""
    source = dice.randrange(len(data))
    piece = data[source : source + dice.choice((24, 40, 2_000, 9_000))]
    data[at : at + len(piece)] = piece[: len(data) - at]
    return False


KINDS: Final[tuple[Damage, ...]] = (
    _flip,
    _flip,
    _flip,
    _zero,
    _zero,
    _fill,
    _truncate,
    _swap,
    _insert,
    _remove,
    _repeat,
)


class _Checks:
    """Reads a damaged dataset in every way, and compares whatever comes with the truth."""

    def __init__(self, whole: Whole, *, may_be_cut: bool) -> None:
        self.whole, self.may_be_cut = whole, may_be_cut
        self.read = self.refused = 0

    def dataset(self, directory: Path) -> None:
        """Checks all properties of a dataset."""
        dataset = self.get(lambda: rlds_kit.open(directory))
        if dataset is None:
            return
        self.equal(lambda: dict(dataset.metadata) or None, next(iter(self.runs())), or_none=True)
        selected = self.get(lambda: dataset.select("reward", "is_last"))
        for number, episode in enumerate(dataset.episodes):
            assert episode.id in self.whole.given, "an episode that never was"
            self.episode(episode)
            if selected is not None:
                self.projected(selected.episodes[number])
        missing = self.whole.given.keys() - {episode.id for episode in dataset.episodes}
        assert not missing or self.may_be_cut or dataset.damage, "an episode is gone and no damage is reported"

    def runs(self) -> list[dict[str, Any]]:
        """The metadata of the run in the shard's header."""
        return [{"run": 1}, {"run": 2}][int(self.whole.path.parent.name.startswith("open")) :]

    def episode(self, episode: Episode) -> None:
        """Checks an episode: all of it, parts of it, and single fields."""
        given = self.whole.given[episode.id]
        end = self.get(lambda: (episode.end,))
        is_cut = end == (EpisodeEnd.INCOMPLETE,) and given.ending is not EpisodeEnd.INCOMPLETE
        assert not is_cut or self.may_be_cut, "an end is gone and no damage is reported"
        if end is not None and not is_cut:
            assert end == (given.ending,)
            assert episode.length == len(given) or given.ending is EpisodeEnd.INCOMPLETE
        assert episode.length <= len(given)
        is_ended = end is not None and not is_cut and given.ending is not EpisodeEnd.INCOMPLETE
        truth = self.whole.steps[episode.id] if is_ended else given.steps(episode.length, EpisodeEnd.INCOMPLETE)
        metadata = given.metadata if not is_cut else {key: given.metadata[key] for key in ("n", "note")}
        self.equal(lambda: episode.metadata, metadata)
        self.equal(lambda: episode.seed, given.metadata["n"])
        self.equal(lambda: episode.terminated, not is_cut and given.ending is EpisodeEnd.TERMINATED)
        truncated = given.ending is EpisodeEnd.TRUNCATED or given.metadata["n"] == 3
        self.equal(lambda: episode.truncated, not is_cut and truncated)
        self.steps(lambda: list(episode.steps), truth)
        for row in (0, 11, 12, episode.length - 1):
            if 0 <= row < episode.length:
                self.steps(lambda row=row: [episode.steps[row]], truth[row : row + 1])  # type: ignore[misc]
        pixels = np.array([step["observation"]["pixels"] for step in truth])
        self.equal(lambda: episode["observation/pixels"], pixels)
        self.equal(lambda: episode["reward"], np.array([step["reward"] for step in truth], np.float64))
        if episode.length > 30:
            self.equal(lambda: episode[20:30]["observation/pixels"], pixels[20:30])
        for flag in ("is_first", "is_last", "is_terminal"):
            self.equal(lambda flag=flag: episode[flag], np.array([step[flag] for step in truth]))  # type: ignore[misc]

    def projected(self, episode: Episode) -> None:
        """Checks an episode of which two fields were selected."""
        given = self.whole.given[episode.id]
        steps = self.get(lambda: list(episode.steps))
        for row, step in enumerate(steps or ()):
            assert step.keys() == {"reward", "is_last"}
            assert same(step["reward"], given.step(row, episode.length)["reward"])

    def steps(self, read: Callable[[], list[Step]], truth: list[Step]) -> None:
        """Checks steps, all of their fields."""
        for step, expected in zip(self.get(read) or (), truth, strict=False):
            assert same(step, expected), f"{step} instead of {expected}"

    def equal(self, read: Callable[[], Any], truth: object, *, or_none: bool = False) -> None:
        """Checks a value."""
        value = self.get(lambda: (read(),))
        if value is not None and not (or_none and value[0] is None):
            assert same(value[0], truth), f"{value[0]!r} instead of {truth!r}"

    def get(self, read: Callable[[], Any]) -> Any:
        """What `read` returns; None if it refuses. Any other error is not caught."""
        try:
            value = read()
        except REFUSALS:
            self.refused += 1
            return None
        self.read += 1
        return value


def _damaged(whole: Whole, directory: Path, region: str, seeds: range) -> Iterator[tuple[str, bool]]:
    """Damages copies of a shard in one region; yields how, and whether bytes are missing at the end."""
    target = directory / whole.path.name
    shutil.copy(whole.path.with_name("dataset.json"), directory)
    ranges = whole.regions[region]
    for seed in seeds:
        dice = random.Random(f"{region} {seed}")
        data = bytearray(whole.data)
        struck = dice.choice(ranges)
        kind = KINDS[seed % len(KINDS)]
        is_cut = kind(data, dice.choice(struck), dice)
        if data != whole.data:
            target.write_bytes(data)
            yield f"{kind.__name__} in {region}, seed {seed}", is_cut


CLOSED_REGIONS: Final = (
    "file header",
    "shard record",
    "block headers",
    "chunk headers",
    "step headers",
    "columns",
    "starts and ends",
    "index",
    "footer",
    "padding",
)
OPEN_REGIONS: Final = ("file header", "block headers", "chunk headers", "step headers", "columns", "starts and ends")


def _strike(whole: Whole, directory: Path, region: str, seeds: range) -> None:
    read = refused = 0
    for what, is_cut in _damaged(whole, directory, region, seeds):
        checks = _Checks(whole, may_be_cut=is_cut)
        try:
            checks.dataset(directory)
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
        read, refused = read + checks.read, refused + checks.refused
    assert read > refused  # most of a damaged shard can still be read


@pytest.mark.parametrize("region", CLOSED_REGIONS)
def test_damage_to_a_closed_shard_never_yields_a_wrong_step(
    closed_shard: Whole, tmp_path: Path, region: str, sweep: Callable[[int], int]
) -> None:
    """Whatever a damaged closed shard returns is true; all else is refused by name."""
    _strike(closed_shard, tmp_path, region, range(sweep(DAMAGES_PER_REGION)))


@pytest.mark.parametrize("region", OPEN_REGIONS)
def test_damage_to_an_open_shard_never_yields_a_wrong_step(
    open_shard: Whole, tmp_path: Path, region: str, sweep: Callable[[int], int]
) -> None:
    """Whatever a damaged shard without an index returns is true; all else is refused by name."""
    _strike(open_shard, tmp_path, region, range(sweep(DAMAGES_PER_REGION // 2)))


IN_PLACE: Final = (_flip, _zero, _fill, _swap, _repeat)
"""Damage that leaves every other byte where it was, so that all other blocks must be saved."""


@pytest.mark.parametrize("region", CLOSED_REGIONS)
def test_verify_names_the_damage_and_repair_saves_all_the_rest(
    closed_shard: Whole, tmp_path: Path, region: str, sweep: Callable[[int], int]
) -> None:
    """Each damage is named, and the copy is good and has every step whose block is whole."""
    kept = _block_rows(closed_shard)
    for number in range(sweep(20)):
        dice = random.Random(f"{region} {number} mended")
        kind = dice.choice(IN_PLACE)
        data = bytearray(closed_shard.data)
        kind(data, dice.choice(dice.choice(closed_shard.regions[region])), dice)
        changed = np.flatnonzero(np.frombuffer(data, np.uint8) != np.frombuffer(closed_shard.data, np.uint8))
        if not len(changed):
            continue
        directory = tmp_path / f"{number} {kind.__name__}"
        directory.mkdir()
        shutil.copy(closed_shard.path.with_name("dataset.json"), directory)
        (directory / closed_shard.path.name).write_bytes(data)
        assert any(_names(problem, changed) for problem in verify(directory).problems)
        repair(directory, directory / "mended")
        assert verify(directory / "mended").ok
        whole = [rows for place, rows in kept if not ((changed >= place.start) & (changed < place.stop)).any()]
        _assert_saved(rlds_kit.open(directory / "mended"), closed_shard, whole)


def _names(problem: Finding, changed: np.ndarray) -> bool:
    """Whether a finding is about the bytes that were changed."""
    if problem.begin is None or problem.end is None:
        return False
    return bool(((changed >= problem.begin) & (changed < problem.end)).any())


def _block_rows(whole: Whole) -> list[tuple[range, tuple[uuid.UUID, range]]]:
    """Of each step block of a shard the bytes it covers, and the episode and rows that it brings."""
    file = ShardFile(whole.path)
    found = []
    for entry in shard_contents.contents(file).episodes:
        for position, first, end in zip(entry.blocks.tolist(), entry.first_row, entry.end_row, strict=True):
            header = read_header(file, position)
            assert isinstance(header, ChunkHeader)
            rows = range(int(first), int(end))
            # A damaged block header in front of a chunk concerns that chunk too.
            begin = position - blocks.BLOCK_HEADER_SIZE if position % blocks.BLOCK_SIZE < 100 else position
            found.append((range(begin, header.end(position)), (uuid.UUID(bytes=entry.episode_id), rows)))
    return found


def _assert_saved(dataset: Dataset, whole: Whole, saved: list[tuple[uuid.UUID, range]]) -> None:
    copies = {}
    for episode in dataset.episodes:
        steps = list(episode.steps)
        copies[episode.id] = {int(step.get("step_index", row)): step for row, step in enumerate(steps)}
    for key, rows in saved:
        for row in rows:
            for name in ("observation", "info"):
                assert same(copies[key][row][name], whole.steps[key][row][name])


def _spliced(one: Whole, other: Whole) -> bytes:
    """The records of one shard with the index and footer of another, which has its records in the same places."""
    begin = one.regions["index"][0].start - 40
    assert begin == other.regions["index"][0].start - 40
    return one.data[:begin] + other.data[begin:]


@pytest.mark.parametrize("header_is_damaged", [False, True])
def test_an_index_that_does_not_fit_its_shard_yields_nothing_wrong(tmp_path: Path, *, header_is_damaged: bool) -> None:
    """With the index of another shard of the same layout nothing but the truth is read, or refused."""
    one, other = (_record(tmp_path / f"closed {salt}", 1, closed=True, salt=salt) for salt in (1, 2))
    data = bytearray(_spliced(one, other))
    if header_is_damaged:
        data[one.regions["shard record"][0].start + 20] ^= 1
    directory = tmp_path / "closed spliced"
    directory.mkdir()
    (directory / one.path.name).write_bytes(data)
    truth = Whole(one.path, bytes(data), one.given | other.given, one.steps | other.steps, {})
    checks = _Checks(truth, may_be_cut=True)
    checks.dataset(directory)
    assert checks.read
    assert not verify(directory).ok
    if not header_is_damaged:
        assert {episode.id for episode in rlds_kit.open(directory).episodes} == one.given.keys()


@pytest.mark.slow
@pytest.mark.parametrize("region", CLOSED_REGIONS)
def test_much_damage_never_yields_a_wrong_step(
    closed_shard: Whole, open_shard: Whole, tmp_path: Path, region: str
) -> None:
    """The same, ten times as often."""
    seeds = range(DAMAGES_PER_REGION, 11 * DAMAGES_PER_REGION)
    for whole in (closed_shard, open_shard):
        if region in whole.regions:
            directory = tmp_path / whole.path.stem
            directory.mkdir()
            _strike(whole, directory, region, seeds)

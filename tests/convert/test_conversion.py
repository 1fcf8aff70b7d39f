"""Conversions as a whole: all or nothing, nothing lost in silence, and EnvLogger's directories as a source."""

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.base.errors import DatasetExistsError, FormatError, NotADatasetError, RldsKitError
from rlds_kit.convert import formats, rlds_kit_dataset
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.envlogger.recording import open_recording
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.protocol import ConversionError, ForeignEpisode
from rlds_kit.convert.rows import Rows
from rlds_kit.logger import EpisodeWriter
from rlds_kit.riegeli import RiegeliError
from tests.convert.test_envlogger import CASES, GOLDEN, copy_of, int64_datum, only_shard, rewrite, spelled, truth_of


@pytest.mark.parametrize("case", CASES)
def test_envlogger_comes_through_in_the_alignment_of_rlds(case: str, tmp_path: Path) -> None:
    """Observation, and the action that was applied to it, with every type and byte that EnvLogger's C++ code stored."""
    report = convert(GOLDEN / case, tmp_path / "ours")
    assert (report.source_format, report.losses, report.lossy_at_the_source) == ("envlogger", (), {})
    truth = truth_of(case)["episodes"]
    for steps, episode in zip(truth, rlds_kit.open(tmp_path / "ours").episodes, strict=True):
        found = list(episode.steps)
        assert [spelled(step["observation"]) for step in found] == [step["observation"] for step in steps]
        for name in ("action", "reward", "discount"):
            assert [spelled(step[name]) for step in found[:-1]] == [step[name] for step in steps[1:]]
            assert not episode.mask(name)[-1]


def test_envlogger_metadata_come_through(tmp_path: Path) -> None:
    """Of steps, episodes and the directory."""
    convert(GOLDEN / "default", tmp_path / "ours")
    ours = rlds_kit.open(tmp_path / "ours")
    for number, episode in enumerate(ours.episodes):
        assert episode.metadata["episode_id"] == f"ep-{number}"
        assert episode["timestamp"].tolist() == [1000 * number + step for step in range(len(episode))]
    assert "environment_specs" in ours.metadata
    assert ours.metadata["source"]["format"] == "envlogger"


def test_envlogger_ends_as_dm_env_says(tmp_path: Path) -> None:
    """Discount 0 on the last step is a terminal one."""
    convert(GOLDEN / "default", tmp_path / "ours")
    recording = open_recording(GOLDEN / "default")
    for episode, given in zip(rlds_kit.open(tmp_path / "ours").episodes, recording, strict=True):
        expected = EpisodeEnd.TERMINATED if given.records[-1].discount == 0 else EpisodeEnd.TRUNCATED
        assert episode.end is expected


def lengths(path: Path) -> list[int]:
    """Steps of each episode."""
    return [len(episode) for episode in rlds_kit.open(path).episodes]


def test_crashed_envlogger_without_index_is_rebuilt_from_its_steps(tmp_path: Path) -> None:
    """No episode is lost and none is merged; only whose the metadata are is not known any more."""
    root = copy_of("default", tmp_path)
    for name in ("step_offsets", "episode_index"):
        (only_shard(root) / f"{name}.riegeli").write_bytes(b"")
    with pytest.raises(ConversionError, match="in no index"):
        convert(root, tmp_path / "ours")
    report = convert(root, tmp_path / "ours", allow_loss=True)
    assert lengths(tmp_path / "ours") == truth_of("default")["lengths"]
    assert [(loss.field, loss.values) for loss in report.losses] == [("metadata", 3)]


def test_crashed_envlogger_with_a_short_index_merges_nothing(tmp_path: Path) -> None:
    """Where the index ends after the first episode, its reader would give that one all later steps."""
    root = copy_of("no_metadata", tmp_path)
    rewrite(only_shard(root) / "episode_index.riegeli", int64_datum([0, -1], 1, 2))
    assert len(next(iter(open_recording(root))).records) > truth_of("no_metadata")["lengths"][0]
    convert(root, tmp_path / "ours")
    assert lengths(tmp_path / "ours") == truth_of("no_metadata")["lengths"]


def test_envlogger_killed_in_the_middle_of_an_episode(tmp_path: Path) -> None:
    """The existing data are read; the episode is interrupted, and the truncated end of the file is reported."""
    root = copy_of("tiny_chunks", tmp_path)
    steps = only_shard(root) / "steps.riegeli"
    steps.write_bytes(steps.read_bytes()[: steps.stat().st_size * 2 // 3])
    report = convert(root, tmp_path / "ours", allow_loss=True)
    (episode,) = rlds_kit.open(tmp_path / "ours").episodes
    assert 1 < len(episode) < truth_of("tiny_chunks")["lengths"][0]
    assert episode.end is EpisodeEnd.INTERRUPTED
    assert list(report.lossy_at_the_source) == [only_shard(root).name]


def test_damage_in_envlogger_never_joins_what_is_around_it(tmp_path: Path) -> None:
    """The episode ends before the damage, and the steps after it have no beginning: they are counted as lost."""
    root = copy_of("tiny_chunks", tmp_path)
    steps = only_shard(root) / "steps.riegeli"
    data = bytearray(steps.read_bytes())
    data[len(data) // 2] ^= 0xFF
    steps.write_bytes(bytes(data))
    with pytest.raises(ConversionError, match="damaged bytes"):
        convert(root, tmp_path / "ours")
    report = convert(root, tmp_path / "ours", allow_loss=True)
    before = lengths(tmp_path / "ours")
    assert before[0] < truth_of("tiny_chunks")["lengths"][0]
    assert {loss.reason.split()[0] for loss in report.losses} >= {"a"}


def sound(path: Path, kind: str) -> Path:
    """A small dataset of each format."""
    rows = np.arange(12, dtype=np.float32)
    ends = np.isin(rows, (5, 11))
    arrays: dict[str, Any] = dict.fromkeys(("observations", "actions", "rewards"), rows)
    arrays |= {"next_observations": rows + 1, "terminals": ends}
    np.savez_compressed(path / "a.npz", **arrays)
    with h5py.File(path / "a.hdf5", "w") as file:
        for name, each in arrays.items():
            file.create_dataset(name, data=each, compression="gzip")
    if kind == "envlogger":
        return copy_of("simple_none", path)
    if kind == "minari":
        convert(path / "a.npz", path / "ours")
        convert(path / "ours", path / "m-v0", "minari")
        return path / "m-v0"
    return path / f"a.{kind}"


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, or the end cut off."""
    changed = bytearray(data)
    if chance.random() < 0.2:
        return bytes(changed[: chance.randrange(len(changed))])
    for _ in range(chance.choice([1, 2, 5, 20])):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("kind", ["npz", "hdf5", "minari", "envlogger"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::RuntimeWarning")
def test_mutated_files_end_in_a_clear_error_or_an_answer(
    kind: str, tmp_path: Path, sweep: Callable[[int], int]
) -> None:
    """Never in an error of the libraries beneath, and never in a crash or a hang."""
    source = sound(tmp_path, kind)
    files = [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file())
    good = {path: path.read_bytes() for path in files if path.stat().st_size}
    chance = random.Random(7)
    for _ in range(sweep(500)):
        path = chance.choice(sorted(good))
        path.write_bytes(mutated(good[path], chance))
        try:
            reader = formats.named("arrays" if source.is_file() else kind).open(source)
            for episode in itertools.islice(reader, 20):
                content_of(episode)
        except (RldsKitError, RiegeliError):
            pass
        path.write_bytes(good[path])


def record(path: Path) -> Path:
    """A dataset of ours with everything that ours alone can store."""
    with EpisodeWriter(path) as writer:
        with writer.episode(metadata={"who": "ada"}, seed=[1, 2], options={}) as episode:
            episode.start(0.5, note="a")
            episode.step({"arm": 1}, None, 0.25, acted={"torque": 2.0}, extra=None)
            episode.step({"arm": 2}, 1.0, truncated=True)
        with writer.episode() as episode:
            episode.start(0.0)
    return path


def test_our_own_reader_and_writer_keep_everything(tmp_path: Path) -> None:
    """What the reader gives the writer records with an equal content digest, times of steps and all."""
    from rlds_kit.convert.protocol import Target

    source = rlds_kit_dataset.DatasetReader(record(tmp_path / "a"))
    writer = rlds_kit_dataset.DatasetWriter(Target(tmp_path / "b", "b", {}), source)
    for episode in source:
        held, losses = writer.fit(episode)
        assert (held, losses) == (episode, [])
        writer.write(episode)
    writer.close()
    digests = [[each.content_digest for each in rlds_kit.open(tmp_path / name).episodes] for name in "ab"]
    assert digests[0] == digests[1]
    copy = rlds_kit_dataset.DatasetReader(tmp_path / "b")
    assert [content_of(each) for each in source] == [content_of(each) for each in copy]


def test_nothing_is_left_of_a_conversion_that_failed(tmp_path: Path) -> None:
    """Neither the destination nor anything beside it."""
    with pytest.raises(ConversionError):
        convert(record(tmp_path / "a"), tmp_path / "b" / "c-v0", "minari")
    assert list((tmp_path / "b").iterdir()) == []


def test_result_that_differs_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read back is compared: a writer that changes a value is found out."""
    write = rlds_kit_dataset.DatasetWriter.write

    def wrong(self: rlds_kit_dataset.DatasetWriter, episode: ForeignEpisode) -> None:
        rows = [{**row, "observation": np.zeros(3)} for row in episode.observed]
        write(self, ForeignEpisode(rows, episode.acted, episode.end, episode.terminated, episode.truncated))

    monkeypatch.setattr(rlds_kit_dataset.DatasetWriter, "write", wrong)
    with pytest.raises(FormatError, match="is not what was read"):
        convert(GOLDEN / "default", tmp_path / "ours")
    assert list(tmp_path.iterdir()) == []


def test_destination_that_is_there_is_never_touched(tmp_path: Path) -> None:
    """An empty directory is fine, anything else an error."""
    (tmp_path / "empty").mkdir()
    convert(GOLDEN / "default", tmp_path / "empty")
    with pytest.raises(DatasetExistsError, match="give another"):
        convert(GOLDEN / "default", tmp_path / "empty")
    assert len(rlds_kit.open(tmp_path / "empty").episodes) == 3


def test_formats_are_known_by_their_content(tmp_path: Path) -> None:
    """And what is none of them is an error that lists them."""
    assert formats.recognised(GOLDEN / "default").name == "envlogger"
    assert formats.recognised(record(tmp_path / "a")).name == "rlds_kit"
    (tmp_path / "b").mkdir()
    with pytest.raises(NotADatasetError, match="none of them"):
        formats.recognised(tmp_path / "b")
    with pytest.raises(NotADatasetError, match="there is nothing"):
        convert(tmp_path / "c", tmp_path / "d")


@pytest.mark.parametrize("to", ["rlds_kit", "arrays", "parchment"])
def test_impossible_targets_are_refused(to: str, tmp_path: Path) -> None:
    """The same format again, one that is only read, and an unknown one."""
    with pytest.raises(ConversionError):
        convert(record(tmp_path / "a"), tmp_path / "b", to)
    assert not (tmp_path / "b").exists()


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    """It never goes back, and ends where all is done."""
    told: list[tuple[int, int]] = []
    convert(GOLDEN / "default", tmp_path / "ours", progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 0


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (1, np.int64(1), True),
        (1.5, np.array(1.5), True),
        (1, 1.0, False),
        (1, True, False),
        (np.float32(1), np.float64(1), False),
        (0.0, -0.0, False),
        (2**70, 2**70 + 1, False),
        ("1", b"1", False),
        ([1], (1,), False),
        ({1: "a"}, {"1": "a"}, False),
        (None, {}, False),
    ],
)
def test_contents_differ_where_values_do(one: Any, other: Any, is_same: bool) -> None:
    """Bits, dtypes and kinds matter; whether a number is a Python number, a scalar or an array does not."""
    episodes = [ForeignEpisode([{"observation": value}], [], EpisodeEnd.INTERRUPTED) for value in (one, other)]
    assert (content_of(episodes[0]) == content_of(episodes[1])) is is_same


def test_rows_are_a_view_of_columns() -> None:
    """With negative indices, slices, and columns that begin later or end sooner."""
    rows = Rows({"a": np.arange(4), "b": ([1, 2], {"c": ["x", "y"]})}, 4, {"b": 1})
    assert rows[-1] == {"a": 3}
    assert rows[1:3] == [{"a": 1, "b": (1, {"c": "x"})}, {"a": 2, "b": (2, {"c": "y"})}]
    with pytest.raises(IndexError):
        rows[4]


@pytest.mark.parametrize(
    "values",
    [
        ["go"] * 3,
        [b"go"] * 3,
        [None] * 3,
        [{}] * 3,
        ["go", "go", "up"],
        [{}, {"x": np.arange(3)}, {}],
        [{"x": np.arange(3)}] * 3,
        [np.arange(3)] * 3,
        [np.array(np.nan)] * 3,
        [{}, None, "go"],
        [1, True, 1.0],
        ["", "", ""],
    ],
)
def test_lists_have_the_digest_of_their_values(values: list[Any]) -> None:
    """Also where all values are the same, which is noticed."""
    rows = [{"x": value} for value in values]
    columns = Rows({"x": values}, len(values))
    digests = [content_of(ForeignEpisode(each, [], EpisodeEnd.INTERRUPTED)) for each in (rows, columns)]
    assert digests[0] == digests[1]

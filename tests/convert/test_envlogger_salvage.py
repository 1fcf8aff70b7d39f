"""What a crash leaves of an EnvLogger directory: episodes are rebuilt from their steps, and never merged."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.envlogger.reader import EnvLoggerReader
from rlds_kit.convert.envlogger.recording import open_recording
from rlds_kit.convert.protocol import ConversionError, ForeignEpisode
from rlds_kit.riegeli import RecordReader
from rlds_kit.tools.compare import diff
from tests.convert.test_envlogger import copy_of, int64_datum, rewrite, spelled, truth_of

CASES = ("default", "no_metadata", "shards_of_two", "transposed_none")
OFFSETS, INDEX, METADATA, STEPS = ("step_offsets", "episode_index", "episode_metadata", "steps")


def shards(root: Path) -> list[Path]:
    """In order of their time."""
    return sorted(path for path in root.iterdir() if path.is_dir())


def observations(episodes: list[ForeignEpisode]) -> list[list[object]]:
    """As the truth spells them."""
    return [[spelled(row["observation"]) for row in episode.observed] for episode in episodes]


def recorded(case: str) -> list[list[object]]:
    """The observations that there were."""
    return [[step["observation"] for step in steps] for steps in truth_of(case)["episodes"]]


def empty(path: Path) -> None:
    """As after a writer that died before its first flush."""
    path.write_bytes(b"")


def only_signature(path: Path) -> None:
    """A file that was begun."""
    path.write_bytes(path.read_bytes()[:64])


def half(path: Path) -> None:
    """A file that breaks off."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def noise(path: Path) -> None:
    """A file of something else."""
    path.write_bytes(b"\xa5" * 200)


@pytest.mark.parametrize("harm", [empty, Path.unlink, only_signature, half, noise])
@pytest.mark.parametrize("names", [(INDEX,), (OFFSETS,), (OFFSETS, INDEX), (OFFSETS, INDEX, METADATA)])
@pytest.mark.parametrize("case", CASES)
def test_every_episode_is_there_without_its_index(
    case: str, names: tuple[str, ...], harm: Callable[[Path], None], tmp_path: Path
) -> None:
    """With an empty, missing, incomplete or overwritten index, the steps alone determine where episodes begin."""
    root = copy_of(case, tmp_path)
    for shard in shards(root):
        for name in names:
            harm(shard / f"{name}.riegeli")
    assert observations(list(EnvLoggerReader(root))) == recorded(case)


@pytest.mark.parametrize("case", CASES)
def test_short_index_merges_nothing(case: str, tmp_path: Path) -> None:
    """EnvLogger's own reader gives the last episode of the index all steps after it; its metadata are still found."""
    root = copy_of(case, tmp_path)
    reference = list(EnvLoggerReader(root))
    first = shards(root)[0]
    position = int(open_recording(root).shards[0].episode_index[0, 1])
    rewrite(first / f"{INDEX}.riegeli", int64_datum([0, position], 1, 2))
    reader = EnvLoggerReader(root)
    found = list(reader)
    assert observations(found) == recorded(case)
    assert found[0].metadata == reference[0].metadata
    lost = sum(episode.metadata != other.metadata for episode, other in zip(found, reference, strict=True))
    assert sum(loss.values for loss in reader.losses if loss.field == "metadata") == lost


def test_short_list_of_steps_loses_none(tmp_path: Path) -> None:
    """Steps that were written after the last flush of the index are read."""
    root = copy_of("default", tmp_path)
    offsets = open_recording(root).shards[0].step_offsets
    rewrite(shards(root)[0] / f"{OFFSETS}.riegeli", int64_datum(offsets[:7].tolist(), 7))
    assert observations(list(EnvLoggerReader(root))) == recorded("default")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.6, 0.9])
@pytest.mark.parametrize("case", ["tiny_chunks", "simple_none", "shards_of_two"])
def test_data_that_break_off_are_read_up_to_there(case: str, share: float, tmp_path: Path) -> None:
    """Whole chunks are; the last episode was interrupted, those of other shards are whole, and the rest is counted."""
    root = copy_of(case, tmp_path)
    steps = shards(root)[-1] / f"{STEPS}.riegeli"
    known = len(open_recording(root).shards[-1].step_offsets)
    steps.write_bytes(steps.read_bytes()[: int(steps.stat().st_size * share)])
    with RecordReader(steps, recovery=lambda _: True) as readable:
        left = sum(1 for _ in readable)
    reader = EnvLoggerReader(root)
    found = list(reader)
    whole = recorded(case)
    for number, episode in enumerate(observations(found)):
        assert episode == whole[number][: len(episode)]
        assert len(episode) == len(whole[number]) or found[number].end is EpisodeEnd.INTERRUPTED
    assert sum(len(episode.observed) for episode in found) == sum(map(len, whole)) - known + left
    told = [loss.values for loss in reader.losses if "has not" in loss.reason]
    assert told == ([known - left] if left < known else [])


def test_shard_without_steps_is_reported(tmp_path: Path) -> None:
    """The number of lost steps is known from the index; the other shards are read."""
    root = copy_of("shards_of_two", tmp_path)
    (shards(root)[1] / f"{STEPS}.riegeli").unlink()
    with pytest.raises(ConversionError, match="has not"):
        convert(root, tmp_path / "ours")
    report = convert(root, tmp_path / "ours", allow_loss=True)
    lengths = truth_of("shards_of_two")["lengths"]
    assert (report.episodes, report.steps) == (3, sum(lengths[:2]) + lengths[4])
    assert {loss.field: loss.values for loss in report.losses} == {"episode": sum(lengths[2:4]), "metadata": 2}


@pytest.mark.parametrize("harm", [empty, half, noise])
def test_missing_metadata_of_the_directory_are_reported(harm: Callable[[Path], None], tmp_path: Path) -> None:
    """The episodes are all there."""
    root = copy_of("default", tmp_path)
    harm(root / "metadata.riegeli")
    with pytest.raises(ConversionError, match="empty or damaged"):
        convert(root, tmp_path / "ours")
    report = convert(root, tmp_path / "ours", allow_loss=True)
    assert (report.episodes, [loss.field for loss in report.losses]) == (3, ["dataset metadata"])


def test_every_shard_in_another_state(tmp_path: Path) -> None:
    """One with an empty index, one whole, and one that was begun."""
    root = copy_of("shards_of_two", tmp_path)
    first, _, last = shards(root)
    for name in (OFFSETS, INDEX):
        empty(first / f"{name}.riegeli")
    for name in (OFFSETS, INDEX, METADATA, STEPS):
        empty(last / f"{name}.riegeli")
    assert observations(list(EnvLoggerReader(root))) == recorded("shards_of_two")[:4]


@pytest.mark.parametrize(
    ("case", "harm"),
    [
        ("tiny_chunks", None),
        ("tiny_chunks", half),
        ("shards_of_two", None),
        ("shards_of_two", half),
        ("shards_of_two", noise),
    ],
)
def test_parts_are_those_of_the_whole(case: str, harm: Callable[[Path], None] | None, tmp_path: Path) -> None:
    """Each episode can be read alone, by a copy of the reader, and each loss is reported exactly once."""
    root = copy_of(case, tmp_path)
    if harm is not None:
        harm(shards(root)[0] / f"{STEPS}.riegeli")
    reader = EnvLoggerReader(root)
    whole, losses = observations(list(reader)), list(reader.losses)
    weighed = EnvLoggerReader(root)
    told: list[int] = []
    assert len(weighed.weigh(told.append)) == len(whole)
    assert sum(told) <= weighed.size
    alone = [pickle.loads(pickle.dumps(weighed)) for _ in whole]  # noqa: S301  our own
    assert [observations(list(each.read(number, number + 1))) for number, each in enumerate(alone)] == [
        [episode] for episode in whole
    ]
    assert [loss for each in alone for loss in each.losses] == losses


def test_workers_make_the_same_dataset(tmp_path: Path) -> None:
    """As one worker does, also where a shard breaks off."""
    root = copy_of("shards_of_two", tmp_path)
    half(shards(root)[0] / f"{STEPS}.riegeli")
    made = [convert(root, tmp_path / f"by {count}", allow_loss=True, workers=count, part_bytes=1) for count in (1, 2)]
    assert made[0].content_digest == made[1].content_digest
    assert made[0].losses == made[1].losses
    assert len(made[0].losses) > 0
    assert diff(*(rlds_kit.open(tmp_path / f"by {count}") for count in (1, 2)), match="order").equal

"""Sources of episodes: recorded datasets, and directories of EnvLogger against what the environment really emitted."""

import gzip
import itertools
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.errors import DamagedError, DamageWarning, NotADatasetError, SpecError
from rlds_kit.convert.envlogger.recording import open_recording
from rlds_kit.convert.envlogger_storage_pb2 import Data, Datum
from rlds_kit.riegeli import RecordReader, RecordWriter
from rlds_kit.riegeli.blocks import BLOCK_SIZE
from rlds_kit.tfds_builders import DatasetSource, EnvLoggerSource, EpisodeSource
from rlds_kit.tfds_builders.folders import common_features, sources_of
from tests.tfds_builders.recordings import record

GOLDEN = Path(__file__).parent.parent / "data" / "envlogger"
CASES = sorted(path.name.removesuffix(".truth.json.gz") for path in GOLDEN.glob("*.truth.json.gz"))


def examples(source: EpisodeSource) -> list[dict[str, Any]]:
    """All episodes."""
    return [episode.example for part in source.parts for episode in source.episodes(part)]


def keys(source: EpisodeSource) -> list[str]:
    """The keys that the episodes come with."""
    return [episode.key for part in source.parts for episode in source.episodes(part)]


def spelled(value: Any) -> Any:
    """A value the way the truth spells it, with text as its bytes, and Python's numbers as those of NumPy."""
    match value:
        case dict():
            return {key: spelled(item) for key, item in value.items() if not key.startswith("__")} or value
        case str():
            return spelled(value.encode())
        case bytes():
            return {"__bytes__": value.hex()}
        case float():
            return {"__float__": float(value).hex()}
        case np.ndarray() | np.generic():
            return {"__dtype__": str(value.dtype), "__shape__": list(value.shape), "__hex__": value.tobytes().hex()}
        case bool() | int():
            return spelled(np.asarray(value))
    return value


def row(nest: Any, step: int) -> Any:
    """One step of stacked ones."""
    return {key: row(item, step) for key, item in nest.items()} if isinstance(nest, dict) else nest[step]


def test_episodes_of_a_dataset(tmp_path: Path) -> None:
    """Each has its id for a key, its steps as arrays, and its metadata."""
    dataset = rlds_kit.open(record(tmp_path / "data", 20))
    source = DatasetSource(dataset)
    assert isinstance(source, EpisodeSource)
    assert source.keys == keys(source) == [str(episode.id) for episode in dataset.episodes]
    assert len(source.parts) == 2
    for example, episode in zip(examples(source), dataset.episodes, strict=True):
        np.testing.assert_array_equal(example["steps"]["observation"]["camera"], episode["observation"]["camera"])
        assert (example["player"], example["score"]) == (episode.metadata["player"].encode(), episode.metadata["score"])
        source.features.encode_example(example)


def test_views_and_chosen_metadata(tmp_path: Path) -> None:
    """`where`, `select` and `metadata` choose the published data."""
    dataset = rlds_kit.open(record(tmp_path / "data")).where(lambda metadata: metadata["score"] > 0)
    source = DatasetSource(dataset.select("reward"), metadata=["player"])
    assert len(source.keys) == 2
    assert {*source.features} == {"steps", "episode_id", "end", "player"}
    assert {*examples(source)[0]["steps"]} == {"reward", "is_first", "is_last", "is_terminal"}


def test_a_source_travels(tmp_path: Path) -> None:
    """A copy in another process gives the same."""
    for source in (DatasetSource(rlds_kit.open(record(tmp_path / "data"))), EnvLoggerSource(GOLDEN / "default")):
        copy = pickle.loads(pickle.dumps(source))  # noqa: S301  our own
        assert copy.keys == source.keys
        assert repr(copy.features) == repr(source.features)
        assert keys(copy) == source.keys


def test_a_dataset_with_a_damaged_shard_is_no_source(tmp_path: Path) -> None:
    """Episodes that damage hides would be lost without a word."""
    path = record(tmp_path / "data")
    (shard,) = path.glob("episodes-*.riegeli")
    _, entry = rlds_kit.open(path)._all[0]
    content = bytearray(shard.read_bytes())
    content[entry.end + 45] ^= 1  # in a record that opening reads
    del content[entry.end + BLOCK_SIZE :]  # because the index is lost
    shard.write_bytes(content)
    with pytest.warns(DamageWarning):
        dataset = rlds_kit.open(path)
    with pytest.raises(DamagedError, match=shard.name):
        DatasetSource(dataset)


@pytest.mark.parametrize("case", CASES)
def test_every_value_of_envlogger(case: str) -> None:
    """Observation and metadata of each record, and the action, reward and discount of the one after it."""
    with gzip.open(GOLDEN / f"{case}.truth.json.gz", "rt", encoding="utf-8") as file:
        truth = json.load(file)["episodes"]
    source = EnvLoggerSource(GOLDEN / case)
    found = examples(source)
    assert len(found) == len(truth) == len(source.keys)
    for example, records in zip(found, truth, strict=True):
        steps = example["steps"]
        for number, (before, after) in enumerate(itertools.pairwise(records)):
            expected = {name: after[name] for name in ("action", "reward", "discount")}
            expected["observation"] = before["observation"]
            assert spelled(row({name: steps[name] for name in expected}, number)) == spelled(expected)
        assert spelled(row(steps, -1)["observation"]) == spelled(records[-1]["observation"])
        assert not steps["action"][-1].any()
        assert steps["is_first"].tolist() == [True] + [False] * (len(records) - 1)
        assert steps["is_last"].tolist() == [False] * (len(records) - 1) + [True]
        source.features.encode_example(example)


def test_ends_and_metadata_of_envlogger() -> None:
    """An episode is terminated where its last discount is 0; an id of its own stands in the example, not in the key."""
    source = EnvLoggerSource(GOLDEN / "shards_of_two", key="releases/one")
    recording = list(open_recording(GOLDEN / "shards_of_two"))
    for key, example, episode in zip(source.keys, examples(source), recording, strict=True):
        is_terminal = episode.records[-1].discount == 0
        assert example["end"] == ("terminated" if is_terminal else "truncated")
        assert example["steps"]["is_terminal"][-1] == is_terminal
        assert example["episode_id"] == episode.metadata["episode_id"]
        assert key.startswith("releases/one/2026")
    assert len({*source.keys}) == len(recording)


def copy_of(case: str, path: Path) -> Path:
    """A golden directory that may be damaged."""
    return Path(shutil.copytree(GOLDEN / case, path))


def rewrite(path: Path, *arrays: np.ndarray) -> None:
    """Replaces an index file."""
    with RecordWriter(path, "uncompressed") as writer:
        for array in arrays:
            dims = [Datum.Shape.Dim(size=size) for size in array.shape]
            values = Datum.Values(int64_values=array.reshape(-1).tolist())
            writer.write_record(Datum(shape=Datum.Shape(dim=dims), values=values).SerializeToString())


def test_an_episode_that_a_killed_envlogger_left_without_index(tmp_path: Path) -> None:
    """Its steps follow those of the previous episode; they are separated at the reset, and the others do not change."""
    root = copy_of("simple_none", tmp_path / "crashed")
    (shard,) = open_recording(root).shards
    whole = examples(EnvLoggerSource(root))
    rewrite(shard.path / "episode_index.riegeli", shard.episode_index[:-1])
    steps = shard.step_offsets[:-1]  # and the last record was never flushed
    rewrite(shard.path / "step_offsets.riegeli", steps)
    source = EnvLoggerSource(root, metadata=[])
    found = examples(source)
    lengths = [len(example["steps"]["reward"]) for example in found]
    assert lengths == [*(len(each["steps"]["reward"]) for each in whole[:-1]), len(whole[-1]["steps"]["reward"]) - 1]
    assert [example["end"] for example in found] == [*(each["end"] for each in whole[:-1]), "incomplete"]
    np.testing.assert_array_equal(found[-1]["steps"]["reward"][:-1], whole[-1]["steps"]["reward"][: lengths[-1] - 1])
    assert len(EnvLoggerSource(root, incomplete=False).keys) == len(whole) - 1


def test_the_first_episode_of_a_killed_envlogger(tmp_path: Path) -> None:
    """Steps with no index at all are an episode, too."""
    root = copy_of("simple_none", tmp_path / "crashed")
    (shard,) = open_recording(root).shards
    first = int(shard.episode_index[1, 0])
    rewrite(shard.path / "episode_index.riegeli")
    rewrite(shard.path / "step_offsets.riegeli", shard.step_offsets[: first - 1])
    (found,) = examples(EnvLoggerSource(root))
    assert (len(found["steps"]["reward"]), found["end"]) == (first - 1, "incomplete")


def test_a_shard_of_a_writer_that_died_at_once(tmp_path: Path) -> None:
    """Four empty files have no episode; the other shards are read."""
    root = copy_of("shards_of_two", tmp_path / "crashed")
    for file in sorted(root.iterdir())[-2].iterdir():
        file.write_bytes(b"")
    assert len(EnvLoggerSource(root).keys) == 4


def test_missing_metadata_are_named(tmp_path: Path) -> None:
    """What only some episodes have is refused, with the cures."""
    root = copy_of("simple_none", tmp_path / "crashed")
    (shard,) = open_recording(root).shards
    index = shard.episode_index.copy()
    index[1, 1] = -1
    rewrite(shard.path / "episode_index.riegeli", index)
    with pytest.raises(SpecError, match=r"crashed: the metadata of an episode: (episode_id|score) holds"):
        _ = EnvLoggerSource(root).features
    assert "score" not in EnvLoggerSource(root, metadata=[]).features


def test_damage_names_the_shard(tmp_path: Path) -> None:
    """A step that cannot be read is an error with the shard's directory in it."""
    root = copy_of("default", tmp_path / "damaged")
    (shard,) = open_recording(root).shards
    content = bytearray((shard.path / "steps.riegeli").read_bytes())
    content[len(content) // 2] ^= 255
    (shard.path / "steps.riegeli").write_bytes(content)
    with pytest.raises(DamagedError, match=shard.path.name):
        _ = EnvLoggerSource(root).features


def changed_steps(root: Path, custom: Any) -> None:
    """Writes the steps again with other custom data."""
    (shard,) = open_recording(root).shards
    with RecordReader(shard.path / "steps.riegeli") as reader:
        steps = [Data.FromString(record) for record in reader]
    offsets = []
    with RecordWriter(shard.path / "steps.riegeli", "uncompressed") as writer:
        for number, step in enumerate(steps):
            step.tuple.values[2].CopyFrom(custom(number))
            offsets.append(writer.write_record(step.SerializeToString()))
    rewrite(shard.path / "step_offsets.riegeli", np.array(offsets))


def text(value: str) -> Data:
    """A string as EnvLogger stores it."""
    scalar = Datum.Shape(dim=[Datum.Shape.Dim(size=-438)])
    return Data(datum=Datum(shape=scalar, values=Datum.Values(string_values=[value])))


def test_metadata_of_early_versions(tmp_path: Path) -> None:
    """They are in the first step's custom data, and no field of a step."""
    root = copy_of("no_metadata", tmp_path / "early")
    first = open_recording(root).shards[0].episode_index[:, 0].tolist()

    def custom(step: int) -> Data:
        fields = {"tag": text(f"t{step}")}
        if step in first:
            fields["episode_metadata"] = Data(dict=Data.Dict(values={"operator": text(f"o{step}")}))
        return Data(dict=Data.Dict(values=fields))

    changed_steps(root, custom)
    found = examples(EnvLoggerSource(root))
    assert [example["operator"] for example in found] == [f"o{step}" for step in first]
    assert {*found[0]["steps"]} >= {"tag"}
    assert "episode_metadata" not in found[0]["steps"]
    assert found[0]["steps"]["tag"][0] == b"t0"


def test_custom_data_that_is_no_dict(tmp_path: Path) -> None:
    """It is a field of its own: TFDS's reader dropped it."""
    root = copy_of("no_metadata", tmp_path / "other")
    changed_steps(root, lambda step: text(f"note {step}"))
    assert examples(EnvLoggerSource(root))[0]["steps"]["custom_data"][1] == b"note 1"


def test_custom_data_with_names_of_a_step(tmp_path: Path) -> None:
    """They would replace values of the environment."""
    root = copy_of("no_metadata", tmp_path / "other")
    changed_steps(root, lambda _: Data(dict=Data.Dict(values={"reward": text("high")})))
    with pytest.raises(SpecError, match="reward"):
        _ = EnvLoggerSource(root).features


def test_folders_of_equal_names_have_unique_keys(tmp_path: Path) -> None:
    """Keys start with the path from what all folders have in common."""
    for folder in ("a/logs", "b/logs", "b/deep/logs"):
        copy_of("default", tmp_path / folder)
    sources = sources_of([tmp_path / "a", tmp_path / "b"])
    found = [key for source in sources for key in source.keys]
    assert len({*found}) == len(found) == 3 * len(open_recording(GOLDEN / "default"))
    assert {key.partition("/2026")[0] for key in found} == {"a/logs", "b/logs", "b/deep/logs"}
    again = tmp_path / "moved"
    again.mkdir()
    shutil.move(tmp_path / "a", again / "a")
    shutil.move(tmp_path / "b", again / "b")
    assert [key for source in sources_of([again / "a", again / "b"]) for key in source.keys] == found


def test_an_episode_in_two_folders_is_refused(tmp_path: Path) -> None:
    """A copy of a dataset beside it is a mistake that is named."""
    first = record(tmp_path / "first")
    second = Path(shutil.copytree(first, tmp_path / "second"))
    with pytest.raises(ValueError, match=rf"is in {first} and in {second}"):
        sources_of([first, second])


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """The error describes the expected files."""
    with pytest.raises(NotADatasetError, match=r"metadata\.riegeli"):
        sources_of(tmp_path)


def test_folders_of_other_features_are_refused(tmp_path: Path) -> None:
    """The field and both folders are named."""
    sources = [*sources_of(record(tmp_path / "ours")), *sources_of(GOLDEN / "default")]
    with pytest.raises(SpecError, match=r"expected the same features in all folders.*ours.*default"):
        common_features(sources)

"""Recorded datasets through the interface of TFDS, read where they lie."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import NotADatasetError, SpecError
from rlds_kit import spec as specs
from rlds_kit.loader.step_arrays import StepArrays
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tfds_builders import builder_from_directory
from rlds_kit.tfds_builders.directory import FixedBuilder
from tests.tfds_builders.recordings import record

DENSE = {"steps": tfds.decode.SkipDecoding()}
COUNT = 10


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten episodes."""
    return record(tmp_path_factory.mktemp("recorded") / "My pong", COUNT)


@pytest.fixture(scope="module")
def builder(directory: Path) -> FixedBuilder:
    """Of the ten episodes."""
    return builder_from_directory(directory)


@pytest.fixture(scope="module")
def two(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> FixedBuilder:
    """Two directories as two splits."""
    other = record(tmp_path_factory.mktemp("other"), 4, seed=1)
    return builder_from_directory({"train": directory, "test": other})


def players(episodes: Any) -> list[str]:
    """The player, which identifies the episodes."""
    return [episode["player"].decode() for episode in tfds.as_numpy(episodes)]


def numbered(*numbers: int) -> list[str]:
    """Players by the number of the episode."""
    return [f"p{number}" for number in numbers]


@pytest.mark.parametrize(
    ("split", "numbers"),
    [
        ("train", range(10)),
        (tfds.Split.TRAIN, range(10)),
        ("all", range(10)),
        ("train[:20%]", range(2)),
        ("train[3:5]", range(3, 5)),
        ("train[-2:]", range(8, 10)),
        ("train[7:]+train[:1]", [7, 8, 9, 0]),
        (tfds.core.ReadInstruction("train", from_=50, to=80, unit="%"), range(5, 8)),
        (tfds.even_splits("train", 3)[1], range(4, 7)),
    ],
)
def test_a_split_names_episodes(builder: FixedBuilder, split: Any, numbers: Any) -> None:
    """For tf.data and by number alike, in the order of the dataset."""
    assert players(builder.as_dataset(split=split)) == numbered(*numbers)
    assert [episode["player"] for episode in builder.as_data_source(split=split)] == [
        player.encode() for player in numbered(*numbers)
    ]


def test_several_splits_at_once(two: FixedBuilder) -> None:
    """As a dict, a list, or all of them."""
    assert {name: len(found) for name, found in two.as_dataset().items()} == {"train": 10, "test": 4}
    assert {name: len(found) for name, found in two.as_data_source().items()} == {"train": 10, "test": 4}
    assert [len(found) for found in two.as_dataset(split=["test", "train[:3]"])] == [4, 3]
    assert {name: len(found) for name, found in two.as_data_source(split={"a": "train[:30%]"}).items()} == {"a": 3}


def test_splits_are_added_across_directories(two: FixedBuilder) -> None:
    assert players(two.as_dataset(split="test+train[:1]")) == numbered(0, 1, 2, 3, 0)
    config = tfds.ReadConfig(shuffle_seed=1)
    mixed = players(two.as_dataset(split="train+test", shuffle_files=True, read_config=config))
    assert sorted(mixed) == sorted(numbered(*range(10), *range(4)))


def test_a_split_by_a_hash_of_the_episodes_id(directory: Path) -> None:
    """The parts are those of `Dataset.split`, together all episodes, and no file is counted twice."""
    dataset = rlds_kit.open(directory)
    parts = dataset.split({"train": 0.6, "test": 0.4}, seed=2)
    builder = builder_from_directory(parts)
    for name, part in parts.items():
        ids = [episode["episode_id"].decode() for episode in tfds.as_numpy(builder.as_dataset(split=name))]
        assert ids == [str(episode.id) for episode in part.episodes]
    assert len(builder.as_dataset(split="all")) == COUNT
    assert abs(builder.info.dataset_size - builder_from_directory(directory).info.dataset_size) <= 1  # rounded


def test_an_unknown_split_is_an_error(builder: FixedBuilder) -> None:
    with pytest.raises(ValueError, match="Unknown split"):
        builder.as_dataset(split="validation")


def test_a_split_of_no_episodes_is_an_error(builder: FixedBuilder) -> None:
    """Rather than a training run on nothing."""
    with pytest.raises(ValueError, match="'train': 10"):
        builder.as_dataset(split="train[:0]")
    with pytest.raises(ValueError, match="'train': 10"):
        builder.as_data_source(split="train[:0]")


def test_info_says_what_there_is(directory: Path, builder: FixedBuilder) -> None:
    """Names, counts, sizes; sub-splits are counted too."""
    info = builder.info
    assert (info.name, info.full_name) == ("my_pong", "my_pong/1.0.0")
    assert info.splits["train"].num_examples == COUNT
    assert info.splits["train[:25%]"].num_examples == 2
    assert info.splits["train"].num_bytes == sum(path.stat().st_size for path in directory.glob("*.riegeli"))
    assert info.splits["train"].filenames == [path.name for path in directory.glob("*.riegeli")]
    assert info.features.keys() == {"steps", "episode_id", "end", "score", "player"}
    assert (info.homepage, info.citation) == ("", "")
    assert "my_pong" in repr(info)


def test_info_has_what_dataset_json_says(tmp_path: Path) -> None:
    """Arguments of the caller have precedence."""
    file = record(tmp_path / "a") / "dataset.json"
    said = {
        "name": "Named",
        "description": "Of balls.",
        "citation": "@misc{a}",
        "licence": "CC0",
        "homepage": "https://a.org",
    }
    file.write_text(json.dumps(json.loads(file.read_text()) | said))
    info = builder_from_directory(tmp_path / "a").info
    found = (info.name, info.description, info.citation, info.redistribution_info.license, info.homepage)
    assert found == ("named", "Of balls.", "@misc{a}", "CC0", "https://a.org")
    info = builder_from_directory(tmp_path / "a", name="other", version="2.1.0", description="Mine.").info
    assert (info.full_name, info.description, info.citation) == ("other/2.1.0", "Mine.", "@misc{a}")


def test_dense_steps_are_the_steps_stacked(builder: FixedBuilder) -> None:
    """One dict of tensors for all steps of an episode, as TFDS gives it where decoding is skipped."""
    nested = builder.as_dataset(split="train")
    dense = builder.as_dataset(split="train", decoders=DENSE)
    for one, other in zip(nested, dense, strict=True):
        stacked = one["steps"].batch(1000).get_single_element()
        tf.nest.map_structure(np.testing.assert_array_equal, stacked, other["steps"])


def test_partial_decoding_reads_only_what_it_names(directory: Path) -> None:
    """In nests too; what is not named may be damaged."""
    partial = tfds.decode.PartialDecoding({"steps": {"reward": True, "observation": {"joints"}}, "score": True})
    builder = builder_from_directory(directory)
    (first, *_) = builder.as_dataset(split="train", decoders=partial)
    assert first.keys() == {"steps", "score"}
    step = first["steps"].element_spec
    assert (step.keys(), step["observation"].keys()) == ({"reward", "observation"}, {"joints"})
    source = builder.as_data_source(split="train", decoders=partial)
    assert source[0].keys() == {"steps", "score"}
    assert source[0]["steps"][0]["observation"].keys() == {"joints"}
    assert {leaf.path for leaf in source._chosen.arrays.columns} == {"reward", "observation/joints"}


def test_partial_decoding_of_an_array_alone(tmp_path: Path) -> None:
    """A list of names is enough, also for flags and metadata; steps may be left out altogether."""
    builder = builder_from_directory(record(tmp_path))
    some = tfds.decode.PartialDecoding({"steps": {"is_last"}}, decoders=DENSE)
    (first, *_) = tfds.as_numpy(builder.as_dataset(split="train", decoders=some))
    assert first["steps"]["is_last"].tolist() == [False] * 4 + [True]
    assert builder.as_data_source(split="train", decoders=some)[0]["steps"].keys() == {"is_last"}
    (first, *_) = builder.as_dataset(split="train", decoders=tfds.decode.PartialDecoding({"player"}))
    assert first.keys() == {"player"}
    assert builder.as_data_source(split="train", decoders=tfds.decode.PartialDecoding({"player"}))[2] == {
        "player": b"p2"
    }


def test_partial_decoding_of_what_is_not_there(builder: FixedBuilder) -> None:
    with pytest.raises(ValueError, match="lives"):
        builder.as_dataset(split="train", decoders=tfds.decode.PartialDecoding({"steps": {"lives"}}))
    with pytest.raises(ValueError, match="expected fields of steps"):
        builder.as_dataset(split="train", decoders=tfds.decode.PartialDecoding({"steps": {}}))


@pytest.mark.parametrize(
    "decoders", [{"steps": {"reward": tfds.decode.SkipDecoding()}}, {"end": tfds.decode.SkipDecoding()}]
)
def test_other_decoders_are_refused(builder: FixedBuilder, decoders: Any) -> None:
    with pytest.raises(ValueError, match="not encoded here"):
        builder.as_dataset(split="train", decoders=decoders)


def test_dense_steps_of_changing_shape_are_refused_by_name(tmp_path: Path) -> None:
    """But a source by number has arrays of any shape."""
    spec = specs.Dict({"observation": specs.Array((None, 2), np.int8)})
    with EpisodeWriter(tmp_path, spec, record_time=False) as writer, writer.episode() as episode:
        episode.start(np.zeros((0, 2), np.int8))
        episode.step(action=1, reward=0.0, observation=np.ones((3, 2), np.int8), terminated=True)
    builder = builder_from_directory(tmp_path)
    with pytest.raises(SpecError, match=r"observation.*PartialDecoding"):
        builder.as_dataset(split="train", decoders=DENSE)
    (dense,) = builder.as_data_source(split="train", decoders=DENSE)
    assert [len(boxes) for boxes in dense["steps"]["observation"]] == [0, 3]


def test_batches_of_dense_steps_are_padded(builder: FixedBuilder) -> None:
    """Padded like in TFDS; nested steps cannot be batched, and the message explains what to do."""
    batches = list(builder.as_dataset(split="train", decoders=DENSE, batch_size=4))
    assert [batch["steps"]["reward"].shape.as_list() for batch in batches] == [[4, 8], [4, 12], [2, 14]]
    whole = builder.as_dataset(split="train", decoders=DENSE, batch_size=-1)
    assert whole["player"].shape == [COUNT]
    with pytest.raises(ValueError, match="SkipDecoding"):
        builder.as_dataset(split="train", batch_size=4)


def test_a_shuffle_is_a_permutation_of_the_episodes(builder: FixedBuilder) -> None:
    """Of all of them, the same for the same seed, and another one in every epoch."""
    config = tfds.ReadConfig(shuffle_seed=3)
    shuffled = builder.as_dataset(split="train", shuffle_files=True, read_config=config)
    first, second = players(shuffled), players(shuffled)
    assert sorted(first) == sorted(second) == numbered(*range(10))
    assert first != second
    assert first != numbered(*range(10))
    assert players(builder.as_dataset(split="train", shuffle_files=True, read_config=config)) == first
    config = tfds.ReadConfig(shuffle_seed=3, shuffle_reshuffle_each_iteration=False)
    fixed = builder.as_dataset(split="train", shuffle_files=True, read_config=config, decoders=DENSE)
    assert players(fixed) == players(fixed)


def test_tfds_id_is_the_episodes(builder: FixedBuilder) -> None:
    """Also if the episode's own key for it was not selected."""
    config = tfds.ReadConfig(add_tfds_id=True)
    for decoders in (None, DENSE):
        for episode in builder.as_dataset(split="train", read_config=config, decoders=decoders):
            assert episode["tfds_id"] == episode["episode_id"]
    partial = tfds.decode.PartialDecoding({"player"})
    assert next(iter(builder.as_dataset(split="train", read_config=config, decoders=partial))).keys() == {
        "player",
        "tfds_id",
    }


def test_input_pipelines_share_the_episodes(builder: FixedBuilder) -> None:
    """Each has its own; none may be left without any."""
    contexts = [tf.distribute.InputContext(num_input_pipelines=3, input_pipeline_id=index) for index in range(3)]
    parts = [
        players(builder.as_dataset(split="train", read_config=tfds.ReadConfig(input_context=one))) for one in contexts
    ]
    assert parts == [numbered(0, 3, 6, 9), numbered(1, 4, 7), numbered(2, 5, 8)]
    with pytest.raises(ValueError, match="3 input pipelines"):
        builder.as_dataset(split="train[:2]", read_config=tfds.ReadConfig(input_context=contexts[0]))


def test_other_settings_for_reading(builder: FixedBuilder) -> None:
    """Episodes without end, options, no prefetching, no cache; what has no meaning here changes nothing."""
    endless = builder.as_dataset(split="train[:2]", read_config=tfds.ReadConfig(repeat_filenames=True))
    assert players(endless.take(5)) == numbered(0, 1, 0, 1, 0)
    options = tf.data.Options()
    options.deterministic = True
    config = tfds.ReadConfig(
        options=options,
        skip_prefetch=True,
        try_autocache=False,
        interleave_cycle_length=3,
        num_parallel_calls_for_decode=1,
    )
    for decoders in (None, DENSE):
        found = builder.as_dataset(split="train", read_config=config, decoders=decoders)
        assert players(found) == numbered(*range(10))
        assert found.options().deterministic


@pytest.mark.parametrize("decoders", [None, DENSE])
@pytest.mark.parametrize(
    ("limit", "config", "epochs_read"),
    [
        (250 << 20, tfds.ReadConfig(), 1),
        (250 << 20, tfds.ReadConfig(try_autocache=False), 2),
        (250 << 20, tfds.ReadConfig(shuffle_seed=1, shuffle_reshuffle_each_iteration=False), 1),
        (1000, tfds.ReadConfig(), 2),
    ],
)
def test_few_steps_are_read_in_the_first_epoch_only(
    builder: FixedBuilder,
    monkeypatch: pytest.MonkeyPatch,
    decoders: Any,
    limit: int,
    config: tfds.ReadConfig,
    epochs_read: int,
) -> None:
    """As TFDS caches small splits, unless the configuration disables it; every epoch has the same steps."""
    monkeypatch.setattr("rlds_kit.tfds_builders.read_tf.CACHE_BYTES", limit)
    reads, flat = list[range](), StepArrays.flat

    def counting(self: StepArrays, number: int, rows: range) -> list[np.ndarray]:
        reads.append(rows)
        return flat(self, number, rows)

    monkeypatch.setattr(StepArrays, "flat", counting)
    shuffles = config.shuffle_seed is not None
    episodes = builder.as_dataset(split="train", decoders=decoders, read_config=config, shuffle_files=shuffles)
    epochs = [_actions(episodes) for _ in range(2)]
    assert epochs[0] == epochs[1]
    assert sorted(map(len, epochs[0])) == list(range(5, 15))
    assert sum(map(len, reads)) == sum(range(5, 15)) * epochs_read


def _actions(episodes: Any) -> list[list[int]]:
    """Of every step of every episode, in either form."""
    steps = [each["steps"] for each in tfds.as_numpy(episodes)]
    return [
        each["action"].tolist() if isinstance(each, dict) else [int(step["action"]) for step in each] for each in steps
    ]


@pytest.mark.parametrize("setting", [{"experimental_interleave_sort_fn": sorted}, {"file_format": "array_record"}])
def test_settings_that_cannot_be_followed_are_refused(builder: FixedBuilder, setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="ReadConfig"):
        builder.as_dataset(split="train", read_config=tfds.ReadConfig(**setting))


def test_supervised_keys(directory: Path) -> None:
    """Pairs of what they name; without them there are none."""
    builder = builder_from_directory(directory, supervised_keys=("player", "score"))
    pairs = list(builder.as_dataset(split="train", as_supervised=True))
    assert [(player.numpy(), float(score)) for player, score in pairs][:2] == [(b"p0", 0.0), (b"p1", 1 / 3)]
    with pytest.raises(ValueError, match="as_supervised"):
        builder_from_directory(directory).as_dataset(split="train", as_supervised=True)


def test_metadata_are_chosen(directory: Path) -> None:
    (first, *_) = builder_from_directory(directory, metadata=["score"]).as_dataset(split="train")
    assert first.keys() == {"steps", "episode_id", "end", "score"}


def test_views_choose_episodes_and_fields(directory: Path) -> None:
    """With `where` and `select`."""
    view = rlds_kit.open(directory).where(lambda metadata: metadata["score"] > 2).select("action", "observation/joints")
    builder = builder_from_directory(view)
    assert players(builder.as_dataset(split="train")) == numbered(7, 8, 9)
    assert builder.info.features["steps"]["observation"].keys() == {"joints"}


def test_missing_last_observations_are_reported(tmp_path: Path) -> None:
    """If requested; otherwise they are an error, not zeros."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5)
        episode.step(action=1, reward=1.0, terminated=True)
    builder = builder_from_directory(tmp_path, observation_valid=True)
    (episode,) = tfds.as_numpy(builder.as_dataset(split="train", decoders=DENSE))
    assert episode["steps"]["observation_valid"].tolist() == [True, False]
    (only,) = builder.as_data_source(
        split="train", decoders=tfds.decode.PartialDecoding({"steps": {"observation_valid"}}, decoders=DENSE)
    )
    assert {name: flag.tolist() for name, flag in only["steps"].items()} == {"observation_valid": [True, False]}
    with pytest.raises(SpecError, match="observation_valid"):
        list(builder_from_directory(tmp_path).as_data_source(split="train")[0]["steps"])


def test_splits_must_have_the_same_fields(directory: Path, tmp_path: Path) -> None:
    """The message names those that only one has."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5)
        episode.step(action=np.int64(1), discount=1.0, reward=np.float32(1), observation=0.5, terminated=True)
    with pytest.raises(SpecError, match=r"\['discount'\]"):
        builder_from_directory({"train": directory, "test": tmp_path}, metadata=[])
    with pytest.raises(SpecError, match="observation holds any value"):
        test = rlds_kit.open(tmp_path).select("observation", "action", "reward")
        builder_from_directory({"train": directory, "test": test}, metadata=[])


def test_no_dataset_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotADatasetError, match="nothing"):
        builder_from_directory(tmp_path / "nothing")


def test_no_split_is_an_error() -> None:
    """There is nothing to take features from."""
    with pytest.raises(ValueError, match="for each split, got none"):
        builder_from_directory({})


def test_a_builder_of_a_relative_path_is_read_elsewhere(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that unpickle it may have another working directory."""
    monkeypatch.chdir(directory.parent)
    for place in (directory.name, {"train": directory.name}):
        data = pickle.dumps(builder_from_directory(place))
        monkeypatch.chdir(tmp_path)
        assert pickle.loads(data).info.splits["train"].num_examples == COUNT  # noqa: S301  our own
        monkeypatch.chdir(directory.parent)


def test_preparing_does_nothing(directory: Path, builder: FixedBuilder) -> None:
    """And nothing is written beside the shards."""
    before = sorted(directory.iterdir())
    builder.download_and_prepare()
    list(builder.as_dataset(split="train"))
    assert sorted(directory.iterdir()) == before


def test_a_builder_can_be_pickled(builder: FixedBuilder) -> None:
    """It opens the datasets anew."""
    other = pickle.loads(pickle.dumps(builder))  # noqa: S301
    assert players(other.as_dataset(split="train[8:]")) == numbered(8, 9)
    assert other.info.full_name == builder.info.full_name

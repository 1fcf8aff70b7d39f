"""Recorded episodes in TFDS's own formats, as `tfds.load` and `tfds.data_source` give them."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit.base.errors import NotADatasetError, SpecError
from rlds_kit.convert.envlogger.recording import open_recording
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tfds_builders import DatasetSource, EpisodesBuilder, EpisodesConfig, beam_examples
from rlds_kit.tfds_builders.beam_examples import require_size
from tests.tfds_builders.recordings import record

GOLDEN = Path(__file__).parent.parent / "data" / "envlogger"


def builder_of(path: Path, folders: Any, name: str = "toy") -> Any:
    """A builder of these folders that writes below `path`."""

    class Toy(EpisodesBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
        """Toy episodes."""

        VERSION = tfds.core.Version("1.0.0")
        FOLDERS = folders
        CITATION = "@misc{toy}"
        HOMEPAGE = "https://example.org/toy"
        LICENCE = "CC-BY-4.0"

    Toy.name = name
    return Toy(data_dir=path / "out")


def as_numpy(value: Any) -> Any:
    """A value of either way to read, of NumPy types."""
    if isinstance(value, dict):
        return {key: as_numpy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_numpy(item) for item in value]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else np.asarray(value)


def read(builder: Any, split: str = "train") -> dict[str, Any]:
    """Episodes by their ids, with lists of steps."""
    if builder.info.file_format == tfds.core.FileFormat.ARRAY_RECORD:
        episodes = [{**each, "steps": list(each["steps"])} for each in builder.as_data_source(split=split)]
    else:
        read_config = tfds.ReadConfig(try_autocache=False)
        episodes = list(map(of_numpy, builder.as_dataset(split=split, read_config=read_config)))
    return {as_numpy(each["episode_id"]): as_numpy(each) for each in episodes}


def of_numpy(episode: dict[str, Any]) -> dict[str, Any]:
    """An episode of tf.data with a list of steps."""
    steps = list(episode.pop("steps").as_numpy_iterator())
    return {**tfds.as_numpy(episode), "steps": steps}


def expected(dataset: rlds_kit.Dataset, *metadata: str) -> dict[str, Any]:
    """The same from `as_tf_dataset`."""
    return {
        as_numpy(each["episode_id"]): as_numpy(each) for each in map(of_numpy, dataset.as_tf_dataset(metadata=metadata))
    }


def assert_same(found: Any, wanted: Any) -> None:
    """Nests of equal values, dtypes and shapes."""
    tf.nest.assert_same_structure(found, wanted)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(wanted), strict=True):
        assert (np.asarray(one).dtype, np.shape(one)) == (np.asarray(other).dtype, np.shape(other))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_values_are_those_of_the_recording(tmp_path: Path, file_format: str) -> None:
    """Every value of every step, and the metadata, in both formats."""
    dataset = rlds_kit.open(record(tmp_path / "data"))
    builder = builder_of(tmp_path, {"train": tmp_path / "data"})
    builder.download_and_prepare(file_format=file_format)
    assert_same(read(builder), expected(dataset, "player", "score"))


def ragged(path: Path, shape: tuple[int, ...]) -> rlds_kit.Dataset:
    """A recording of points whose number, where `shape` has a 0, changes from step to step, with text beside them."""
    with EpisodeWriter(path, record_time=False) as writer:
        for count in (2, 3):
            with writer.episode() as episode:
                episode.start({"points": np.zeros(shape), "deep": {"text": "start"}})
                for step in range(count):
                    points = np.full([size or step for size in shape], step, np.float64)
                    observation = {"points": points, "deep": {"text": f"é{step}"}}
                    episode.step(action=step, reward=0.5, observation=observation, terminated=step == count - 1)
    return rlds_kit.open(path)


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_shapes_that_change_text_and_nests(tmp_path: Path, file_format: str) -> None:
    """Ragged arrays, text and nested fields come back step by step."""
    dataset = ragged(tmp_path / "data", (0,))
    builder = builder_of(tmp_path, {"train": dataset})
    builder.download_and_prepare(file_format=file_format)
    assert_same(read(builder), expected(dataset))


def test_several_lengths_that_change(tmp_path: Path) -> None:
    """TFDS reads them with tf.data only, so an ArrayRecord file of them is refused by name."""
    dataset = ragged(tmp_path / "data", (0, 2))
    builder = builder_of(tmp_path, {"train": dataset})
    with pytest.raises(SpecError, match=r"steps/observation/points has the shape \(None, None\)"):
        builder.download_and_prepare(file_format="array_record")
    builder = builder_of(tmp_path, {"train": dataset})
    builder.download_and_prepare(file_format="tfrecord")
    assert_same(read(builder), expected(dataset))


def test_splits_folders_and_what_is_known(tmp_path: Path) -> None:
    """Splits may have several folders; `info` has the class's description and the number of steps."""
    for number, name in enumerate(("a", "b", "c")):
        record(tmp_path / name, 2, seed=number)
    folders = {"train": [tmp_path / "a", str(tmp_path / "b")], "test": [rlds_kit.open(tmp_path / "c")]}
    builder = builder_of(tmp_path, folders)
    builder.download_and_prepare()
    info = builder_of(tmp_path, {}).info
    assert {name: split.num_examples for name, split in info.splits.items()} == {"train": 4, "test": 2}
    assert info.metadata["steps"] == {"train": 22, "test": 11}
    assert info.description.startswith("Toy episodes.\n\nThe last step of each episode has an observation only")
    assert info.citation == "@misc{toy}"
    assert (info.homepage, info.redistribution_info.license) == ("https://example.org/toy", "CC-BY-4.0")


def test_the_source_is_not_needed_to_load(tmp_path: Path) -> None:
    """The result is read by `tfds.load` and as a directory, also after the recording was removed."""
    record(tmp_path / "data")

    class PublishedToy(EpisodesBuilder):
        VERSION = tfds.core.Version("1.0.0")
        FOLDERS = {"train": tmp_path / "data"}  # noqa: RUF012  a builder of one test

    PublishedToy(data_dir=tmp_path / "out").download_and_prepare()
    shutil.rmtree(tmp_path / "data")
    loaded = tfds.load("published_toy", data_dir=tmp_path / "out", split="train[:2]", try_gcs=False)
    assert len(loaded) == 2
    assert (
        tfds.builder_from_directory(tmp_path / "out" / "published_toy" / "1.0.0").info.splits["train"].num_examples == 3
    )
    assert PublishedToy(data_dir=tmp_path / "out").info.features["steps"].feature["reward"].np_dtype == np.float32


def test_configs(tmp_path: Path) -> None:
    """Every config has its own folders and features."""
    record(tmp_path / "a", 2)
    shutil.copytree(GOLDEN / "default", tmp_path / "b")

    class Toys(EpisodesBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
        VERSION = tfds.core.Version("1.0.0")
        BUILDER_CONFIGS = [  # noqa: RUF012  as TFDS wants it
            EpisodesConfig(name="ours", folders={"train": tmp_path / "a"}),
            EpisodesConfig(name="theirs", folders={"train": tmp_path / "b"}),
        ]

    for config in ("ours", "theirs"):
        Toys(config=config, data_dir=tmp_path / "out").download_and_prepare()
    assert "player" in Toys(config="ours", data_dir=tmp_path / "out").info.features
    assert "player" not in Toys(config="theirs", data_dir=tmp_path / "out").info.features


def test_manual_directory_and_archives(tmp_path: Path) -> None:
    """`folders` may ask the download manager."""
    record(tmp_path / "manual" / "recording")
    archive = tmp_path / "more.zip"
    record(tmp_path / "more", seed=1)
    with zipfile.ZipFile(archive, "w") as file:
        for path in (tmp_path / "more").iterdir():
            file.write(path, path.name)

    class Manual(EpisodesBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
        VERSION = tfds.core.Version("1.0.0")
        MANUAL_DOWNLOAD_INSTRUCTIONS = "Put the recording there."

        def folders(self, dl_manager: Any) -> Any:
            return {"train": dl_manager.manual_dir / "recording", "test": dl_manager.extract(archive)}

    builder = Manual(data_dir=tmp_path / "out")
    assert builder.info.features is None  # unknown before the data exist
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir=tmp_path / "manual"))
    assert {name: split.num_examples for name, split in builder.info.splits.items()} == {"train": 3, "test": 3}


def test_directories_of_envlogger(tmp_path: Path) -> None:
    """A tree of them, with equal names; all episodes and values come back."""
    for name in ("one/logs", "two/logs"):
        shutil.copytree(GOLDEN / "shards_of_two", tmp_path / "tree" / name)
    builder = builder_of(tmp_path, {"train": tmp_path / "tree"})
    builder.download_and_prepare()
    recording = list(open_recording(GOLDEN / "shards_of_two"))
    assert builder.info.splits["train"].num_examples == 2 * len(recording)
    by_id = {each.metadata["episode_id"]: each for each in recording}
    for name, episode in read(builder).items():
        rewards = [float(record.reward) for record in by_id[name].records[1:]]
        assert [float(step["reward"]) for step in episode["steps"]] == [*rewards, 0.0]


@pytest.mark.thorough
@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_beam_in_memory(tmp_path: Path, file_format: str) -> None:
    """On Beam the same episodes are written, and proved."""
    from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

    dataset = rlds_kit.open(record(tmp_path / "data", 20, steps=2))
    builder = builder_of(tmp_path, {"train": dataset})
    config = tfds.download.DownloadConfig(beam_runner=FnApiRunner())
    builder.download_and_prepare(download_config=config, file_format=file_format)
    assert_same(read(builder), expected(dataset, "player", "score"))


@pytest.mark.thorough
def test_beam_in_processes(tmp_path: Path) -> None:
    """Options without a runner work on this machine, and download nothing."""
    from apache_beam.options.pipeline_options import PipelineOptions

    record(tmp_path / "data", 18, steps=1)
    options = PipelineOptions(direct_running_mode="multi_processing", direct_num_workers=2)
    builder = builder_of(tmp_path, {"train": tmp_path / "data"})
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(beam_options=options))
    assert builder.info.splits["train"].num_examples == 18


def test_a_runner_that_is_named_stays() -> None:
    """Whether as an object or in the options."""
    from apache_beam.options.pipeline_options import PipelineOptions

    plain = tfds.download.DownloadConfig()
    assert beam_examples.with_local_runner(plain) == (plain, False)
    named = tfds.download.DownloadConfig(beam_options=PipelineOptions(runner="FlinkRunner"))
    assert beam_examples.with_local_runner(named) == (named, True)
    chosen, on_beam = beam_examples.with_local_runner(tfds.download.DownloadConfig(beam_options=PipelineOptions()))
    assert (type(chosen.beam_runner).__name__, on_beam) == ("FnApiRunner", True)


def test_data_without_final_observations(tmp_path: Path) -> None:
    """A source declares that steps have `observation_valid`."""
    with EpisodeWriter(tmp_path / "data", record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5)
        episode.step(action=1, reward=1.0, terminated=True)
    source = DatasetSource(rlds_kit.open(tmp_path / "data"), observation_valid=True)
    builder = builder_of(tmp_path, {"train": source})
    builder.download_and_prepare()
    (episode_read,) = read(builder).values()
    assert [bool(step["observation_valid"]) for step in episode_read["steps"]] == [True, False]


def test_an_episode_that_no_reader_could_read_is_refused(tmp_path: Path) -> None:
    """An episode larger than the limit of a tf.train.Example is an error that names it and explains what to do."""
    source = DatasetSource(rlds_kit.open(record(tmp_path / "data", 1)))
    (episode,) = source.episodes(range(1))
    size = len(source.features.serialize_example(episode.example))
    require_size(episode.example, source.features, "data: episode 0", limit=size)
    with pytest.raises(SpecError, match=rf"data: episode 0: expected at most {size - 1:,} bytes.*got {size:,}.*select"):
        require_size(episode.example, source.features, "data: episode 0", limit=size - 1)


@pytest.mark.parametrize(
    ("folders", "error", "message"),
    [
        ({}, ValueError, "set FOLDERS"),
        ({"train": "no/such/place"}, NotADatasetError, "no/such/place"),
    ],
)
def test_builders_without_data(tmp_path: Path, folders: Any, error: type[Exception], message: str) -> None:
    """The error names the setting to change, and no files remain."""
    with pytest.raises(error, match=message):
        builder_of(tmp_path, folders).download_and_prepare()
    assert not list((tmp_path / "out" / "toy").iterdir())


def test_a_split_without_episodes(tmp_path: Path) -> None:
    """It is named, and so is its folder."""
    EpisodeWriter(tmp_path / "empty").close()
    with pytest.raises(ValueError, match=r"split 'test': expected episodes, there is none in .*empty"):
        builder_of(tmp_path, {"test": tmp_path / "empty"}).download_and_prepare()


def test_a_field_that_tfds_cannot_hold(tmp_path: Path) -> None:
    """It is refused by name before anything is written."""
    with EpisodeWriter(tmp_path / "data", record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5, info={"note": None})
        episode.step(action=1, reward=1.0, observation=1.0, info={"note": "x"}, terminated=True)
    dataset = rlds_kit.open(tmp_path / "data").select("observation", "info")
    with pytest.raises(SpecError, match="info"):
        builder_of(tmp_path, {"train": dataset}).download_and_prepare()

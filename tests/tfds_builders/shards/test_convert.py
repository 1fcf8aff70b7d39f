"""Whole builds: what readers get out of them is what was recorded."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tfds_builders.features import episode_features
from rlds_kit.tfds_builders.shards import BuildError, convert_shards, serially
from rlds_kit.tfds_builders.shards.convert import identity
from rlds_kit.tools.upkeep.verify import verify
from tests.tfds_builders.shards.recorded import EPISODES, record


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> rlds_kit.Dataset:
    """What is built from."""
    return rlds_kit.open(record(tmp_path_factory.mktemp("recorded")))


def _require_equal(steps: list[Any], episode: rlds_kit.Episode) -> None:
    """Compares steps out of TFDS with what was recorded, bit for bit."""
    assert len(steps) == episode.length
    for field in ("action", "reward", "discount", "is_first", "is_last", "is_terminal"):
        expected = episode[field]
        found = np.stack([step[field] for step in steps])
        assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())
    for name in ("camera", "state"):
        expected = episode["observation"][name]
        found = np.stack([step["observation"][name] for step in steps])
        assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())
    texts = [step["observation"]["task"].decode() for step in steps]
    assert texts == list(episode["observation"]["task"])


def test_tfrecord_is_read_by_tfds(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """`as_dataset` gives every value, in the order of the dataset."""
    out = tmp_path / "words" / "1.2.3"
    report = convert_shards(dataset, out, "tfrecord", executor=serially(), shards=3)
    builder = tfds.builder_from_directory(out)
    assert (builder.name, str(builder.version)) == ("words", "1.2.3")
    assert builder.info.splits["train"].num_examples == report.episodes == EPISODES
    assert builder.info.splits["train"].num_shards == 3
    assert builder.info.splits["train"].num_bytes == report.size
    read = tfds.ReadConfig(interleave_cycle_length=1)
    found = list(tfds.as_numpy(builder.as_dataset(split="train", read_config=read)))
    for example, episode in zip(found, dataset.episodes, strict=True):
        assert example["episode_id"].decode() == str(episode.id)
        assert example["score"] == episode.metadata["score"]
        _require_equal(list(example["steps"]), episode)


def test_array_record_is_read_by_tfds(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """`as_data_source` gives every value, in the order of the dataset."""
    convert_shards(dataset, tmp_path / "out", "array_record", executor=serially(), shards=2)
    source = tfds.builder_from_directory(tmp_path / "out").as_data_source(split="train")
    for number, episode in enumerate(dataset.episodes):
        assert source[number]["end"].decode() == "truncated"
        _require_equal(list(source[number]["steps"]), episode)


def test_tfds_finds_the_dataset_by_name(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """With "<data_dir>/<name>/<version>" as destination, `tfds.load` needs nothing else."""
    convert_shards(dataset, tmp_path / "cups" / "1.0.0", "tfrecord", executor=serially(), shards=1)
    assert len(tfds.load("cups", split="train[:4]", data_dir=tmp_path)) == 4


def test_copy_in_our_own_format_is_the_same_dataset(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Ids, order, content, metadata, runs, spec and description."""
    convert_shards(dataset, tmp_path / "out", "riegeli", executor=serially(), shards=4)
    copy = rlds_kit.open(tmp_path / "out")
    assert copy.content_digest == dataset.content_digest
    assert [each.id for each in copy.episodes] == [each.id for each in dataset.episodes]
    assert [each.run_metadata for each in copy.episodes] == [each.run_metadata for each in dataset.episodes]
    assert [each.started for each in copy.episodes] == [each.started for each in dataset.episodes]
    assert (copy.spec, copy.description) == (dataset.spec, dataset.description)
    assert verify(tmp_path / "out").problems == ()


DYING = """
    import os, sys
    from rlds_kit.logger import EpisodeWriter
    writer = EpisodeWriter(sys.argv[1], record_time=False)
    with writer.episode() as episode:
        episode.start(7)
        episode.discard()
    cut = writer.episode()
    cut.start(0)
    cut.step(action=1, reward=1.0, observation=2)
    writer.flush()
    os._exit(0)
"""


def test_incomplete_episode_is_copied_and_a_discarded_one_is_not(tmp_path: Path) -> None:
    """As they were: one without an end, the other not there."""
    code = [sys.executable, "-c", textwrap.dedent(DYING), str(tmp_path / "source")]
    subprocess.run(code, check=True, env={"PYTHONPATH": str(Path(__file__).parents[3])})
    convert_shards(tmp_path / "source", tmp_path / "out", "riegeli", executor=serially())
    (found,) = rlds_kit.open(tmp_path / "out").episodes
    assert (found.end, found.length) == (EpisodeEnd.INCOMPLETE, 2)
    assert found["observation"].tolist() == [0, 2]


def test_shuffled_build_has_the_same_episodes(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    convert_shards(dataset, tmp_path / "out", "riegeli", executor=serially(), shuffle_seed=3)
    copy = rlds_kit.open(tmp_path / "out")
    assert copy.content_digest == dataset.content_digest
    assert [each.id for each in copy.episodes] != [each.id for each in dataset.episodes]


def test_selected_fields_and_chosen_features_decide_what_tfds_gets(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Other fields are not there."""
    view = dataset.select("reward").take([4, 1])
    convert_shards(
        view, tmp_path / "out", "array_record", executor=serially(), features=episode_features(view, metadata=[])
    )
    source = tfds.builder_from_directory(tmp_path / "out").as_data_source(split="train")
    assert set(source[0]) == {"steps", "episode_id", "end"}
    assert set(source[0]["steps"][0]) == {"reward", "is_first", "is_last", "is_terminal"}
    assert source[1]["episode_id"].decode() == str(dataset.episodes[1].id)


def test_description_and_citation_are_carried_over(tmp_path: Path) -> None:
    """From dataset.json to TFDS's metadata, with a note about the last steps at the end."""
    about = {"name": "Cups 2", "description": "Cups on tables.", "citation": "@misc{cups}", "licence": "CC0"}
    with EpisodeWriter(tmp_path / "source", record_time=False, about=about) as writer, writer.episode() as episode:
        episode.start(0)
        episode.step(action=1, reward=1.0, observation=2, terminated=True)
    convert_shards(tmp_path / "source", tmp_path / "out", "array_record", executor=serially())
    info = tfds.builder_from_directory(tmp_path / "out").info
    assert (info.name, info.citation) == ("cups_2", "@misc{cups}")
    assert info.description.startswith("Cups on tables.\n\nThe last step of each episode has an observation only")


def test_destination_that_holds_something_is_refused(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(DatasetExistsError, match="expected a path that does not exist"):
        convert_shards(dataset, tmp_path, "riegeli", executor=serially())


def test_unfinished_build_of_other_arguments_is_refused(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Shards of two plans would be mixed."""
    building = tmp_path / "out.building"
    building.mkdir()
    (building / "episodes-of-another-plan.riegeli").touch()
    with pytest.raises(BuildError, match=r"episodes-of-another-plan\.riegeli is not of it"):
        convert_shards(dataset, tmp_path / "out", "riegeli", executor=serially())


def test_two_builds_at_once_do_not_meet(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """The second is refused and harms nothing: it would clear away what the first is writing."""
    refused: list[str] = []

    def build_again(doing: str, done: int, total: int) -> None:
        del done, total
        with pytest.raises(BuildError, match="another process is building here"):
            convert_shards(dataset, tmp_path / "out", "riegeli", executor=serially(), shards=2)
        refused.append(doing)

    convert_shards(dataset, tmp_path / "out", "riegeli", executor=serially(), shards=2, progress=build_again)
    assert refused == ["writing", "writing", "reading back", "reading back"]
    assert rlds_kit.open(tmp_path / "out").content_digest == dataset.content_digest
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".json", ".json", ".riegeli", ".riegeli"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_progress_counts_shards_written_and_read_back(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """First all are written, then all are read back."""
    told: list[tuple[str, int, int]] = []
    convert_shards(
        dataset,
        tmp_path / "out",
        "riegeli",
        executor=serially(),
        shards=2,
        progress=lambda doing, done, total: told.append((doing, done, total)),
    )
    assert told == [("writing", 1, 2), ("writing", 2, 2), ("reading back", 1, 2), ("reading back", 2, 2)]


def test_name_and_version_come_from_the_destination_or_the_dataset(dataset: rlds_kit.Dataset) -> None:
    """TFDS's names are words of letters, digits and underscores that begin with a letter."""
    assert identity(dataset, Path("data/My Cups/2.0.1")) == ("my_cups", "2.0.1")
    assert identity(dataset, Path("data/7")) == (dataset.path.name, "1.0.0")
    assert identity(dataset, Path("data/7/1.0.0")) == ("episodes_7", "1.0.0")

"""The power fails while a dataset of TFDS is written: counted shards exist, and every file is complete."""

import json
import sys
from pathlib import Path

import pytest

from rlds_kit.tfds_builders import EpisodeWriter
from rlds_kit.tfds_builders.episode_writer import UNFINISHED
from rlds_kit.tfds_builders.shards import convert_shards, serially
from rlds_kit.tfds_builders.shards.spec import FORMATS, Format
from tests.power_cut import Tree, assert_whole, files, story_of
from tests.tfds_builders.shards.recorded import record
from tests.tfds_builders.test_episode_writer import config, episode, expected, rewards

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the simulation looks at open files in /proc")


def _require_counted(tree: Tree, now: Tree, file_format: str) -> int:
    """Checks that every shard in dataset_info.json is complete; returns the number of counted episodes."""
    about = tree.get("data/dataset_info.json")
    if about is None:
        return 0
    for name in ("features.json", "dataset_info.json"):
        assert isinstance(json.loads(tree[f"data/{name}"] or b""), dict)
    lengths = [int(each) for split in json.loads(about).get("splits", []) for each in split.get("shardLengths", [])]
    for number in range(len(lengths)):
        shard = f"data/toy-train.{file_format}-{number:05d}"
        assert tree[shard] == now[shard]
    return sum(lengths)


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_episode_writer(tmp_path: Path, file_format: str) -> None:
    """A renamed shard is complete, a counted one exists, and all are counted when the writer is closed."""

    def write() -> None:
        with EpisodeWriter(tmp_path / "data", config(), max_episodes_per_file=2, file_format=file_format) as writer:
            for number in range(5):
                writer.add_episode(episode(number))

    story = story_of(tmp_path, write)
    shards = [name for name in files(story.now) if f".{file_format}-" in name]
    assert len(shards) == 3
    assert_whole(story, *shards)
    counts = {_require_counted(tree, story.now, file_format) for tree in story.during}
    assert counts >= {0, 2, 4, 5}
    assert all(files(tree) == files(story.now) for tree in story.after)


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_episode_writer_that_goes_on(tmp_path: Path, file_format: str) -> None:
    """The unfinished shard of a killed writer exists until another file has all of its episodes."""
    writer = EpisodeWriter(tmp_path / "data", config(), max_episodes_per_file=2, file_format=file_format)
    for number in range(3):
        writer.add_episode(episode(number))
    left = f"data/toy-train.{file_format}-00001"

    def go_on() -> None:
        with EpisodeWriter(
            tmp_path / "data", config(), max_episodes_per_file=2, file_format=file_format, overwrite=False
        ) as again:
            again.add_episode(episode(3))

    story = story_of(tmp_path, go_on)
    before = story.before[left + UNFINISHED]
    assert before
    for tree in story.during:
        assert (tree.get(left + UNFINISHED) or b"").startswith(before) or tree.get(left) == story.now[left]
    assert all(files(tree) == files(story.now) for tree in story.after)
    assert rewards(tmp_path / "data") == expected(0, 1, 2, 3)


@pytest.mark.parametrize("shard_format", FORMATS)
def test_a_build(tmp_path: Path, shard_format: Format) -> None:
    """Shards, and what describes them."""
    record(tmp_path / "source", ((3, 9, 1),))

    def build() -> None:
        convert_shards(tmp_path / "source", tmp_path / "made" / "1.0.0", shard_format, executor=serially(), shards=2)

    assert_whole(story_of(tmp_path, build), "made/1.0.0")

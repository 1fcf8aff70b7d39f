"""The power fails during the creation of files: they are complete or absent, and durable after the call returned."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers
from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.whole_file import make_directory, whole_file, write_json
from rlds_kit.convert import part_work
from rlds_kit.convert.part_note import note_path, part_path, read_note
from rlds_kit.convert.parts import Part
from rlds_kit.logger import EnvLogger, EpisodeWriter, GymnasiumLogger, VectorLogger
from rlds_kit.spec import value
from rlds_kit.storage.directory import _describe
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tools import edit
from rlds_kit.tools.publish import publish
from rlds_kit.tools.publish.destination_of import Folder
from rlds_kit.tools.upkeep.lineage import note
from rlds_kit.tools.upkeep.rechunk import rechunk
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.video import write_video
from tests.convert.test_resume import converted
from tests.convert.troubled import EPISODES
from tests.layers.recording import record
from tests.logger.test_env_logger import Counter
from tests.power_cut import HARSHEST, Disk, assert_whole, files, restore, story_of
from tests.tools.publish.recording import ABOUT
from tests.tools.publish.recording import record as record_to_publish
from tests.tools.video.showing import record as record_to_show

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the simulation looks at open files in /proc")

SEVERAL: Final = ("train", "test")


def _annotated(path: Path) -> Path:
    """A dataset with two layers."""
    dataset = record(path)
    first, second = dataset.episodes
    dataset.annotate("review", [layers.tag(first, "bad"), layers.note(second, "slips", steps=3)], source="anna")
    dataset.annotate("human", [layers.reward(second, 1.0, steps=2)], source="bob")
    return path


def _ids(path: Path) -> list[Any]:
    return [rlds_kit.open(path).episodes[0].id]


VERBS: Final[dict[str, Callable[[Path, Path], object]]] = {
    "merge": lambda source, made: edit.merge([source], made),
    "filter": lambda source, made: edit.filter(source, made, "number == 1"),
    "trim": lambda source, made: edit.trim(source, made, begin=1, end=5),
    "split": lambda source, made: edit.split(source, made, dict.fromkeys(SEVERAL, 0.5)),
    "delete": lambda source, made: edit.delete(source, made, _ids(source)),
    "rechunk": lambda source, made: rechunk(source, made, block_rows=2),
    "repair": repair,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_new_dataset_is_whole_or_not_there(tmp_path: Path, verb: str) -> None:
    """Whatever makes one: shards, annotations and dataset.json, byte for byte."""
    source = _annotated(tmp_path / "source")
    story = story_of(tmp_path, lambda: VERBS[verb](source, tmp_path / "deep" / "made"))
    assert_whole(story, "deep/made")
    assert files(story.now, "source") == files(story.before, "source")
    for cut in story.after:
        made = files(cut, "deep/made")
        assert any("/layers/" in name for name in made)
        about = [json.loads(data) for name, data in made.items() if name.endswith("dataset.json")]
        assert all("lineage" in each or verb == "repair" for each in about)


def test_a_new_directory_is_whole_with_files_of_any_writer(tmp_path: Path) -> None:
    """Libraries that write files of other formats sync nothing."""

    def fill() -> None:
        with new_directory(tmp_path / "made") as directory:
            (directory / "a" / "b").mkdir(parents=True)
            (directory / "a" / "b" / "file").write_text("content")
            (directory / "empty").touch()

    story = story_of(tmp_path, fill)
    assert_whole(story, "made")
    assert files(story.after[0]) == {"made/a/b/file": b"content", "made/empty": b""}


@pytest.mark.parametrize("content", [None, b"what was there"])
def test_a_whole_file(tmp_path: Path, content: bytes | None) -> None:
    """It is the old one or the new one, also in a directory that was made for it."""
    if content is not None:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "file").write_bytes(content)

    def write() -> None:
        make_directory(tmp_path / "new")
        with whole_file(tmp_path / "new" / "file") as temporary:
            temporary.write_bytes(bytes(10_000))

    assert_whole(story_of(tmp_path, write), "new/file")


def test_a_directory_that_another_process_made_just_now(tmp_path: Path) -> None:
    """It may not be durable yet, and what is written in there has to be."""

    def write() -> None:
        (tmp_path / "new").mkdir()
        make_directory(tmp_path / "new")
        with whole_file(tmp_path / "new" / "file") as temporary:
            temporary.write_bytes(bytes(10_000))

    assert_whole(story_of(tmp_path, write), "new/file")


def test_a_description_that_another_process_wrote_just_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer does not record under a name that may be lost after a power cut."""
    header = pb.ShardHeader(environment=value.encode({}), metadata=value.encode({}))

    def describe() -> None:
        with monkeypatch.context() as patch:
            patch.setattr("rlds_kit.base.whole_file.sync_directory", lambda _: None)  # the first one is not so far yet
            assert _describe(tmp_path, specs.Dict({}), {}, header)
        assert not _describe(tmp_path, specs.Dict({}), {}, header)

    assert_whole(story_of(tmp_path, describe), "dataset.json")


def test_a_file_that_is_taken_out_of_a_publication(tmp_path: Path) -> None:
    """It does not come back."""
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "old").write_bytes(b"old")
    story = story_of(tmp_path, lambda: Folder(tmp_path).remove("shards/old"))
    assert [files(tree) for tree in story.after] == [{}] * len(story.after)


def test_a_whole_file_that_replaces_nothing(tmp_path: Path) -> None:
    """The same for one that is linked to its name."""

    def write() -> None:
        with whole_file(tmp_path / "file", replace=False) as temporary:
            temporary.write_bytes(bytes(10_000))

    assert_whole(story_of(tmp_path, write), "file")


def test_a_description_that_is_written_again(tmp_path: Path) -> None:
    """A partial dataset.json would be an error whenever the dataset is opened."""
    record(tmp_path / "data")
    assert_whole(story_of(tmp_path, lambda: note(tmp_path / "data", {"verb": "none"})), "data/dataset.json")


@pytest.mark.parametrize("synced_bytes", [0, 1 << 40], ids=["large parts", "small parts"])
def test_notes_of_a_conversion(synced_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part with a note has the bytes in the note, or counts as not done."""
    monkeypatch.setattr(part_work, "SYNCED_BYTES", synced_bytes)
    noted = 0
    story = story_of(tmp_path, lambda: converted(tmp_path, "error_free"))
    assert_whole(story, "ours")
    parts = {f"part-{number:05d}.json": Part(number, 2 * number, 2 * number + 2) for number in range(EPISODES // 2)}
    for number, tree in enumerate(story.during):
        work = {path: content for path, content in tree.items() if path.startswith(".ours.partial-convert/part-")}
        if not any(path.endswith(".json") for path in work):
            continue
        root = restore(work, tmp_path / "left" / str(number)) / ".ours.partial-convert"
        for path in root.glob("part-*.json"):
            part = parts[path.name]
            found = read_note(root, part)
            assert found is None or any(part_path(root, part.number).rglob("*.riegeli"))
            assert path == note_path(root, part.number)
            noted += found is not None
    assert noted or synced_bytes


def test_the_plan_of_a_conversion(tmp_path: Path) -> None:
    """And everything else that is written as JSON."""
    write_json(tmp_path / "plan.json", {"old": list(range(1000))})
    assert_whole(story_of(tmp_path, lambda: write_json(tmp_path / "plan.json", {"new": 1})), "plan.json")


def test_a_published_folder(tmp_path: Path) -> None:
    """Each file is complete, `checksums.txt` is written last, and a second publication replaces different files."""
    source = record_to_publish(tmp_path / "source")
    for again in (False, True):
        if again:
            record_to_publish(source, episodes=1)
        story = story_of(tmp_path, lambda: publish(source, tmp_path / "deep" / "out", ABOUT))
        mark, old, new = "deep/out/checksums.txt", files(story.before, "deep/out"), files(story.now, "deep/out")
        assert_whole(story, *(new.keys() - {mark}))
        assert all(files(tree, "deep/out") == new for tree in story.after)
        for tree in story.during:
            made = files(tree, "deep/out")
            assert mark not in made or made in (old, new)


@pytest.mark.parametrize("name", ["one.mp4", "one.gif", "several"])
def test_videos(tmp_path: Path, name: str) -> None:
    """Whole, each of them."""
    dataset = record_to_show(tmp_path / "data")
    story = story_of(tmp_path, lambda: write_video(dataset, tmp_path / name))
    assert_whole(story, *files(story.now, name))


class _Followed:
    """What is left of a dataset at some moments."""

    def __init__(self, root: Path) -> None:
        self.disk, self._root, self._number = Disk(root), root, 0

    def open(self) -> rlds_kit.Dataset:
        """As it would be after a power cut."""
        self._number += 1
        tree = self.disk.left(HARSHEST)
        return rlds_kit.open(restore(tree, self._root.with_name(f"left-{self._number}")) / "data")


@pytest.fixture
def followed(tmp_path: Path) -> _Followed:
    """A disk on which a program records to `data`."""
    (tmp_path / "disk").mkdir()
    return _Followed(tmp_path / "disk")


LOGGERS: Final[dict[str, Callable[[Path], Any]]] = {
    "dm_env": lambda path: EnvLogger(Counter(), path),
    "gymnasium": lambda path: GymnasiumLogger(gymnasium.make("CartPole-v1"), path),
    "vector": lambda path: VectorLogger(gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync"), path),
}


@pytest.mark.parametrize("kind", LOGGERS)
def test_loggers(tmp_path: Path, followed: _Followed, kind: str) -> None:
    """Flushed and closed data can be read."""
    action = np.zeros(2, np.int64) if kind == "vector" else 0
    with followed.disk.watched():
        env = LOGGERS[kind](tmp_path / "disk" / "data")
        env.reset()
        env.step(action)
        env.recorder.flush()
        lengths = [episode.length for episode in followed.open().episodes]
        assert lengths == [2] * (2 if kind == "vector" else 1)
        env.step(action)
        env.close()
    assert sum(episode.length for episode in followed.open().episodes) == 3 * len(lengths)
    assert all(episode.end is rlds_kit.EpisodeEnd.INTERRUPTED for episode in followed.open().episodes)


def test_episode_writer(tmp_path: Path, followed: _Followed) -> None:
    """The same for data without an environment."""
    spec = specs.Dict({"observation": specs.Array((), np.int64), "action": specs.Array((), np.int64)})
    with (
        followed.disk.watched(),
        EpisodeWriter(tmp_path / "disk" / "data", spec) as writer,
        writer.episode() as episode,
    ):
        episode.start(0)
        episode.step(1, None, 2)
        writer.flush()
        assert followed.open().episodes[0]["observation"].tolist() == [0, 2]
        episode.step(3, None, 4, terminated=True)
    assert followed.open().episodes[0].end is rlds_kit.EpisodeEnd.TERMINATED


def test_annotations(tmp_path: Path, followed: _Followed) -> None:
    """Flushed and closed data can be read, also in a new layer."""
    record(tmp_path / "disk" / "data")
    followed.disk = Disk(tmp_path / "disk")
    dataset = rlds_kit.open(tmp_path / "disk" / "data")
    first, second = dataset.episodes
    with followed.disk.watched():
        with dataset.annotator("human", source="anna") as annotator:
            annotator.add(layers.reward(first, 1.0, steps=2))
            annotator.flush()
            assert len(followed.open().layer("human").history()) == 1
            annotator.add(layers.reward(second, 1.0, steps=2))
        assert len(followed.open().layer("human").history()) == 2
        dataset.annotate("review", [layers.tag(first, "bad")], source="bob")
    assert len(followed.open().layer("review").history()) == 1


@pytest.mark.parametrize("fault", ["no sync of the file", "no sync of the directory", "written in place"])
def test_the_simulation_notices(tmp_path: Path, fault: str) -> None:
    """Every way in which such writers are wrong."""
    (tmp_path / "file").write_text("what was there")

    def write() -> None:
        path = tmp_path / ("file" if fault == "written in place" else "temporary")
        with path.open("w") as file:
            file.write("what is new")
            file.flush()
            if fault != "no sync of the file":
                os.fsync(file.fileno())
        if fault != "written in place":
            path.replace(tmp_path / "file")
        if fault != "no sync of the directory":
            descriptor = os.open(tmp_path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)

    story = story_of(tmp_path, write)
    with pytest.raises(AssertionError):
        assert_whole(story, "file")

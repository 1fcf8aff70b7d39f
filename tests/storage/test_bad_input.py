"""Bad input gets a clear error, and loses nothing."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd, FormatError, NotADatasetError, RecordingError, SpecError
from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.riegeli.writer import RecordWriter
from rlds_kit.storage.recorder import Recorder
from tests.storage.truth import GivingRecorder, assert_whole

DECLARED: Final = specs.Dict({"observation": specs.Array((2,), np.float32), "reward": specs.Array((), np.float64)})


def _record(directory: Path, declared: specs.Dict = DECLARED) -> GivingRecorder:
    with Recorder(directory, declared) as recorder:
        episode = GivingRecorder(recorder)
        for row in range(3):
            episode.append({"observation": np.full(2, row, np.float32)}, {"reward": 1.0} if row else None)
        episode.end(EpisodeEnd.TERMINATED)
    return episode


# Paths.


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    """A path that is a file cannot become a dataset; the file stays as it was."""
    path = tmp_path / "data"
    path.write_text("mine")
    for target in (path, path / "below"):
        with pytest.raises(OSError, match="data"):
            Recorder(target, DECLARED)
    assert path.read_text() == "mine"


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A directory that not even root can write."""
    path = tmp_path / "read only"
    path.mkdir()
    bind = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(path)]
    try:
        done = subprocess.run(bind, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_directory_that_cannot_be_written_is_found_out_at_once(read_only: Path) -> None:
    """The error comes when the recorder is made, before an episode is played."""
    for target in (read_only, read_only / "below"):
        with pytest.raises(OSError, match="Read-only file system"):
            Recorder(target, DECLARED)


def test_a_directory_that_disappears_is_an_error_that_counts_stored_steps(tmp_path: Path) -> None:
    """When no new shard can be created, the next call raises an error; rows in the moved directory count as lost."""
    directory = tmp_path / "data"
    recorder = Recorder(directory, DECLARED, max_shard_episodes=1)
    first = recorder.start_episode()
    first.append({"observation": np.zeros(2, np.float32)})
    recorder.flush()
    directory.rename(tmp_path / "moved")
    second = recorder.start_episode()
    second.append({"observation": np.zeros(2, np.float32)})
    with pytest.raises(RecordingError, match="0 steps are stored and 2 are lost"):
        recorder.close()
    assert rlds_kit.open(tmp_path / "moved").lengths() == [1]


@pytest.mark.parametrize("what", ["nothing", "empty directory", "file", "other files"])
def test_what_is_no_dataset_is_named(tmp_path: Path, what: str) -> None:
    """The error for a path without a dataset describes its content."""
    path = tmp_path / "data"
    if what == "file":
        path.write_text("text")
    elif what != "nothing":
        path.mkdir()
    if what == "other files":
        (path / "notes.txt").write_text("text")
    expected = "is no directory" if what in ("nothing", "file") else "has no shard"
    with pytest.raises(NotADatasetError, match=expected):
        rlds_kit.open(path)


# Writers.


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("observation", specs.Array((3,), np.float32)),
        ("observation", specs.Array((2,), np.float64)),
        ("reward", specs.Text()),
        ("new", specs.Array((), np.int8)),
    ],
)
def test_an_incompatible_second_writer_is_refused(tmp_path: Path, name: str, other: specs.Spec) -> None:
    """A writer whose declared fields contradict the dataset is refused before it writes anything."""
    given = _record(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(SpecError, match=name) as refusal:
        Recorder(tmp_path, specs.Dict({**DECLARED.fields, name: other}))
    assert "mode='new'" in str(refusal.value)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert_whole(rlds_kit.open(tmp_path), [given.given])


def test_a_compatible_second_writer_is_welcome(tmp_path: Path) -> None:
    """The same spec once more is no contradiction, also when two write at once."""
    first = _record(tmp_path)
    with Recorder(tmp_path, DECLARED):
        second = _record(tmp_path)
    assert_whole(rlds_kit.open(tmp_path), [first.given, second.given])


@pytest.mark.parametrize("content", ["", "[]", "{", '{"spec": 1}', '{"spec": {"kind": "cat"}}', '"text"'])
def test_a_broken_description_stops_no_reader(tmp_path: Path, content: str) -> None:
    """Shards do not need dataset.json; a writer raises an error that it must be repaired."""
    given = _record(tmp_path)
    (tmp_path / "dataset.json").write_text(content)
    assert_whole(rlds_kit.open(tmp_path), [given.given])
    if json_is_object(content) is None:
        with pytest.raises(FormatError, match=r"dataset\.json"):
            Recorder(tmp_path, DECLARED)


def json_is_object(content: str) -> dict[str, Any] | None:
    """The object that a text is, or None."""
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def test_a_missing_description_does_not_stop_a_writer(tmp_path: Path) -> None:
    """A dataset without dataset.json is read, and gets one with the next writer."""
    first = _record(tmp_path)
    (tmp_path / "dataset.json").unlink()
    assert_whole(rlds_kit.open(tmp_path), [first.given])
    second = _record(tmp_path)
    assert_whole(rlds_kit.open(tmp_path), [first.given, second.given])
    assert (tmp_path / "dataset.json").exists()


# Values.


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"x": 1}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def test_a_dict_that_is_nested_too_deeply_is_refused_and_the_others_are_kept(tmp_path: Path) -> None:
    """A hundred levels come back; of more the row is refused in time, where they had stopped the recorder."""
    with Recorder(tmp_path, specs.Dict({})) as recorder:
        episode = GivingRecorder(recorder)
        episode.append({"info": _nested(100)})
        for depth in (101, 150, 350, 400):
            with pytest.raises(SpecError, match=r"info: expected at most 100 containers .* flatten the value"):
                episode.append({"info": _nested(depth)}, {"reward": 0.0})
        episode.append({"info": _nested(99)}, {"reward": 1.0})
        episode.end(EpisodeEnd.TERMINATED)
    assert_whole(rlds_kit.open(tmp_path), [episode.given])


# Shards.


def test_a_shard_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """The error has the version of the file and how to upgrade."""
    tmp_path.joinpath("data").mkdir()
    path = tmp_path / "data" / "episodes-20990101T000000Z-0123456789ab-00000.riegeli"
    with RecordWriter(path, "uncompressed") as writer:
        writer.write_chunk([pb.Record(version=2, shard=pb.ShardHeader()).SerializeToString()])
    with pytest.raises(FormatError, match=r"version 1 or older, got 2: .*upgrade rlds_kit"):
        rlds_kit.open(tmp_path / "data")


def test_a_newer_record_in_the_middle_of_a_shard_is_refused(tmp_path: Path) -> None:
    """A newer writer may have added to a shard of this version's name."""
    path = tmp_path / "episodes-20990101T000000Z-0123456789ab-00000.riegeli"
    with RecordWriter(path, "uncompressed") as writer:
        writer.write_chunk([pb.Record(version=1, shard=pb.ShardHeader()).SerializeToString()])
        writer.write_chunk([pb.Record(version=9, start=pb.EpisodeStart()).SerializeToString()])
    with pytest.raises(FormatError, match="got 9"):
        rlds_kit.open(tmp_path)


@pytest.mark.parametrize("content", [b"a text file, quite long: " * 100, b"\x89PNG\r\n\x1a\n" * 50])
@pytest.mark.filterwarnings("ignore::rlds_kit.DamageWarning")
def test_a_file_that_is_no_riegeli_file_brings_no_episode(tmp_path: Path, content: bytes) -> None:
    """Whatever lies there under a shard's name is damage, and the other shards are read."""
    given = _record(tmp_path)
    (tmp_path / "episodes-20990101T000000Z-0123456789ab-00000.riegeli").write_bytes(content)
    dataset = rlds_kit.open(tmp_path)
    assert_whole(dataset, [given.given])
    assert len(dataset.damage) == 1


def test_a_riegeli_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """Records that are not ours are a FormatError, not an empty dataset."""
    path = tmp_path / "episodes-20990101T000000Z-0123456789ab-00000.riegeli"
    with RecordWriter(path, "uncompressed") as writer:
        writer.write_chunk([b"something else"])
    with pytest.raises(FormatError, match="no rlds_kit shard"):
        rlds_kit.open(tmp_path)


def test_an_empty_shard_is_no_damage(tmp_path: Path) -> None:
    """A writer that was killed before its first byte leaves an empty file."""
    given = _record(tmp_path)
    (tmp_path / "episodes-20990101T000000Z-0123456789ab-00000.riegeli").touch()
    dataset = rlds_kit.open(tmp_path)
    assert_whole(dataset, [given.given])
    assert dataset.damage == {}

"""What a file system may lack: the file that is written was deleted, there are no locks, a file is none."""

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

import rlds_kit
from rlds_kit import EpisodeEnd, FormatError, RecordingError, layers
from rlds_kit.base.append_file import FileGoneError
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tools.upkeep.rechunk import rechunk
from tests.layers.recording import record
from tests.storage.file_systems import without_locks
from tests.storage.killing import DECLARED, ROOT, row_of
from tests.tools.edit.looking import leftovers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no open file, and has other locks")

ROWS: Final = 5


def _recording(directory: Path) -> tuple[Recorder, EpisodeRecorder]:
    """A recorder that has flushed some rows."""
    recorder = Recorder(directory, DECLARED, policy=FlushPolicy.manual())
    episode = recorder.start_episode(metadata={"seed": 0, "number": 0})
    for row in range(ROWS):
        episode.append(*row_of(0, 0, row))
    recorder.flush()
    return recorder, episode


def _delete_directory(directory: Path) -> None:
    shutil.rmtree(directory)


def _delete_file(directory: Path) -> None:
    for path in directory.glob("*.riegeli"):
        path.unlink()


def _replace_file(directory: Path) -> None:
    for path in directory.glob("*.riegeli"):
        copy = path.with_name("copy")
        shutil.copyfile(path, copy)
        copy.replace(path)


def _move_directory(directory: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))


@pytest.mark.parametrize("call", ["flush", "flush with rows", "close"])
@pytest.mark.parametrize("happens", [_delete_directory, _delete_file, _replace_file, _move_directory])
def test_a_shard_that_is_gone_is_noticed(tmp_path: Path, happens: Callable[[Path], None], call: str) -> None:
    """Neither `flush` nor `close` reports lost data as durable; the error has the file and the number of steps."""
    recorder, episode = _recording(tmp_path / "data")
    (shard,) = (tmp_path / "data").glob("*.riegeli")
    happens(tmp_path / "data")
    given = ROWS
    if call == "flush with rows":
        episode.append(*row_of(0, 0, ROWS))
        given += 1
    with pytest.raises(RecordingError, match=r"deleted, moved or replaced") as failure:
        recorder.close() if call == "close" else recorder.flush()
    assert str(shard) in str(failure.value)
    assert isinstance(failure.value.__cause__, FileGoneError)
    assert re.findall(r"(\d+) steps are stored and (\d+) are lost", str(failure.value)) == [("0", str(given))]
    if call != "close":
        with pytest.raises(RecordingError, match="deleted"):
            recorder.close()


def test_steps_in_other_files_are_counted_as_kept(tmp_path: Path) -> None:
    """A shard that was closed before is not checked: a user may have removed it on purpose."""
    recorder = Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual(), max_shard_episodes=1)
    for number in range(2):
        episode = recorder.start_episode(metadata={"seed": 0, "number": number})
        for row in range(ROWS):
            episode.append(*row_of(0, number, row))
        episode.end(EpisodeEnd.TRUNCATED)
        recorder.flush()
    first, second = sorted(tmp_path.glob("*.riegeli"))
    second.unlink()
    with pytest.raises(RecordingError, match=f"{ROWS} steps are stored and {ROWS} are lost"):
        recorder.close()
    assert [each.name for each in rlds_kit.open(tmp_path).shards()] == [first.name]


def test_annotations_whose_file_is_gone_are_not_durable(tmp_path: Path) -> None:
    """They wait, and the next `flush` writes them to a new file."""
    dataset = record(tmp_path / "data")
    annotator = dataset.annotator("human", source="anna")
    annotator.add(layers.reward(dataset.episodes[0], 1.0, steps=2))
    annotator.flush()
    shutil.rmtree(tmp_path / "data" / "layers")
    annotator.add(layers.reward(dataset.episodes[0], 2.0, steps=3))
    with pytest.raises(FileGoneError, match="deleted, moved or replaced"):
        annotator.flush()
    annotator.close()
    assert [each.value for each in rlds_kit.open(tmp_path / "data").layer("human").history()] == [2.0]


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_closed_dataset_is_read_without_locks(tmp_path: Path, error: int) -> None:
    """Its shards themselves show that they are complete."""
    dataset = record(tmp_path / "data")
    with without_locks(error):
        again = rlds_kit.open(tmp_path / "data")
        assert again.content_digest == dataset.content_digest
        assert [episode.end for episode in again.episodes] == [EpisodeEnd.TERMINATED] * 2
        rechunk(tmp_path / "data", tmp_path / "copy")
    assert rlds_kit.open(tmp_path / "copy").content_digest == dataset.content_digest


def test_recording_without_locks_warns_and_goes_on(tmp_path: Path) -> None:
    """It names the directory, and describes what is missing and the consequence."""
    with without_locks(), pytest.warns(RuntimeWarning, match=r"data: this file system has no locks \(flock\)"):
        recorder, episode = _recording(tmp_path / "data")
    with without_locks():
        assert [each.end for each in rlds_kit.open(tmp_path / "data").episodes] == [EpisodeEnd.INCOMPLETE]
        episode.end(EpisodeEnd.TRUNCATED)
        recorder.close()
    assert [each.end for each in rlds_kit.open(tmp_path / "data").episodes] == [EpisodeEnd.TRUNCATED]


def test_another_error_of_a_lock_is_an_error(tmp_path: Path) -> None:
    """Only errors that report missing locks are treated as such."""
    record(tmp_path / "data")
    with without_locks(errno.EIO), pytest.raises(OSError, match="Input/output"):
        rlds_kit.open(tmp_path / "data")


def test_without_locks_nothing_that_may_be_in_use_is_removed(tmp_path: Path) -> None:
    """It is unknown whether its creator still runs."""
    with without_locks(), new_directory(tmp_path / "made") as first:
        (first / "file").touch()
        with new_directory(tmp_path / "made2") as other, new_directory(tmp_path / "made3"):
            (other / "file").touch()
        with pytest.raises(rlds_kit.DatasetExistsError), new_directory(tmp_path / "made"):
            assert first.exists()
            (tmp_path / "made").mkdir()
            (tmp_path / "made" / "theirs").touch()
        (tmp_path / "made" / "theirs").unlink()
    assert (tmp_path / "made" / "file").exists()
    assert leftovers(tmp_path) == []


def _link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to(path.with_name("pipe"))


def _link_to_directory(path: Path) -> None:
    path.with_name("folder").mkdir()
    path.symlink_to(path.with_name("folder"))


ODD_FILES: Final[dict[str, Callable[[Path], object]]] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a pipe": _link_to_pipe,
    "a directory": _link_to_directory,
}


@pytest.mark.parametrize("place", ["episodes-0.riegeli", "dataset.json", "layers/human/annotations-0.riegeli"])
@pytest.mark.parametrize("kind", ODD_FILES)
def test_only_files_are_opened(tmp_path: Path, kind: str, place: str) -> None:
    """Nothing waits for a pipe, or reads a device to its end; the error has the path and its type."""
    path = record(tmp_path / "data").path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    ODD_FILES[kind](path)
    code = (
        "import sys, rlds_kit\n"
        "data = rlds_kit.open(sys.argv[1])\n"
        "data.description, [data.layer(name).history() for name in data.layers]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "data")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if kind == "a pipe" and place.startswith("episodes"):
        assert done.returncode == 0, "it is no shard"
        return
    expected = "a pipe" if "pipe" in kind else kind
    assert f"{path}: expected a file, got {expected}" in done.stderr
    assert FormatError.__name__ in done.stderr

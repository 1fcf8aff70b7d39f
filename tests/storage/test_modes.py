"""Modes of a recorder: writers that start together do not interfere, on every file system."""

import errno
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Final

import pytest

import rlds_kit
from rlds_kit import DatasetExistsError, SpecError
from rlds_kit import spec as specs
from rlds_kit.storage import directory as directories
from rlds_kit.storage.manifest import name_for
from rlds_kit.storage.recorder import Recorder
from tests.repetitions import repetitions
from tests.storage.file_systems import without_links, without_locks
from tests.storage.killing import DECLARED, ROOT, row_of
from tests.storage.starting import REFUSED

WRITERS: Final = 8
ROUNDS: Final = repetitions(4, least=2)


def _start_together(directory: Path, mode: str, *lacking: str) -> list[str]:
    """Lets processes record into one directory at the same moment; returns where each of them did, or REFUSED."""
    command = [sys.executable, "-m", "tests.storage.starting", str(directory), mode, str(WRITERS), *lacking]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.sweep
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "lacking",
    [(), pytest.param(("locks",), marks=pytest.mark.thorough), pytest.param(("links",), marks=pytest.mark.thorough)],
)
@pytest.mark.parametrize("mode", ["error", "new"])
def test_writers_that_start_together_are_kept_apart(tmp_path: Path, mode: str, lacking: tuple[str, ...]) -> None:
    """With mode="error" exactly one records, with mode="new" each in its own directory; there are no other errors."""
    for number in range(ROUNDS):
        wanted = tmp_path / str(number) / "data"
        places = _start_together(wanted, mode, *lacking)
        assert len(places) == WRITERS
        if mode == "error":
            assert sorted(set(places)) == sorted([str(wanted), REFUSED])
            assert places.count(REFUSED) == WRITERS - 1
        else:
            names = ["data", *(f"data-{each}" for each in range(2, WRITERS + 1))]
            assert sorted(places) == sorted(str(wanted.with_name(name)) for name in names)
        for place in set(places) - {REFUSED}:
            dataset = rlds_kit.open(place)
            assert len(dataset.episodes) == len(dataset.shards()) == 1
            shard = dataset.shards()[0].name
            assert {path.name for path in Path(place).iterdir()} == {"dataset.json", shard, name_for(shard)}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
@pytest.mark.parametrize("lacking", [(), ("links",)])
def test_a_writer_that_was_killed_before_it_had_the_directory_blocks_no_other(
    tmp_path: Path, lacking: tuple[str, ...]
) -> None:
    """Killed directly before it claims the directory; the next one records there, and finds complete JSON."""
    command = [sys.executable, "-m", "tests.storage.starting", str(tmp_path), "error", "killed", *lacking]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()), "it was on the way"
    with without_links(is_so="links" in lacking), Recorder(tmp_path, DECLARED, mode="error") as recorder:
        recorder.start_episode().append(*row_of(0, 0, 0))
    assert len(rlds_kit.open(tmp_path).episodes) == 1
    assert directories.description(tmp_path)["format"] == "rlds_kit"


@pytest.mark.parametrize("mode", ["error", "new"])
@pytest.mark.skipif(sys.platform == "win32", reason="is about flock")
def test_without_links_and_locks_the_first_one_has_the_directory(tmp_path: Path, mode: str) -> None:
    """The worst of file systems."""
    with without_links(), without_locks(), warnings.catch_warnings(action="ignore"):
        with Recorder(tmp_path / "data", DECLARED, mode=mode) as first:
            assert first.directory == tmp_path / "data"
        if mode == "error":
            with pytest.raises(DatasetExistsError):
                Recorder(tmp_path / "data", DECLARED, mode=mode)
        else:
            with Recorder(tmp_path / "data", DECLARED, mode=mode) as second:
                assert second.directory == tmp_path / "data-2"


def test_a_dataset_without_its_description_is_one_too(tmp_path: Path) -> None:
    """Its shards show it."""
    with Recorder(tmp_path / "data", DECLARED) as recorder:
        recorder.start_episode().append(*row_of(0, 0, 0))
    (tmp_path / "data" / "dataset.json").unlink()
    with pytest.raises(DatasetExistsError):
        Recorder(tmp_path / "data", DECLARED, mode="error")
    with Recorder(tmp_path / "data", DECLARED, mode="new") as recorder:
        assert recorder.directory == tmp_path / "data-2"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_the_description_is_refused(tmp_path: Path) -> None:
    """It is neither replaced nor waited for."""
    os.mkfifo(tmp_path / "dataset.json")
    with pytest.raises(DatasetExistsError):
        Recorder(tmp_path, DECLARED, mode="error")
    with pytest.raises(rlds_kit.FormatError, match=r"dataset\.json: expected a file, got a pipe"):
        Recorder(tmp_path, DECLARED)
    assert [path.name for path in tmp_path.iterdir()] == ["dataset.json"]


def test_a_disk_without_links_that_is_full_is_no_dataset_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is the disk's."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", refuse)
    with without_links(), pytest.raises(OSError, match="No space left"):
        Recorder(tmp_path / "data", DECLARED, mode="error")
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "dtype", "error"), [("append", "float64", SpecError), ("error", "float32", DatasetExistsError)]
)
def test_a_dataset_without_an_episode_may_be_deleted(
    tmp_path: Path, mode: str, dtype: str, error: type[Exception]
) -> None:
    """The first try failed at its first step, and left a description; the second one is correct, or is a repetition."""
    Recorder(tmp_path, specs.Dict({"observation": specs.Array((), "float32")})).close()
    again = specs.Dict({"observation": specs.Array((), dtype)})
    with pytest.raises(error, match="but no episode: delete it if nothing records into it"):
        Recorder(tmp_path, again, mode=mode)

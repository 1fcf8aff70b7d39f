"""Atomic creation of directories."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit import DatasetExistsError
from rlds_kit.storage.whole_directory import new_directory
from tests.tools.edit.looking import leftovers


def test_directory_has_its_name_only_when_it_is_complete(tmp_path: Path) -> None:
    """While it is being filled, there is nothing under its name."""
    with new_directory(tmp_path / "a" / "b") as unfinished:
        (unfinished / "file").write_text("content")
        assert not (tmp_path / "a" / "b").exists()
    assert (tmp_path / "a" / "b" / "file").read_text() == "content"
    assert leftovers(tmp_path / "a") == []


def test_failure_leaves_nothing(tmp_path: Path) -> None:
    """Neither under its name nor under the temporary one."""
    with pytest.raises(KeyboardInterrupt), new_directory(tmp_path / "a") as unfinished:
        (unfinished / "file").write_text("content")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_empty_directory_is_used(tmp_path: Path) -> None:
    """It becomes the new one."""
    (tmp_path / "a").mkdir()
    with new_directory(tmp_path / "a") as unfinished:
        (unfinished / "file").touch()
    assert (tmp_path / "a" / "file").exists()


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    """Neither what was there before, nor what came meanwhile."""
    (tmp_path / "file").touch()
    with pytest.raises(DatasetExistsError, match="give another path"), new_directory(tmp_path / "file"):
        pass
    with pytest.raises(DatasetExistsError, match="give another path"), new_directory(tmp_path / "a"):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "theirs").touch()
    assert (tmp_path / "a" / "theirs").exists()
    assert leftovers(tmp_path) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_killed_process_leaves_nothing_under_the_name(tmp_path: Path) -> None:
    """Its remains are not visible as a dataset, and the next attempt succeeds."""
    code = (
        "import os, signal; from rlds_kit.storage.whole_directory import new_directory\n"
        f"with new_directory({str(tmp_path / 'a')!r}) as directory:\n"
        "    (directory / 'dataset.json').write_text('{}')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(rlds_kit.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "a").exists()
    assert len(leftovers(tmp_path)) == 1
    with new_directory(tmp_path / "a"):
        assert len(leftovers(tmp_path)) == 1, "what the dead process left is gone"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_another_is_filling_stays(tmp_path: Path) -> None:
    """Two may make the same directory at once; the first one that is done has it."""
    with new_directory(tmp_path / "a") as first:
        (first / "file").touch()
        with pytest.raises(DatasetExistsError), new_directory(tmp_path / "a") as second:
            assert first.exists()
            (second / "file").touch()
            (tmp_path / "a").mkdir()
            (tmp_path / "a" / "theirs").touch()
        (tmp_path / "a" / "theirs").unlink()
    assert (tmp_path / "a" / "file").exists()
    assert leftovers(tmp_path) == []

"""The process that makes an export: after a kill at any time it is resumed."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.errors import RldsKitError
from rlds_kit.logger import EpisodeWriter
from rlds_kit.studio.export.archive import archive
from rlds_kit.studio.export.rules import Chosen, Rules
from rlds_kit.studio.export.work import REPORT, work, write_request

EPISODES, STEPS = 12, 50
"""Three parts."""


def asked(directory: Path, *, is_archive: bool = True) -> Path:
    """A new export with a megabyte per episode."""
    random = np.random.default_rng(0)
    with EpisodeWriter(directory / "data") as writer:
        for _ in range(EPISODES):
            with writer.episode() as episode:
                episode.start(random.integers(0, 256, (90, 90, 3), np.uint8))
                for step in range(1, STEPS):
                    frame = random.integers(0, 256, (90, 90, 3), np.uint8)
                    episode.step(step, 1.0, frame, terminated=step == STEPS - 1)
    chosen = [Chosen(str(directory / "data"), str(each.id)) for each in rlds_kit.open(directory / "data").episodes]
    made = directory / "export"
    made.mkdir()
    write_request(made, "episodes", chosen, Rules(), is_archive=is_archive)
    return made


def started(directory: Path) -> "subprocess.Popen[bytes]":
    """The process."""
    command = [sys.executable, "-m", "rlds_kit.studio.export.work", str(directory)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)


KILLED = """
import os, signal, sys
from pathlib import Path
from rlds_kit.studio.export.work import work

def kill(done: float) -> None:
    if len(list(directory.glob(".*/part-*.json"))) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

directory = Path(sys.argv[1])
work(directory, kill)
"""
"""Makes an export and kills itself in the third part: a kill from outside may come when all parts are done."""


def until_a_part_is_done(directory: Path) -> None:
    """Waits for the first of the parts."""
    until = time.monotonic() + 60
    while not list(directory.glob(".*/part-*.json")):
        assert time.monotonic() < until
        time.sleep(0.005)


def test_what_is_done_is_kept_when_the_process_is_killed(tmp_path: Path) -> None:
    """And the result is the same as without the kill."""
    directory = asked(tmp_path)
    assert subprocess.run([sys.executable, "-c", KILLED, directory], check=False).returncode == -signal.SIGKILL
    report = work(directory)
    assert 0 < report["episodes_kept"] < EPISODES
    assert report["episodes"] == EPISODES
    with zipfile.ZipFile(directory / "episodes.zip") as opened:
        opened.extractall(tmp_path / "out")
    was, now = rlds_kit.open(tmp_path / "data"), rlds_kit.open(tmp_path / "out" / "episodes")
    for one, other in zip(was.episodes, now.episodes, strict=True):
        assert np.array_equal(one["observation"], other["observation"])


def test_the_process_ends_with_the_server(tmp_path: Path) -> None:
    """Even if the server was killed: then no process has the other end of its input open."""
    directory = asked(tmp_path)
    with started(directory) as process:
        until_a_part_is_done(directory)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 1


def test_progress_is_reported_line_by_line(tmp_path: Path) -> None:
    """The last line is the report."""
    directory = asked(tmp_path)
    with started(directory) as process:
        assert process.stdout is not None
        lines = [json.loads(line) for line in process.stdout]
    progress = [line["progress"] for line in lines[:-1]]
    assert progress == sorted(progress)
    assert all(0 <= each <= 1 for each in progress)
    assert lines[-1]["report"]["name"] == "episodes.zip"


def test_an_error_is_reported(tmp_path: Path) -> None:
    directory = asked(tmp_path)
    (shard,) = (tmp_path / "data").glob("*.riegeli")
    data = bytearray(shard.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(64)
    shard.write_bytes(data)
    with started(directory) as process:
        assert process.stdout is not None
        *_, last = [json.loads(line) for line in process.stdout]
    assert "does not match its checksum" in last["error"]
    assert not (directory / "episodes.zip").exists()
    with pytest.raises(RldsKitError):
        work(directory)


def test_an_archive_is_made_anew_where_it_was_left(tmp_path: Path) -> None:
    """A partial archive is never used as a complete one."""
    directory = asked(tmp_path)
    report = work(directory)
    whole = (directory / "episodes.zip").read_bytes()
    assert not (directory / "episodes").exists()
    assert work(directory) == report
    with zipfile.ZipFile(directory / "episodes.zip") as opened:
        opened.extractall(directory)
    (directory / "episodes.zip").unlink()
    (directory / "episodes.partial").write_bytes(whole[:1000])
    assert work(directory)["bytes"] == len(whole)
    assert not (directory / "episodes").exists()
    assert not (directory / "episodes.partial").exists()


def test_a_folder_without_a_report_is_made_anew(tmp_path: Path) -> None:
    """It may be incomplete."""
    directory = asked(tmp_path, is_archive=False)
    report = work(directory)
    (directory / REPORT).unlink()
    (directory / "episodes" / "dataset.json").unlink()
    assert work(directory)["episodes"] == report["episodes"]
    assert len(rlds_kit.open(directory / "episodes").episodes) == EPISODES


def test_an_archive_has_the_files_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "set" / "layers").mkdir(parents=True)
    (tmp_path / "set" / "a").write_bytes(b"one")
    (tmp_path / "set" / "layers" / "ü").write_bytes(b"")
    told: list[int] = []
    archive(tmp_path / "set", tmp_path / "set.zip", told.append)
    with zipfile.ZipFile(tmp_path / "set.zip") as opened:
        assert {each.filename: each.file_size for each in opened.infolist()} == {"set/a": 3, "set/layers/ü": 0}
        assert all(each.compress_type == zipfile.ZIP_STORED for each in opened.infolist())
    assert sum(told) == 3

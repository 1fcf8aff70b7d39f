"""A crash or an error at each write, fsync, rotation and footer: nothing durable is lost; errors count lost steps."""

import errno
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError
from rlds_kit.storage.contents import contents
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from tests.storage.crashing import EPISODES, SEED, at_call, faults, make_recorder, record
from tests.storage.killing import DECLARED, ROOT, Promise, check, length_of, row_of

FORMS = ("rows", "columns")
TOTAL_ROWS = sum(length_of(SEED, number) for number in range(EPISODES))


def _count_calls(directory: Path, form: str = "rows") -> list[str]:
    """The calls that a recording makes when nothing fails."""
    calls: list[str] = []
    recorder = make_recorder(directory)
    with faults(calls.append):
        record(recorder, lambda _: None, form)
        recorder.close()
    return calls


def test_the_scenario_has_every_kind_of_call(tmp_path: Path) -> None:
    """What the other tests break: several shards, blocks, syncs, footers."""
    calls = _count_calls(tmp_path)
    assert set(calls) == {"open", "write", "torn write", "fsync", "close"}
    assert calls.count("open") == len(list(tmp_path.glob("*.riegeli"))) == 3
    assert len(calls) > 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("form", FORMS)
def test_a_crash_at_any_call(tmp_path: Path, form: str) -> None:
    """Wherever the process dies, all that was durable can be read, and the rest is a prefix of what was given."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.storage.crashing", str(tmp_path), form]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    crashes = int(done.stdout)
    durable = 0
    for number in range(crashes + 1):
        promise = Promise()
        said = tmp_path / f"{number}.said"
        for line in said.read_text().splitlines() if said.exists() else ():
            key, rows = line.split()
            promise.durable[uuid.UUID(key)] = int(rows)
        tally = check(tmp_path / str(number), promise)
        durable += tally.durable_rows
    assert tally.rows_read == TOTAL_ROWS
    assert durable > crashes > 60  # columns are written with fewer calls than rows


class BreakingCall:
    """Raises an error of the system at one call, or at that and all later ones."""

    def __init__(self, number: int, error: int, *, for_good: bool = False) -> None:
        self.struck = ""
        self._fault = at_call(number, self._raise)
        self._error, self._for_good = error, for_good

    def __call__(self, kind: str) -> None:
        if self.struck and self._for_good:
            raise OSError(self._error, os.strerror(self._error))
        self._fault(kind)

    def _raise(self, kind: str) -> None:
        self.struck = kind
        raise OSError(self._error, os.strerror(self._error))


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power cut will come: the error of fsync is what is tested."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("error", "for_good"), [(errno.ENOSPC, True), (errno.EIO, False)])
def test_an_error_at_any_call_tells_what_is_kept_and_lost(
    tmp_path: Path, error: int, form: str, *, for_good: bool
) -> None:
    """The numbers of stored and lost steps in the error are exact, and there is no partial chunk."""
    calls = len(_count_calls(tmp_path / "whole", form))
    for number in range(calls):
        directory = tmp_path / str(number)
        recorder = make_recorder(directory)
        breaking = BreakingCall(number, error, for_good=for_good)
        with faults(breaking), pytest.raises(RecordingError) as failure:
            _record_all(recorder, form)
        assert breaking.struck
        kept, lost = map(int, re.findall(r"(\d+) steps are stored and (\d+) are lost", str(failure.value))[0])
        assert os.strerror(error) in str(failure.value)
        tally = check(directory, Promise())
        assert tally.rows_read == kept, f"call {number}, {breaking.struck}"
        assert kept + lost <= TOTAL_ROWS
        assert all(contents(ShardFile(path)).truncation is None for path in directory.glob("*.riegeli"))
        assert recorder.closed


def _record_all(recorder: Recorder, form: str = "rows") -> None:
    """Records everything and closes, whatever happens; the first error comes out."""
    try:
        record(recorder, lambda _: None, form)
    except RecordingError:
        with pytest.raises(RecordingError):
            recorder.close()
        raise
    recorder.close()


def test_kept_and_lost_add_up_to_what_was_given(tmp_path: Path) -> None:
    """Rows that still waited in memory are counted as lost."""
    recorder = make_recorder(tmp_path)
    episode = recorder.start_episode(metadata={"seed": SEED, "number": 0})
    with faults(at_call(6, _no_space)), pytest.raises(RecordingError) as failure:  # in writing the episode's start
        for row in range(14):
            episode.append(*row_of(SEED, 0, row))
        recorder.close()
    assert f"0 steps are stored and {episode.rows} are lost" in str(failure.value)


def _no_space(_: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_next_call_after_an_error_raises(tmp_path: Path) -> None:
    """What goes wrong in the background reaches the caller at the next step, at `flush`, and at `close`."""
    recorder = make_recorder(tmp_path)
    episode = recorder.start_episode(metadata={"seed": SEED, "number": 0})
    episode.append(*row_of(SEED, 0, 0))
    with faults(at_call(0, _no_space)):
        for call in (
            recorder.flush,
            lambda: episode.append(*row_of(SEED, 0, 1)),
            lambda: episode.end(EpisodeEnd.TERMINATED),
            recorder.start_episode,
            recorder.close,
        ):
            with pytest.raises(RecordingError, match="No space left"):
                call()


def test_recording_can_go_on_in_the_same_directory_after_an_error(tmp_path: Path) -> None:
    """What a failed recorder left does not disturb the next one."""
    calls = len(_count_calls(tmp_path / "whole"))
    directory = tmp_path / "data"
    for number in (3, calls // 2, calls - 3):
        with faults(at_call(number, _no_space)), pytest.raises(RecordingError):
            _record_all(make_recorder(directory))
    with Recorder(directory, DECLARED) as recorder:
        episode = recorder.start_episode(metadata={"seed": SEED, "number": 99})
        episode.append(*row_of(SEED, 99, 0))
        episode.end(EpisodeEnd.TERMINATED)
    last = [one for one in rlds_kit.open(directory).episodes if one.metadata["number"] == 99]
    assert [one.end for one in last] == [EpisodeEnd.TERMINATED]


def test_an_error_in_making_the_directory_ready_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is found out when the recorder is made, and leaves no half of dataset.json."""

    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        Recorder(tmp_path / "data", DECLARED)
    assert list((tmp_path / "data").iterdir()) == []


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(path)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_full_disk(tiny_disk: Path) -> None:
    """On a disk that is really full, the steps that the error reports as stored exist."""
    recorder = Recorder(tiny_disk / "data", DECLARED)
    noise = np.random.default_rng(0)
    episode = recorder.start_episode()

    def record_much() -> None:
        for row in range(5_000):
            pixels = noise.integers(0, 256, (8, 8, 3), np.uint8)
            episode.append({"observation": {"pixels": pixels, "t": float(row)}}, {"action": 1} if row else None)
        recorder.close()

    with pytest.raises(RecordingError, match="No space left on device") as failure:
        record_much()
    kept = int(re.findall(r"(\d+) steps are stored", str(failure.value))[0])
    (read,) = rlds_kit.open(tiny_disk / "data").episodes
    assert read["observation/t"].tolist() == list(range(kept))
    assert kept > 500

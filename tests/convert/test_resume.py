"""Conversions by several processes, and such that were cut short."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.errors import DatasetExistsError, FormatError
from rlds_kit.base.executor import ExecutorError, WorkerDiedError, on_processes
from rlds_kit.convert import formats
from rlds_kit.convert.conversion import Report, Source, convert, convert_opened
from rlds_kit.convert.parts import LAST_SHARE, MOST_PARTS, PARTS, SMALLER, partition
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.whole_directory import under_way
from tests.convert.troubled import BYTES, EPISODES, TroubledReader

OURS = formats.named("rlds_kit")


def converted(root: Path, trouble: Any = "", name: str = "ours", **options: Any) -> Report:
    """Converts the source that is in trouble, two episodes a part."""
    source = Source(root / "source", "arrays", TroubledReader(trouble))
    if not source.path.exists():
        source.path.touch()
    given = {"allow_loss": False, "part_bytes": 2 * BYTES, **options}
    return convert_opened(source, root / name, OURS, **given)


def numbers(path: Path) -> list[int]:
    """Values that identify the episodes, in order."""
    return [int(episode.metadata["number"]) for episode in rlds_kit.open(path).episodes]


def work_of(path: Path) -> list[str]:
    """What conversions left, besides what they made."""
    return sorted(each.name for each in path.iterdir() if each.name.startswith("."))


@pytest.mark.thorough
def test_any_number_of_workers_makes_the_same(tmp_path: Path) -> None:
    """The same episodes in the order of the source, in the same shards, with the same digests."""
    reports = [converted(tmp_path, name=f"by-{workers}", workers=workers) for workers in (1, 2, 3)]
    assert len({report.content_digest for report in reports}) == 1
    for report in reports:
        assert (report.episodes, report.steps, report.episodes_kept) == (EPISODES, 7 * EPISODES, 0)
        assert numbers(report.destination) == list(range(EPISODES))
        assert len(shards_in(report.destination)) == EPISODES // 2
    assert len({rlds_kit.open(report.destination).content_digest for report in reports}) == 1
    assert work_of(tmp_path) == []


def test_parts_do_not_depend_on_who_asks() -> None:
    """All episodes, once, in order; of about the same size, and never too many."""
    chance = np.random.default_rng(0)
    for count in (0, 1, 7, 5_000):
        weights = chance.integers(0, 1_000, count).tolist()
        parts = partition(weights, 3_000)
        assert [number for part in parts for number in range(part.begin, part.end or 0)] == list(range(count))
        assert [part.number for part in parts] == list(range(len(parts)))
        assert 1 <= len(parts) <= MOST_PARTS + 1
        large, total = max(3_000, sum(weights) // PARTS), sum(weights)
        assert all(sum(weights[part.begin : part.end]) < large + 1_000 for part in parts)
        last = [part for part in parts if sum(weights[: part.begin]) >= total - total // LAST_SHARE]
        small = max(3_000, large // SMALLER)
        assert all(sum(weights[part.begin : part.end]) < small + 1_000 for part in last)
        assert len(last) > 12 or count < 5_000


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_conversion_continues(tmp_path: Path, workers: int) -> None:
    """What was done is not done again, also by another number of workers; progress begins where it was."""
    code = (
        "import pathlib, os, signal, sys\n"
        "from tests.convert.test_resume import converted\n"
        "def stop(done, total):\n"
        "    if done > 0.6 * total:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "if __name__ == '__main__':\n"
        f"    converted(pathlib.Path(sys.argv[1]), workers={workers}, tell=stop)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    env = {**os.environ, "PYTHONPATH": str(Path(rlds_kit.__file__).parent.parent)}
    done = subprocess.run([sys.executable, script, tmp_path], env=env, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert work_of(tmp_path) == [".ours.partial-convert"]
    assert not (tmp_path / "ours").exists()
    told: list[float] = []
    report = converted(tmp_path, workers=3 - workers, tell=lambda done, total: told.append(done / total))
    assert report.episodes_kept >= EPISODES // 3
    assert told[0] > 0
    assert told == sorted(told)
    assert told[-1] == 1
    assert numbers(tmp_path / "ours") == list(range(EPISODES))
    assert report.content_digest == converted(tmp_path, name="other").content_digest
    assert work_of(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Windows has no groups of processes")
@pytest.mark.parametrize("share", [0, 0.3], ids=["while workers start", "while they work"])
def test_an_interrupt_from_the_keyboard_is_for_the_caller_alone(tmp_path: Path, share: float) -> None:
    """Ctrl-C reaches all processes of a terminal: workers print nothing, and finish their current write."""
    code = (
        "import pathlib, os, signal, sys\n"
        "from tests.convert.test_resume import converted\n"
        "def stop(done, total):\n"
        f"    if done >= {share} * total:\n"
        "        os.killpg(0, signal.SIGINT)\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it\n"
        "    try: converted(pathlib.Path(sys.argv[1]), workers=2, tell=stop)\n"
        "    except KeyboardInterrupt: print('interrupted')\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    env = {**os.environ, "PYTHONPATH": str(Path(rlds_kit.__file__).parent.parent)}
    command = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True, start_new_session=True)
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


def cut_short(root: Path) -> list[Path]:
    """Leaves a conversion that stopped when four parts were done, for want of room; returns their notes."""
    with pytest.raises(OSError, match="No space left"):
        converted(root, "full")
    return sorted((root / ".ours.partial-convert").glob("part-*.json"))


def test_each_file_of_the_result_is_synced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small parts are not synced before; a sync of each of their files took longer than their data."""
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", synced.append)
    converted(tmp_path)
    assert EPISODES // 2 <= len(synced) <= EPISODES // 2 + 8


def test_full_disk_keeps_what_is_done(tmp_path: Path) -> None:
    assert len(cut_short(tmp_path)) == 4
    assert converted(tmp_path).episodes_kept == 8
    assert numbers(tmp_path / "ours") == list(range(EPISODES))


def test_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if 2 * done > total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converted(tmp_path, tell=stop)
    assert converted(tmp_path).episodes_kept >= 4


def test_changed_source_begins_anew(tmp_path: Path) -> None:
    """And so does another choice of options: nothing of the old work is in the result."""
    cut_short(tmp_path)
    (tmp_path / "source").write_text("changed")
    assert cut_short(tmp_path)
    os.utime(tmp_path / "source", ns=(1, 1))
    source = Source(tmp_path / "source", "arrays", TroubledReader())
    report = convert_opened(source, tmp_path / "ours", OURS, allow_loss=False, part_bytes=2 * BYTES)
    assert report.episodes_kept == 0
    (tmp_path / "again").mkdir()
    cut_short(tmp_path / "again")
    assert converted(tmp_path / "again", allow_loss=True).episodes_kept == 0


def test_parts_that_are_not_what_they_were_are_made_again(tmp_path: Path) -> None:
    """A part is taken only if all its bytes are those that were compared."""
    notes = cut_short(tmp_path)
    (shard,) = notes[0].with_suffix("").rglob("*.riegeli")
    data = bytearray(shard.read_bytes())
    data[-70_000] ^= 1
    shard.write_bytes(data)
    notes[1].write_text("{")
    assert converted(tmp_path).episodes_kept == 4
    assert numbers(tmp_path / "ours") == list(range(EPISODES))
    assert rlds_kit.open(tmp_path / "ours").episodes[0]["observation"].shape == (7, 2)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_worker_that_dies_is_an_error_that_says_what_it_did(tmp_path: Path) -> None:
    """Finished parts of other workers are not repeated."""
    with pytest.raises(WorkerDiedError, match="worked on episodes 8 up to 10 of the source died of signal SIGKILL"):
        converted(tmp_path, "kill", executor=on_processes(2))
    assert converted(tmp_path, workers=2).episodes_kept >= 2
    assert numbers(tmp_path / "ours") == list(range(EPISODES))


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_come_through_and_leave_nothing(tmp_path: Path, workers: int) -> None:
    """The next attempt would come no further."""
    with pytest.raises(FormatError, match="episode 9 is broken"):
        converted(tmp_path, "error", workers=workers)
    with pytest.raises((ExecutorError, TypeError), match="cannot record object"):
        converted(tmp_path, "type", workers=workers)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["source"]


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    """The second process reports that the first one is converting."""
    work = tmp_path / ".ours.partial-convert"
    work.mkdir()
    with under_way(work), pytest.raises(DatasetExistsError, match="another process is converting"):
        converted(tmp_path)
    assert converted(tmp_path).episodes == EPISODES


def test_formats_of_one_file_are_written_by_one_worker(tmp_path: Path) -> None:
    """A request for more workers raises an error."""
    path = tmp_path / "a.npz"
    rows, ends = np.arange(6, dtype=np.float32), np.array([0, 0, 1, 0, 0, 1], np.bool_)
    np.savez(path, observations=rows, next_observations=rows + 1, actions=rows, rewards=rows, terminals=ends)
    convert(path, tmp_path / "ours", workers=2, part_bytes=1)
    with pytest.raises(ConversionError, match="written by one worker"):
        convert(tmp_path / "ours", tmp_path / "m-v0", "minari", workers=2)
    with pytest.raises(ValueError, match="workers: expected 1 or more"):
        convert(tmp_path / "ours", tmp_path / "m-v0", "minari", workers=0)
    assert convert(tmp_path / "ours", tmp_path / "m-v0", "minari").episodes == 2

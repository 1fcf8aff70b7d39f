"""The recorder: policies, limits, rotation, modes, threads, forks and interrupts."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit import DatasetExistsError, EpisodeEnd, RecordingError, SpecError
from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.lock import is_locked
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_set import ShardSet
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools.upkeep.verify import verify
from tests.processes import exit_code_of_child
from tests.storage.interrupting import interrupt_at
from tests.storage.truth import Given, GivingRecorder, assert_same_steps, assert_whole

MANUAL: Final = FlushPolicy(block_rows=4, interval=None)
DECLARED: Final = specs.Dict({"observation": specs.Array((2,), np.float32), "reward": specs.Array((), np.float64)})


def _give(episode: GivingRecorder | EpisodeRecorder, rows: int) -> None:
    """Adds rows, whose numbers follow those of the existing ones."""
    recorder = episode.episode if isinstance(episode, GivingRecorder) else episode
    for row in range(recorder.rows, recorder.rows + rows):
        episode.append({"observation": np.array([row, -row], np.float32)}, {"reward": row / 2} if row else None)


def _on_disk(directory: Path) -> dict[uuid.UUID, int]:
    """Rows of each episode that other processes can read now."""
    return {one.id: one.length for one in rlds_kit.open(directory, include_open=True).episodes}


# Policies.


def test_every_step_is_durable_when_append_returns(tmp_path: Path) -> None:
    """With `every_step`, `durable` counts the row that was given just now, and a reader has it."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.every_step()) as recorder:
        episode = recorder.start_episode()
        for rows in range(1, 6):
            _give(episode, 1)
            assert recorder.durable == {episode.id: rows} == _on_disk(tmp_path)


def test_every_episode_is_durable_when_end_returns(tmp_path: Path) -> None:
    """With `every_episode`, an ended episode is whole on disk, and an open one may not be there."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.every_episode()) as recorder:
        episode = GivingRecorder(recorder)
        _give(episode, 3)
        assert recorder.durable == {episode.episode.id: 0}
        episode.end(EpisodeEnd.TERMINATED)
        assert_whole(rlds_kit.open(tmp_path), [episode.given])


def test_all_but_the_last_bytes_are_durable(tmp_path: Path) -> None:
    """With `bytes`, less than so many bytes of rows are ever at risk."""
    row_bytes = 8 + 16  # an observation; a number counts for 16
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.bytes(100)) as recorder:
        episode = recorder.start_episode()
        for rows in range(1, 60):
            _give(episode, 1)
            assert (rows - recorder.durable[episode.id]) * row_bytes < 100


def test_old_rows_become_durable_by_themselves(tmp_path: Path) -> None:
    """With `seconds`, the background thread flushes also when nothing more is given."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.seconds(0.02)) as recorder:
        episode = recorder.start_episode()
        _give(episode, 3)
        while recorder.durable[episode.id] < 3:
            time.sleep(0.01)
        assert _on_disk(tmp_path) == {episode.id: 3}


def test_the_default_policy_flushes_an_idle_environment(tmp_path: Path) -> None:
    """By default as well nothing waits for ever in memory."""
    with Recorder(tmp_path, DECLARED) as recorder:
        episode = recorder.start_episode()
        _give(episode, 1)
        while not recorder.durable[episode.id]:
            time.sleep(0.05)
        assert _on_disk(tmp_path) == {episode.id: 1}


def test_nothing_is_durable_without_flush_when_manual(tmp_path: Path) -> None:
    """With `manual`, `durable` is what `flush` made so, also when blocks were written since."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        episode = recorder.start_episode()
        _give(episode, 200)
        assert recorder.durable == {episode.id: 0}
        recorder.flush()
        assert recorder.durable == {episode.id: 200} == _on_disk(tmp_path)
        _give(episode, 200)
        assert recorder.durable == {episode.id: 200}


def test_a_flush_makes_all_open_episodes_durable(tmp_path: Path) -> None:
    """`flush` returns when every row of every episode is on disk; `durable` forgets ended episodes."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL) as recorder:
        episodes = [recorder.start_episode() for _ in range(3)]
        for rows, episode in enumerate(episodes, 1):
            _give(episode, rows)
        recorder.flush()
        assert recorder.durable == {episode.id: rows for rows, episode in enumerate(episodes, 1)} == _on_disk(tmp_path)
        episodes[0].end(EpisodeEnd.TERMINATED)
        recorder.flush()
        assert recorder.durable.keys() == {episode.id for episode in episodes[1:]}


def test_a_flush_without_rows_returns(tmp_path: Path) -> None:
    """There may be nothing to flush."""
    with Recorder(tmp_path) as recorder:
        recorder.flush()
        episode = recorder.start_episode()
        recorder.flush()
        assert recorder.durable == {episode.id: 0}


# Limits.


def test_memory_is_bounded_over_all_open_episodes(tmp_path: Path) -> None:
    """A vector of 1,000 image environments never has more waiting than the limit and one row."""
    limit = 64 << 20
    frame = np.zeros((84, 84, 3), np.uint8)
    with Recorder(tmp_path, policy=MANUAL, memory_limit=limit) as recorder:
        episodes = [recorder.start_episode() for _ in range(1000)]
        for row in range(6):
            frame[:] = row
            for episode in episodes:
                episode.append({"observation": frame})
                assert recorder._intake._thread.buffered_bytes <= limit + frame.nbytes
        for episode in episodes:
            episode.end(EpisodeEnd.TRUNCATED)
    dataset = rlds_kit.open(tmp_path)
    assert dataset.lengths() == [6] * 1000
    assert dataset.episodes[500]["observation"][:, 0, 0, 0].tolist() == list(range(6))


def test_memory_is_used_again_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much as rows may take: new memory costs more than copying frames into it."""
    frame, new, empty = np.zeros(4 << 20, np.uint8), list[int](), np.empty

    def counted(shape: Any, *arguments: Any, **options: Any) -> np.ndarray:
        found: np.ndarray = empty(shape, *arguments, **options)
        new.extend([found.nbytes] * (found.nbytes > 2 * frame.nbytes))
        return found

    policy = FlushPolicy(block_rows=4, block_bytes=8 * frame.nbytes, interval=None)
    with Recorder(tmp_path, policy=policy, memory_limit=256 << 20) as recorder:
        episodes = [recorder.start_episode() for _ in range(4)]
        monkeypatch.setattr(np, "empty", counted)
        for row in range(6):
            for episode in episodes:
                episode.append({"observation": frame}, {"reward": 1.0} if row else None)
            if row % 3 == 2:
                recorder.flush()
    assert new == [4 * frame.nbytes] * len(episodes)


def test_a_sync_that_comes_after_the_end_returns(tmp_path: Path) -> None:
    """A signal handler may close the recorder between a row and its sync: then everything is durable already."""
    recorder = Recorder(tmp_path, policy=MANUAL)
    recorder.start_episode().append({"observation": 1})
    recorder.close()
    with recorder._intake.lock:
        recorder._intake._flush()
    assert rlds_kit.open(tmp_path).lengths() == [1]


def test_an_error_without_a_text_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a MemoryError of Python is."""

    def block(self: ShardSet, job: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ShardSet, "block", block)
    recorder = Recorder(tmp_path, policy=MANUAL)
    recorder.start_episode().append({"observation": 1})
    with pytest.raises(RecordingError, match="recording stopped: MemoryError"):
        recorder.close()


RSS_PROGRAM: Final = """
import resource, sys
import numpy as np
from rlds_kit.storage.recorder import Recorder
noise = np.random.default_rng(0).integers(0, 256, (210, 160, 3), np.uint8)
recorder = Recorder(sys.argv[1], memory_limit=64 << 20)
episodes = [recorder.start_episode() for _ in range(1000)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for row in range(12):
    for episode in episodes:
        noise += 1
        episode.append({"observation": noise})
recorder.close()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_memory_of_the_process_is_bounded(tmp_path: Path) -> None:
    """1,000 open episodes of Atari frames, which would be 1.2 GB, need little more than the limit."""
    command = [sys.executable, "-c", RSS_PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert int(done.stdout) < 300


def test_shards_rotate_by_episodes(tmp_path: Path) -> None:
    """A shard gets at most this many episodes; each interleaved one is completely in one shard."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL, max_shard_episodes=3) as recorder:
        episodes = [GivingRecorder(recorder) for _ in range(8)]
        for _ in range(10):
            for episode in episodes:
                _give(episode, 1)
        for episode in episodes:
            episode.end(EpisodeEnd.TERMINATED)
    assert len(list(tmp_path.glob("*.riegeli"))) == 3
    assert_whole(rlds_kit.open(tmp_path), [episode.given for episode in episodes])


def test_shards_rotate_by_bytes(tmp_path: Path) -> None:
    """A shard that is large enough gets no new episode; its open one continues in it."""
    noise = np.random.default_rng(0)
    with Recorder(tmp_path, policy=FlushPolicy(block_rows=1, interval=None), max_shard_bytes=10_000) as recorder:
        for _ in range(5):
            episode = recorder.start_episode()
            for _ in range(15):
                episode.append({"x": noise.bytes(1000)})
            episode.end(EpisodeEnd.TERMINATED)
    dataset = rlds_kit.open(tmp_path)
    assert len(list(tmp_path.glob("*.riegeli"))) == 5
    assert dataset.lengths() == [15] * 5


def test_a_full_shard_closes_with_its_last_episode(tmp_path: Path) -> None:
    """A full shard is closed as soon as its episodes have ended, while others are being written."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL, max_shard_episodes=1) as recorder:
        first, second = recorder.start_episode(), recorder.start_episode()
        _give(first, 5)
        _give(second, 5)
        recorder.flush()
        assert [is_locked(path) for path in sorted(tmp_path.glob("*.riegeli"))] == [True, True]
        first.end(EpisodeEnd.TERMINATED)
        recorder.flush()
        assert [is_locked(path) for path in sorted(tmp_path.glob("*.riegeli"))] == [False, True]


# Modes.


def test_append_adds_to_what_is_there(tmp_path: Path) -> None:
    """A second recorder on the same directory adds episodes, and changes no byte of the first."""
    for _ in range(2):
        before = {path: path.read_bytes() for path in tmp_path.glob("*")}
        with Recorder(tmp_path, DECLARED) as recorder:
            episode = recorder.start_episode()
            _give(episode, 2)
            episode.end(EpisodeEnd.TERMINATED)
        assert all(path.read_bytes() == content for path, content in before.items())
    assert rlds_kit.open(tmp_path).lengths() == [2, 2]


def test_error_refuses_a_dataset(tmp_path: Path) -> None:
    """Mode "error" raises an error that explains what to do, and changes nothing."""
    Recorder(tmp_path / "data", DECLARED, mode="error").close()
    before = sorted((tmp_path / "data").iterdir())
    with pytest.raises(DatasetExistsError, match="mode='append'"):
        Recorder(tmp_path / "data", DECLARED, mode="error")
    assert sorted((tmp_path / "data").iterdir()) == before


def test_new_records_beside_a_dataset(tmp_path: Path) -> None:
    """Mode "new" uses the first free name."""
    found = [Recorder(tmp_path / "data", DECLARED, mode="new") for _ in range(3)]
    assert [recorder.directory.name for recorder in found] == ["data", "data-2", "data-3"]
    for recorder in found:
        recorder.close()


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    """A typing error is not taken for a mode."""
    with pytest.raises(ValueError, match="mode: expected one of append, new, error"):
        Recorder(tmp_path, mode="overwrite")


# Episodes.


def test_interleaved_episodes_are_not_mixed_up(tmp_path: Path) -> None:
    """Rows of several open episodes go where they belong, whatever the order."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL) as recorder:
        episodes = [GivingRecorder(recorder, metadata={"n": n}) for n in range(5)]
        for turn in range(40):
            _give(episodes[turn * 7 % 5], turn % 4)
        for episode in reversed(episodes):
            episode.end(EpisodeEnd.TRUNCATED)
    assert_whole(rlds_kit.open(tmp_path), [episode.given for episode in episodes])


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 9])
@pytest.mark.parametrize("flush", [False, True])
def test_a_discarded_episode_leaves_nothing_visible(tmp_path: Path, rows: int, *, flush: bool) -> None:
    """Whether some of its rows are on disk or not, no reader shows it, and its neighbours are whole."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL) as recorder:
        before, unwanted, after = (GivingRecorder(recorder) for _ in range(3))
        for episode in (before, unwanted, after):
            _give(episode, rows or 1 if episode is not unwanted else rows)
        if flush:
            recorder.flush()
        unwanted.episode.discard()
        with pytest.raises(RecordingError, match="ended"):
            unwanted.episode.append({})
        recorder.flush()
        assert recorder.durable.keys() == {before.episode.id, after.episode.id} == _on_disk(tmp_path).keys()
        _give(after, 5)
        for episode in (before, after):
            episode.end(EpisodeEnd.TERMINATED)
    assert_whole(rlds_kit.open(tmp_path), [before.given, after.given])


def test_an_episode_without_rows_leaves_nothing(tmp_path: Path) -> None:
    """An episode that was started and ended without a step is no episode."""
    with Recorder(tmp_path, DECLARED) as recorder:
        recorder.start_episode().end(EpisodeEnd.TERMINATED)
        recorder.start_episode()
    assert len(rlds_kit.open(tmp_path).episodes) == 0


def test_close_interrupts_open_episodes(tmp_path: Path) -> None:
    """An episode that is open when the recorder closes ends as INTERRUPTED, with every row."""
    recorder = Recorder(tmp_path, DECLARED)
    episode = GivingRecorder(recorder)
    _give(episode, 70)
    recorder.close()
    recorder.close()
    assert recorder.closed
    episode.given.ending = EpisodeEnd.INTERRUPTED
    assert_whole(rlds_kit.open(tmp_path), [episode.given])
    for call in (lambda: _give(episode, 1), recorder.start_episode, recorder.flush):
        with pytest.raises(RecordingError, match="closed"):
            call()


def test_an_ended_episode_takes_nothing_more(tmp_path: Path) -> None:
    """After its end an episode refuses rows, a second end, and to be discarded."""
    with Recorder(tmp_path, DECLARED) as recorder:
        episode = recorder.start_episode()
        _give(episode, 2)
        episode.end(EpisodeEnd.TERMINATED)
        calls: tuple[Callable[[], object], ...] = (
            lambda: _give(episode, 1),
            lambda: episode.end(EpisodeEnd.TERMINATED),
            episode.discard,
        )
        for call in calls:
            with pytest.raises(RecordingError, match="has ended"):
                call()
    assert rlds_kit.open(tmp_path).lengths() == [2]


def test_only_a_reader_decides_that_an_episode_is_incomplete(tmp_path: Path) -> None:
    with Recorder(tmp_path, DECLARED) as recorder, pytest.raises(ValueError, match="got INCOMPLETE"):
        recorder.start_episode().end(EpisodeEnd.INCOMPLETE)


@pytest.mark.parametrize("terminated", [False, True])
@pytest.mark.parametrize("truncated", [False, True])
def test_both_of_gymnasiums_flags_are_kept(tmp_path: Path, *, terminated: bool, truncated: bool) -> None:
    """Flags that were both set come back both set."""
    ending = EpisodeEnd.TERMINATED if terminated else EpisodeEnd.TRUNCATED if truncated else EpisodeEnd.INTERRUPTED
    with Recorder(tmp_path, DECLARED) as recorder:
        episode = recorder.start_episode()
        _give(episode, 2)
        episode.end(ending, terminated=terminated, truncated=truncated)
    (read,) = rlds_kit.open(tmp_path).episodes
    assert (read.end, read.terminated, read.truncated) == (ending, terminated, truncated)
    assert read["is_terminal"].tolist() == [False, terminated]


@pytest.mark.parametrize("rows", [1, 4, 5])
def test_a_missing_final_observation_is_undefined(tmp_path: Path, rows: int) -> None:
    """Data of n observations and n actions are recorded completely; the step after the last action lacks one."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL) as recorder:
        episode = GivingRecorder(recorder)
        _give(episode, rows)
        episode.end(EpisodeEnd.TRUNCATED, acted={"reward": 99.0})
    (read,) = rlds_kit.open(tmp_path).episodes
    assert read.length == rows + 1
    assert read.mask("observation").tolist() == [True] * rows + [False]
    assert read.mask("reward").tolist() == [True] * rows + [False]
    assert read["reward"].tolist() == [row / 2 for row in range(1, rows)] + [99.0, 0.0]
    assert read["observation"][-1].tolist() == [0.0, 0.0]
    assert_whole(rlds_kit.open(tmp_path), [episode.given])


def test_an_episode_without_rows_has_no_last_action(tmp_path: Path) -> None:
    """An action before any observation is refused, and so is one that comes with the first."""
    with Recorder(tmp_path, DECLARED) as recorder:
        episode = recorder.start_episode()
        with pytest.raises(RecordingError, match="no observation that this was done in"):
            episode.end(EpisodeEnd.TRUNCATED, acted={"reward": 1.0})
        with pytest.raises(RecordingError, match="no action before it"):
            episode.append({"observation": np.zeros(2, np.float32)}, {"reward": 1.0})
        _give(episode, 1)
        episode.end(EpisodeEnd.TRUNCATED)
    assert rlds_kit.open(tmp_path).lengths() == [1]


def test_action_and_reward_across_a_gap_are_undefined(tmp_path: Path) -> None:
    """A row without its action leaves the previous row without action and reward, which the mask shows."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL) as recorder:
        episode = GivingRecorder(recorder)
        for row in range(11):
            acted = {"reward": float(row)} if row and row % 3 else None
            episode.append({"observation": np.zeros(2, np.float32), "step_index": row * 2}, acted)
        episode.end(EpisodeEnd.TERMINATED)
    (read,) = rlds_kit.open(tmp_path).episodes
    assert read.mask("reward").tolist() == [row % 3 != 0 for row in range(1, 11)] + [False]
    assert_whole(rlds_kit.open(tmp_path), [episode.given])


@pytest.mark.parametrize(
    "values",
    [("text", np.str_("text")), (b"bytes", np.bytes_(b"bytes")), (1, np.int64(1), np.array(1)), (1 << 70, [1, "x"])],
)
@pytest.mark.parametrize("is_early_writer", [False, True])
def test_kinds_of_values_that_have_one_spec_are_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: tuple[Any, ...], is_early_writer: bool
) -> None:
    """Their spec stands in the shard once; early writers wrote it for each kind, which is no damage either."""
    if is_early_writer:
        write = ShardWriter.amend

        def amend(self: ShardWriter, spec: pb.Spec) -> None:
            self._amendments.pop(spec.SerializeToString(deterministic=True), None)
            write(self, spec)

        monkeypatch.setattr(ShardWriter, "amend", amend)
    policy = FlushPolicy(block_rows=1, interval=None)
    with Recorder(tmp_path / "live", specs.Dict({}), policy=policy) as recorder:
        episode = recorder.start_episode()
        for value in values:
            episode.append({"info": value})
        recorder.flush()
        shutil.copytree(tmp_path / "live", tmp_path / "killed")  # no process has locked the copy
        episode.end(EpisodeEnd.TRUNCATED)
    for name in ("live", "killed"):
        dataset = rlds_kit.open(tmp_path / name)
        assert not dataset.damage
        assert [step["info"] for step in dataset.episodes[0].steps] == list(values)
        assert verify(dataset.path).ok


def test_a_row_that_does_not_fit_is_refused_whole(tmp_path: Path) -> None:
    """A declared field that changes shape is refused by name; the row is not recorded, and the episode continues."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL) as recorder:
        episode = GivingRecorder(recorder)
        _give(episode, 5)
        for bad in (np.zeros(3, np.float32), np.zeros(2, np.int32), [0.0, 0.0], None):
            with pytest.raises(SpecError, match=r"observation: expected float32 \(2,\)"):
                episode.append({"info": {"x": 1}, "observation": bad}, {"reward": 1.0})
        with pytest.raises(SpecError, match=r"reward: expected float64 \(\)"):
            episode.append({"observation": np.zeros(2, np.float32), "info": {"x": 1}}, {"reward": "much"})
        _give(episode, 5)
        episode.end(EpisodeEnd.TERMINATED)
    assert_whole(rlds_kit.open(tmp_path), [episode.given])


def test_a_flag_cannot_be_recorded_as_a_field(tmp_path: Path) -> None:
    """`is_last` and similar flags are derived, so they cannot be passed."""
    with Recorder(tmp_path) as recorder, pytest.raises(SpecError, match="is_last"):
        recorder.start_episode().append({"is_last": True})


# Threads, forks and interrupts.


def test_episodes_are_recorded_from_several_threads(tmp_path: Path) -> None:
    """Each thread has its own episodes; none of them disturbs another."""
    given: list[Given] = []

    def work(number: int) -> None:
        for _ in range(5):
            episode = GivingRecorder(recorder, metadata={"thread": number})
            _give(episode, 30 + number)
            episode.end(EpisodeEnd.TERMINATED)
            given.append(episode.given)

    with Recorder(tmp_path, DECLARED, policy=MANUAL, memory_limit=2000, max_shard_episodes=7) as recorder:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(given) == 30
    assert_whole(rlds_kit.open(tmp_path), given)


def test_rows_given_while_another_thread_closes_are_kept_or_refused(tmp_path: Path) -> None:
    """No row is taken and then forgotten when the recorder is closed meanwhile."""
    for turn in range(8):
        recorder = Recorder(tmp_path / str(turn), DECLARED, policy=MANUAL)
        episode = GivingRecorder(recorder)
        _give(episode, 1)

        def give(episode: GivingRecorder = episode) -> None:
            with pytest.raises(RecordingError):
                _give(episode, 1_000_000)

        thread = threading.Thread(target=give)
        thread.start()
        time.sleep(0.002)
        recorder.close()
        thread.join()
        episode.given.ending = EpisodeEnd.INTERRUPTED
        assert_whole(rlds_kit.open(tmp_path / str(turn)), [episode.given])


def test_a_reader_that_asks_who_writes_does_not_stop_a_writer(tmp_path: Path) -> None:
    """Testing whether a shard is locked acquires the lock for a moment; the writer of a new shard waits for that."""
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            for path in tmp_path.glob("*.riegeli"):
                is_locked(path)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        with Recorder(tmp_path, DECLARED, max_shard_episodes=1) as recorder:
            for _ in range(40):
                episode = recorder.start_episode()
                _give(episode, 2)
                episode.end(EpisodeEnd.TERMINATED)
    finally:
        done.set()
        thread.join()
    assert rlds_kit.open(tmp_path).lengths() == [2] * 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_use_in_a_forked_child_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    """Everything a child tries with its parent's recorder is refused; the parent continues."""
    with Recorder(tmp_path, DECLARED, policy=MANUAL) as recorder:
        episode = GivingRecorder(recorder)
        _give(episode, 6)
        recorder.flush()
        (path,) = tmp_path.glob("*.riegeli")
        before = path.read_bytes()

        def try_everything() -> None:
            for call in (
                lambda: episode.append({"observation": np.zeros(2, np.float32)}),
                lambda: episode.end(EpisodeEnd.TERMINATED),
                episode.episode.discard,
                recorder.flush,
                recorder.start_episode,
                recorder.check,
            ):
                with pytest.raises(RecordingError, match="belongs to process"):
                    call()
            recorder.close()
            del episode.episode  # collected, in vain

        assert exit_code_of_child(try_everything) == 0
        assert path.read_bytes() == before
        assert is_locked(path)
        _give(episode, 6)
        episode.end(EpisodeEnd.TERMINATED)
    assert_whole(rlds_kit.open(tmp_path), [episode.given])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_does_not_hold_its_parents_lock(tmp_path: Path) -> None:
    """A forked child that continues to run does not make its parent's shard appear locked."""
    release, wait = os.pipe()
    begun, ready = os.pipe()
    recorder = Recorder(tmp_path, DECLARED, policy=MANUAL)
    _give(recorder.start_episode(), 3)
    recorder.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(wait)
        os.write(ready, b"!")
        os.read(release, 1)  # until the parent is done
        os._exit(0)
    assert os.read(begun, 1) == b"!"  # before that the child had no turn to let go of anything
    recorder.close()
    (path,) = tmp_path.glob("*.riegeli")
    assert not is_locked(path)
    os.close(wait)
    os.waitpid(child, 0)
    for descriptor in (release, begun, ready):
        os.close(descriptor)


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of tiny datasets need not survive a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def _interrupted_row(row: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    info: dict[str, Any] = {"n": row, "text": "x" * row, "ragged": np.full(row % 3, row), "nest": {"a": [row]}}
    info |= {"odd": True} if row % 2 else {}  # then rows are not made alike
    return {"observation": np.full(2, row, np.float32), "info": info}, {"reward": float(row)} if row else None


def _append_struck(
    episode: GivingRecorder,
    row: int,
    number: int,
    handle: Callable[..., object] = signal.default_int_handler,
    refusals: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
) -> list[str]:
    """Appends a row with a signal in the middle, after which it may be refused; returns what was interrupted."""
    with interrupt_at(number, handle) as struck:
        try:
            episode.episode.append(*_interrupted_row(row))
        except refusals:
            assert struck
    if episode.episode.rows > row:
        episode.given.add(*_interrupted_row(row))
    return struck


@pytest.mark.thorough
@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("block_rows", [2, 64])
@pytest.mark.parametrize("first", [1, 2])
def test_an_interrupt_in_the_middle_of_a_row_leaves_whole_rows(tmp_path: Path, first: int, block_rows: int) -> None:
    """Wherever Ctrl-C interrupts `append`, the row is recorded completely or not; nothing else is changed."""
    number, struck = 0, ["begin"]
    while struck:
        policy = FlushPolicy(block_rows=block_rows, interval=None)
        with Recorder(tmp_path / str(number), DECLARED, policy=policy) as recorder:
            episode = GivingRecorder(recorder)
            for row in range(first):
                episode.append(*_interrupted_row(row))
            struck = _append_struck(episode, first, number)
            for row in range(first + 1, first + 4):
                episode.append(*_interrupted_row(row))
            episode.end(EpisodeEnd.TERMINATED)
        (read,) = rlds_kit.open(tmp_path / str(number)).episodes
        assert_same_steps(list(read.steps), episode.given.steps())
        assert read.end is EpisodeEnd.TERMINATED
        number += 1
    assert number > 50


@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("last", [0, 3])
def test_an_interrupted_last_row_costs_no_other(tmp_path: Path, last: int) -> None:
    """Wherever Ctrl-C interrupts `close`, earlier data are preserved."""
    number, struck = 0, ["begin"]
    while struck:
        with Recorder(tmp_path / str(number), DECLARED, policy=FlushPolicy.manual()) as recorder:
            episode = GivingRecorder(recorder)
            for row in range(last):
                episode.append(*_interrupted_row(row))
            struck = _append_struck(episode, last, number)
        episode.given.ending = EpisodeEnd.INTERRUPTED
        assert_whole(rlds_kit.open(tmp_path / str(number)), [episode.given] if len(episode.given) else [])
        number += 1
    assert number > 50


def _heedless(deed: Callable[[], None], *_: object) -> None:
    """As the handler of a signal."""
    deed()


@pytest.mark.thorough
@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("handle", ["flush", "close", "end", "discard"])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_handler_of_a_signal_may_use_the_recorder(tmp_path: Path, first: int, handle: str) -> None:
    """In the middle of `append`, which then adds the row or raises an error that it did not, without a deadlock."""
    number, struck = 0, ["begin"]
    while struck:
        with Recorder(tmp_path / str(number), DECLARED, policy=FlushPolicy.manual()) as recorder:
            episode = GivingRecorder(recorder)
            for row in range(first):
                episode.append(*_interrupted_row(row))
            deeds: dict[str, Callable[[], None]] = {
                "flush": recorder.flush,
                "close": recorder.close,
                "end": partial(episode.episode.end, EpisodeEnd.INTERRUPTED),
                "discard": episode.episode.discard,
            }
            refusals = () if handle == "flush" else (RecordingError,)
            struck = _append_struck(episode, first, number, partial(_heedless, deeds[handle]), refusals)
        episode.given.ending = EpisodeEnd.INTERRUPTED
        is_kept = len(episode.given) and (handle != "discard" or not struck)
        assert_whole(rlds_kit.open(tmp_path / str(number)), [episode.given] if is_kept else [])
        number += 1
    assert number > 30


@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("what", ["flush", "append", "end"])
def test_the_handler_of_a_signal_may_flush_while_blocks_are_cut(tmp_path: Path, what: str) -> None:
    """In the middle of any call that cuts a block; rows that follow are recorded."""
    number, struck = 0, ["begin"]
    policy = FlushPolicy(block_rows=2, interval=None)
    while struck:
        with Recorder(tmp_path / str(number), DECLARED, policy=policy) as recorder:
            episode = GivingRecorder(recorder)
            _give(episode, 3)
            deeds: dict[str, Callable[[], None]] = {
                "flush": recorder.flush,
                "append": partial(_give, episode, 2),
                "end": partial(episode.episode.end, EpisodeEnd.TERMINATED),
            }
            with interrupt_at(number, partial(_heedless, recorder.flush)) as struck:
                deeds[what]()
            if what != "end":
                _give(episode, 1)
        episode.given.ending = EpisodeEnd.TERMINATED if what == "end" else EpisodeEnd.INTERRUPTED
        assert_whole(rlds_kit.open(tmp_path / str(number)), [episode.given])
        number += 1
    assert number > 10


@pytest.mark.usefixtures("no_fsync")
def test_the_handler_of_a_signal_may_record_while_a_block_is_cut(tmp_path: Path) -> None:
    """The row that it adds after a flush of its own is in another block, which the interrupted call retains."""
    number, struck = 0, ["begin"]
    while struck:
        with Recorder(tmp_path / str(number), DECLARED, policy=FlushPolicy.manual()) as recorder:
            episode = GivingRecorder(recorder)
            _give(episode, 3)

            def flush_and_give(recorder: Recorder = recorder, episode: GivingRecorder = episode) -> None:
                recorder.flush()
                _give(episode, 1)

            with interrupt_at(number, partial(_heedless, flush_and_give)) as struck:
                recorder.flush()
            _give(episode, 1)
        episode.given.ending = EpisodeEnd.INTERRUPTED
        assert_whole(rlds_kit.open(tmp_path / str(number)), [episode.given])
        number += 1
    assert number > 10


@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("rows", [1, 4, 6])
def test_an_interrupted_end_loses_no_row(tmp_path: Path, rows: int) -> None:
    """Wherever Ctrl-C interrupts `end`, the episode ended as given, or as INTERRUPTED when the recorder was closed."""
    number, struck = 0, ["begin"]
    while struck:
        with Recorder(tmp_path / str(number), DECLARED, policy=MANUAL) as recorder:
            episode = GivingRecorder(recorder)
            _give(episode, rows)
            with interrupt_at(number) as struck:
                try:
                    episode.end(EpisodeEnd.TERMINATED)
                except KeyboardInterrupt:
                    assert struck
        (read,) = rlds_kit.open(tmp_path / str(number)).episodes
        assert read.end is EpisodeEnd.TERMINATED if not struck else read.end in ENDED_OR_INTERRUPTED
        assert read.end is not None
        assert_same_steps(list(read.steps), episode.given.steps(ending=read.end))
        number += 1
    assert number > 10


ENDED_OR_INTERRUPTED: Final = (EpisodeEnd.TERMINATED, EpisodeEnd.INTERRUPTED)


@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("rows", [1, 4, 6])
def test_an_interrupted_discard_harms_no_other_episode(tmp_path: Path, rows: int) -> None:
    """Wherever Ctrl-C interrupts `discard`, the episode is removed or complete, and its neighbour is complete."""
    number, struck = 0, ["begin"]
    while struck:
        with Recorder(tmp_path / str(number), DECLARED, policy=MANUAL) as recorder:
            unwanted, other = GivingRecorder(recorder), GivingRecorder(recorder)
            _give(unwanted, rows)
            _give(other, rows)
            with interrupt_at(number) as struck:
                try:
                    unwanted.episode.discard()
                except KeyboardInterrupt:
                    assert struck
            _give(other, 5)
            other.end(EpisodeEnd.TERMINATED)
        unwanted.given.ending = EpisodeEnd.INTERRUPTED
        dataset = rlds_kit.open(tmp_path / str(number))
        assert_whole(dataset, [other.given] if len(dataset.episodes) == 1 else [unwanted.given, other.given])
        assert struck or len(dataset.episodes) == 1
        number += 1
    assert number > 5


@pytest.mark.parametrize("ending", [EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED])
@pytest.mark.parametrize(
    "flags", [{}, {"terminated": True}, {"truncated": True}, {"terminated": True, "truncated": True}]
)
def test_flags_follow_from_the_ending_and_from_what_was_given(
    tmp_path: Path, ending: EpisodeEnd, flags: dict[str, Any]
) -> None:
    """A TRUNCATED episode has the flag `truncated` by default, and `terminated` only if it was passed."""
    with Recorder(tmp_path / "d", specs.Dict({})) as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 1})
        episode.end(ending, **flags)
    (found,) = rlds_kit.open(tmp_path / "d").episodes
    assert found.truncated == (ending is EpisodeEnd.TRUNCATED or "truncated" in flags)
    assert found.terminated == (ending is EpisodeEnd.TERMINATED or "terminated" in flags)

"""Recorders that were not closed are closed at exit, on SIGTERM, on collection; but never by a forked child."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import gymnasium
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd, logger

CHECKOUT = Path(__file__).parents[2]
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="signals and fork are POSIX")

# One recorder with an open episode of three rows, all of them flushed; then whatever a test adds.
OPEN = """
    import gc, os, signal, sys, threading, time
    import gymnasium
    from rlds_kit import RecordingError, logger

    directory = sys.argv[1]
    env = logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), directory)
    env.reset(seed=1)
    env.step(0)
    env.step(1)
"""


def _run(directory: Path, code: str, *, before: str = OPEN) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    program = textwrap.dedent(before) + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", program, str(directory)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _kept(directory: Path) -> list[tuple[int, EpisodeEnd | None]]:
    return [(episode.length, episode.end) for episode in rlds_kit.open(directory).episodes]


WHOLE = [(3, EpisodeEnd.INTERRUPTED)]


def test_recorder_that_is_open_at_exit_is_closed(tmp_path: Path) -> None:
    """Nothing need be called, and nothing is complained of."""
    done = _run(tmp_path, "")
    assert (done.returncode, done.stderr) == (0, "")
    assert _kept(tmp_path) == WHOLE


@pytest.mark.parametrize("leave", ["sys.exit(3)", "raise RuntimeError('bug')"])
def test_recorder_is_closed_when_the_program_fails(tmp_path: Path, leave: str) -> None:
    """The exit code is the program's own."""
    done = _run(tmp_path, leave)
    assert done.returncode == (3 if "exit" in leave else 1)
    assert _kept(tmp_path) == WHOLE


@posix_only
def test_sigterm_keeps_everything_and_exits_with_143(tmp_path: Path) -> None:
    """What a scheduler of a cluster sends before it kills."""
    done = _run(tmp_path, "os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)")
    assert (done.returncode, done.stderr) == (143, "")
    assert _kept(tmp_path) == WHOLE


@posix_only
def test_sigterm_runs_finally_blocks(tmp_path: Path) -> None:
    """It is a SystemExit in the main thread."""
    code = """
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)
    finally:
        print("tidied up")
    """
    done = _run(tmp_path, code)
    assert (done.returncode, done.stdout) == (143, "tidied up\n")


@posix_only
def test_handler_of_the_program_is_not_touched(tmp_path: Path) -> None:
    """Neither while a recorder is open nor afterwards."""
    before = """
    import signal
    handler = lambda *_: print("mine")
    signal.signal(signal.SIGTERM, handler)
    """
    code = """
    assert signal.getsignal(signal.SIGTERM) is handler
    os.kill(os.getpid(), signal.SIGTERM)
    env.close()
    assert signal.getsignal(signal.SIGTERM) is handler
    """
    done = _run(tmp_path, code, before=before + OPEN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\n", "")


@posix_only
def test_handler_that_came_later_stays(tmp_path: Path) -> None:
    """Closing gives back only what was ours."""
    code = """
    handler = lambda *_: None
    signal.signal(signal.SIGTERM, handler)
    env.close()
    assert signal.getsignal(signal.SIGTERM) is handler
    """
    assert _run(tmp_path, code).stderr == ""


@posix_only
def test_ignored_sigterm_stays_ignored(tmp_path: Path) -> None:
    before = "\n    import signal\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    code = "assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN"
    assert _run(tmp_path, code, before=before + OPEN).stderr == ""


@posix_only
def test_default_is_back_after_the_last_close(tmp_path: Path) -> None:
    """With two recorders, not before the second one; and import alone changes nothing."""
    before = """
    import signal
    import rlds_kit.logger
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    """
    code = """
    other = logger.EpisodeWriter(directory)
    env.close()
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    other.close()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    """
    assert _run(tmp_path, code.replace("(directory)", "(directory + '-2')"), before=before + OPEN).stderr == ""


@posix_only
def test_recorder_of_another_thread_takes_no_signal(tmp_path: Path) -> None:
    """Only the main thread may, and a library does not reach into it."""
    before = """
    import signal, sys, threading
    import gymnasium
    from rlds_kit import logger

    def record():
        with logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), sys.argv[1]) as env:
            env.reset()
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    thread = threading.Thread(target=record)
    thread.start()
    thread.join()
    """
    assert _run(tmp_path, "", before=before).stderr == ""
    assert _kept(tmp_path) == [(1, EpisodeEnd.INTERRUPTED)]


@posix_only
def test_handler_left_behind_does_what_would_have_happened_without_us(tmp_path: Path) -> None:
    """When the last recorder closes in another thread, the default cannot be put back, but it is obeyed."""
    code = """
    thread = threading.Thread(target=env.close)
    thread.start()
    thread.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
    """
    assert _run(tmp_path, code).returncode == -signal.SIGTERM


@posix_only
def test_ctrl_c_while_closing_loses_nothing(tmp_path: Path) -> None:
    """The end of the process continues an interrupted close."""
    before = """
    import os, signal, sys, threading
    import gymnasium, numpy as np
    from rlds_kit import logger

    class Noise(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 255, (500, 500, 3), np.uint8)
        action_space = gymnasium.spaces.Discrete(2)
        def reset(self, **_):
            return self.np_random.integers(0, 256, (500, 500, 3), np.uint8), {}
        def step(self, action):
            return self.np_random.integers(0, 256, (500, 500, 3), np.uint8), 0.0, False, False, {}

    env = logger.GymnasiumLogger(Noise(), sys.argv[1], policy=logger.FlushPolicy.manual(), memory_limit=1 << 30)
    env.reset()
    for _ in range(200):
        env.step(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
    threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
    """
    done = _run(tmp_path, "env.close()", before=before)
    assert done.returncode == -signal.SIGINT
    assert _kept(tmp_path) == [(201, EpisodeEnd.INTERRUPTED)]


FORK = """
    import hashlib, pathlib

    def fingerprint():
        files = sorted(path for path in pathlib.Path(directory).rglob("*") if path.is_file())
        return [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]

    def in_child(work):
        env.recorder.flush()
        before = fingerprint()
        child = os.fork()
        if child == 0:
            work()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert fingerprint() == before, "the child wrote into the parent's files"
        return status
"""


@posix_only
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("work", "status"),
    [
        ("sys.exit(5)", 5),
        ("os._exit(6)", 6),
        ("(env.close(), sys.exit(7))", 7),
        ("(globals().pop('env'), gc.collect(), sys.exit(8))", 8),
        ("(os.kill(os.getpid(), signal.SIGTERM), time.sleep(30))", -15),
    ],
    ids=["exits", "exits at once", "closes", "collects", "is terminated"],
)
def test_forked_child_leaves_the_files_alone(tmp_path: Path, work: str, status: int) -> None:
    """However the child ends, the parent continues and loses nothing."""
    code = f"""
    assert in_child(lambda: {work}) == {status}
    env.step(0)
    env.close()
    """
    done = _run(tmp_path, code, before=OPEN + FORK)
    assert (done.returncode, done.stderr) == (0, "")
    assert _kept(tmp_path) == [(4, EpisodeEnd.INTERRUPTED)]


@posix_only
def test_recorder_used_in_a_forked_child_is_an_error(tmp_path: Path) -> None:
    """The error names the process that owns the recorder and explains what to do; the environment is not stepped."""
    code = """
    def work():
        for use in (lambda: env.step(0), lambda: env.reset(), lambda: env.recorder.flush()):
            try:
                use()
            except RecordingError as error:
                assert f"belongs to process {os.getppid()}" in str(error), error
            else:
                os._exit(1)
        os._exit(0)

    assert in_child(work) == 0
    """
    assert _run(tmp_path, code, before=OPEN + FORK).stderr == ""
    assert _kept(tmp_path) == WHOLE


@posix_only
def test_forked_child_may_record_for_itself(tmp_path: Path) -> None:
    """Into the same directory at once; SIGTERM then closes its own recorder and exits with 143."""
    code = """
    def work():
        mine = logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), directory)
        mine.reset(seed=2)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)

    child = os.fork()
    if child == 0:
        work()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 143
    env.close()
    """
    assert _run(tmp_path, code).stderr == ""
    assert sorted(_kept(tmp_path)) == sorted([(1, EpisodeEnd.INTERRUPTED), *WHOLE])


def _record(directory: Path) -> logger.GymnasiumLogger:
    env = logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), directory)
    env.reset(seed=1)
    env.step(0)
    env.step(1)
    return env


def test_collected_logger_is_closed_with_a_warning(tmp_path: Path) -> None:
    """When that happens is left to chance, hence the ResourceWarning; the data is whole."""
    env = _record(tmp_path)
    holder = [env]
    del env
    with pytest.warns(ResourceWarning, match=r"GymnasiumLogger\(.*\): was not closed; use `with` or call close"):
        holder.clear()
    assert _kept(tmp_path) == WHOLE


def test_collection_in_a_thread_of_the_core_does_not_wait_for_itself(tmp_path: Path) -> None:
    """The collector runs in whatever thread happens to allocate, the recorder's own included."""
    holder = [_record(tmp_path)]
    thread = threading.Thread(target=holder.clear, name="rlds_kit writer")
    with pytest.warns(ResourceWarning, match="was not closed"):
        _finish(thread)
    for other in threading.enumerate():
        if other.name == "rlds_kit close":
            other.join()
    assert _kept(tmp_path) == WHOLE


def _finish(thread: threading.Thread) -> None:
    thread.start()
    thread.join()


def test_close_gives_no_warning(tmp_path: Path) -> None:
    env = _record(tmp_path)
    env.close()
    del env
    gc.collect()
    assert _kept(tmp_path) == WHOLE


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to send")
def test_signal_that_arrives_between_two_steps_of_a_with_block_keeps_them(tmp_path: Path) -> None:
    """A program that is terminated at an arbitrary moment while it steps leaves only complete rows."""
    code = """
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
    with env:
        while True:
            *_, terminated, truncated, _ = env.step(0)
            if terminated or truncated:
                env.reset()
    """
    done = _run(tmp_path, code)
    assert (done.returncode, done.stderr) == (143, "")
    ends = [end for _, end in _kept(tmp_path)]
    assert len(ends) > 2
    assert set(ends[:-1]) == {EpisodeEnd.TERMINATED}
    for episode in rlds_kit.open(tmp_path).episodes:
        assert episode.mask("observation").all()
        assert episode.mask("action").tolist() == [True] * (episode.length - 1) + [False]

"""`rlds-kit record` plays and records."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.logger.command import record

CHECKOUT = Path(__file__).parents[2]


def _record(*arguments: str | Path) -> Result:
    return CliRunner().invoke(record, [str(argument) for argument in arguments])


def test_episodes_are_counted(tmp_path: Path) -> None:
    """Complete episodes; the message has their number and the directory."""
    done = _record("CartPole-v1", tmp_path, "--episodes", "3", "--seed", "1")
    episodes = rlds_kit.open(tmp_path).episodes
    steps = sum(episode.length - 1 for episode in episodes)
    assert done.exit_code == 0, done.output
    assert [episode.end for episode in episodes] == [EpisodeEnd.TERMINATED] * 3
    assert f"3 whole episodes, {steps} actions, mean return {steps / 3:.4g}." in done.output


def test_ten_episodes_are_the_default(tmp_path: Path) -> None:
    """Without a limit of episodes or steps."""
    _record("CartPole-v1", tmp_path)
    assert len(rlds_kit.open(tmp_path).episodes) == 10


def test_steps_are_counted_and_cut_the_last_episode(tmp_path: Path) -> None:
    """Which is interrupted then, for nothing ended it."""
    assert _record("CartPole-v1", tmp_path, "--steps", "100").exit_code == 0
    episodes = rlds_kit.open(tmp_path).episodes
    assert sum(episode.length - 1 for episode in episodes) == 100
    assert episodes[-1].end in {EpisodeEnd.INTERRUPTED, EpisodeEnd.TERMINATED}


def test_seed_repeats_a_recording(tmp_path: Path) -> None:
    """Environment and random policy alike."""
    for name in ("one", "two"):
        _record("CartPole-v1", tmp_path / name, "--episodes", "2", "--seed", "5")
    one, two = (rlds_kit.open(tmp_path / name).episodes for name in ("one", "two"))
    for left, right in zip(one, two, strict=True):
        np.testing.assert_array_equal(left["observation"], right["observation"])
        np.testing.assert_array_equal(left["action"], right["action"])


def test_keyword_arguments_reach_the_environment(tmp_path: Path) -> None:
    """Python literals as such, the rest as text; and --max-steps truncates."""
    done = _record("Pendulum-v1", tmp_path, "--episodes", "1", "--max-steps", "7", "--kwargs", "g=3.5")
    dataset = rlds_kit.open(tmp_path)
    assert done.exit_code == 0, done.output
    assert dataset.environment["kwargs"]["g"] == 3.5
    assert (dataset.episodes[0].length, dataset.episodes[0].end) == (8, EpisodeEnd.TRUNCATED)


def test_policy_is_found_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of observation and action space."""
    (tmp_path / "my_policy.py").write_text("def left(observation, space):\n    return space.start\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    done = _record("CartPole-v1", "data", "--episodes", "1", "--policy", "my_policy:left")
    assert done.exit_code == 0, done.output
    dataset = rlds_kit.open("data")
    assert set(dataset.episodes[0]["action"].tolist()) == {0}
    assert dataset.metadata["policy"] == "my_policy:left"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["NoSuchThing-v0", "data"], "NoSuchThing"),
        (["CartPole-v1", "data", "--policy", "nothing"], "expected random or module:function, got 'nothing'"),
        (["CartPole-v1", "data", "--policy", "no_such_module:act"], "No module named 'no_such_module'"),
        (["CartPole-v1", "data", "--policy", "json:no_such_function"], "no_such_function"),
        (["CartPole-v1", "data", "--kwargs", "novalue"], "expected KEY=VALUE, got 'novalue'"),
        (["CartPole-v1", "data", "--episodes", "0"], "0 is not in the range"),
    ],
)
def test_bad_arguments_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    """Without a traceback, and without a dataset."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    done = _record(*arguments)
    assert done.exit_code in {1, 2}
    assert message in done.output
    assert not (tmp_path / "data").exists()


def test_dataset_that_is_there_is_respected(tmp_path: Path) -> None:
    """--mode error refuses, append adds."""
    _record("CartPole-v1", tmp_path, "--episodes", "1")
    refused = _record("CartPole-v1", tmp_path, "--episodes", "1", "--mode", "error")
    assert (refused.exit_code, "holds a dataset" in refused.output) == (1, True)
    _record("CartPole-v1", tmp_path, "--episodes", "1")
    assert len(rlds_kit.open(tmp_path).episodes) == 2


def test_incompatible_dataset_is_refused(tmp_path: Path) -> None:
    """With the field that differs."""
    _record("CartPole-v1", tmp_path, "--episodes", "1")
    refused = _record("Pendulum-v1", tmp_path, "--episodes", "1")
    assert refused.exit_code == 1
    assert "observation" in refused.output


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to one process")
def test_ctrl_c_keeps_everything_and_says_so(tmp_path: Path) -> None:
    """The exit code is 130, and the numbers are those of the data."""
    program = "from rlds_kit.logger.command import record; record()"
    command = [sys.executable, "-c", program, "CartPole-v1", str(tmp_path), "--episodes", "1000000"]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.glob("*.riegeli")):
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    episodes = rlds_kit.open(tmp_path).episodes
    whole = sum(episode.end is EpisodeEnd.TERMINATED for episode in episodes)
    steps = sum(episode.length - 1 for episode in episodes)
    assert process.returncode == 130
    assert f"{whole:,} whole episodes, {steps:,} actions" in said
    assert steps > 0


def test_atari_is_registered(tmp_path: Path) -> None:
    """An id of ALE needs no import by the user."""
    pytest.importorskip("ale_py", reason="needs the extra `atari`")
    done = _record("ALE/Pong-v5", tmp_path, "--steps", "5")
    assert done.exit_code == 0, done.output
    assert rlds_kit.open(tmp_path).episodes[0]["observation"].shape == (6, 210, 160, 3)


def test_the_id_of_a_game_without_its_namespace_is_named_with_it(tmp_path: Path) -> None:
    """Before and after ale-py has registered its games, which include an older Pong without a namespace."""
    pytest.importorskip("ale_py", reason="needs the extra `atari`")
    for _ in range(2):
        done = _record("Pong-v5", tmp_path, "--steps", "5")
        assert done.exit_code == 1
        assert "'Pong-v5'; use ALE/Pong-v5" in done.output
    assert "Did you mean" in _record("CartPol-v1", tmp_path, "--steps", "5").output

"""Loggers where people do put them: in child processes, around other people's wrappers, in planners."""

import copy
import multiprocessing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import rlds_kit
from rlds_kit import logger

_kept: list[logger.GymnasiumLogger] = []


def _record_and_leave(directory: str) -> None:
    env = logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), directory)
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.sample())
    _kept.append(env)


@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=pytest.mark.filterwarnings("ignore"))])
def test_a_child_process_that_forgets_to_close_loses_nothing(tmp_path: Path, method: str) -> None:
    """Children of multiprocessing end without atexit; their loggers are closed all the same."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    child: Any = multiprocessing.get_context(method)  # a context of either kind has Process, their base has not
    child = child.Process(target=_record_and_leave, args=(str(tmp_path),))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert rlds_kit.open(tmp_path).episodes[0].length == 6


def test_statistics_of_an_episode_stay_with_it(tmp_path: Path) -> None:
    """With SAME_STEP the info of the next episode's reset stands beside them."""
    inner = SyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1", max_episode_steps=4)] * 2, autoreset_mode=AutoresetMode.SAME_STEP
    )
    with logger.VectorLogger(RecordEpisodeStatistics(inner), tmp_path) as envs:
        envs.reset(seed=0)
        for _ in range(6):
            envs.step(np.array([0, 1]))
    ended = [one for one in rlds_kit.open(tmp_path).episodes if one.end is not rlds_kit.EpisodeEnd.INTERRUPTED]
    assert [one.steps[-1]["info"]["episode"]["l"] for one in ended] == [4, 4]
    assert all("episode" not in step["info"] for one in ended for step in one.steps[:-1])


def test_a_logger_says_why_it_cannot_be_copied(tmp_path: Path) -> None:
    """The error for a planner that copies environments recommends to copy the wrapped one."""
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path) as env:
        env.reset(seed=0)
        with pytest.raises(TypeError, match="copy the environment beneath it"):
            copy.deepcopy(env)
        assert copy.deepcopy(env.env) is not env.env

"""`PettingZooLogger` records several agents without any effect on the caller."""

import doctest
import importlib
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from mpe2 import simple_spread_v3
from pettingzoo import ParallelEnv, make
from pettingzoo.utils.conversions import aec_to_parallel

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError, SpecError, logger
from rlds_kit.tools.upkeep.verify import verify

CHECKOUT = Path(__file__).parents[2]
MODULES = ("agents_recording", "aec_logger", "parallel_logger", "pettingzoo_logger")
PARALLEL: dict[str, Callable[[], Any]] = {
    "rps": lambda: make("parallel", "classic/rps-v2", max_cycles=5),
    "pursuit": lambda: make("parallel", "sisl/pursuit-v5", max_cycles=6, n_pursuers=3),
    "spread": lambda: simple_spread_v3.parallel_env(max_cycles=6),
    "knights": lambda: make("parallel", "butterfly/knights_archers_zombies-v11", max_cycles=200),
}
AEC: dict[str, Callable[[], Any]] = {
    "rps": lambda: make("aec", "classic/rps-v2", max_cycles=5),
    "tictactoe": lambda: make("aec", "classic/tictactoe-v3"),
    "connect_four": lambda: make("aec", "classic/connect_four-v3"),
    "spread": lambda: simple_spread_v3.env(max_cycles=6),
    "knights": lambda: make("aec", "butterfly/knights_archers_zombies-v11", max_cycles=200),
}


class Visitors(ParallelEnv[Any, Any, Any]):
    """A script names the agents that are present in each step; one that leaves terminates, or is truncated."""

    metadata = {"name": "visitors"}  # noqa: RUF012  as PettingZoo has it
    possible_agents: list[Any] = ["ann", "bob", "eve"]  # noqa: RUF012  as PettingZoo has it

    def __init__(self, *present: tuple[Any, ...], truncated: tuple[Any, ...] = ()) -> None:
        self._present, self._truncated, self._at = present, truncated, 0
        self.agents: list[Any] = []
        self.got: list[Any] = []

    def observation_space(self, agent: Any) -> spaces.Box:
        return spaces.Box(0, 100, (2,), np.float32)

    def action_space(self, agent: Any) -> spaces.Discrete:
        return spaces.Discrete(3)

    def state(self) -> np.ndarray:
        return np.full(3, self._at, np.float32)

    def _seen(self, agents: Any) -> dict[Any, np.ndarray]:
        return {agent: np.full(2, self._at, np.float32) for agent in agents}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._at, self.agents = 0, list(self._present[0])
        self.got.append((seed, options))
        return self._seen(self.agents), {agent: {} for agent in self.agents}

    def step(self, actions: dict[Any, Any]) -> Any:
        before, self._at = self.agents, self._at + 1
        self.agents = list(self._present[self._at])
        known = list(dict.fromkeys((*before, *self.agents)))
        gone = {agent: agent not in self.agents for agent in known}
        terminated = {agent: gone[agent] and agent not in self._truncated for agent in known}
        truncated = {agent: gone[agent] and agent in self._truncated for agent in known}
        infos = {agent: {"at": self._at} for agent in known}
        return self._seen(known), {agent: float(self._at) for agent in known}, terminated, truncated, infos


def _only(directory: Path) -> rlds_kit.Episode:
    (episode,) = rlds_kit.open(directory).episodes
    return episode


def play_parallel(env: Any, seed: int = 3) -> list[Any]:
    """Plays an episode at random; returns everything that went in and came out."""
    log: list[Any] = [env.reset(seed=seed)]
    choose = np.random.default_rng(0)
    while env.agents:
        actions = {agent: int(choose.integers(env.action_space(agent).n)) for agent in env.agents}
        log.append((actions, *env.step(actions)))
    return log


def play_turns(env: Any, seed: int = 3, *, leave: bool = True) -> list[Any]:
    """Plays an episode in turns at random; returns everything that was seen, done and given."""
    env.reset(seed=seed)
    log, choose = [], np.random.default_rng(0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        action = None
        if not (terminated or truncated):
            mask = observation["action_mask"] if isinstance(observation, dict) else np.ones(env.action_space(agent).n)
            action = int(choose.choice(np.flatnonzero(mask)))
        elif not leave:
            break
        env.step(action)
        after = dict(env.rewards), dict(env.terminations), dict(env.truncations)
        log.append((agent, observation, reward, terminated, truncated, dict(info), action, *after))
    return log


def _same(one: Any, other: Any) -> None:
    np.testing.assert_equal(one, other)


@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_caller_sees_what_it_would_see_without(tmp_path: Path, name: str) -> None:
    """The same seed gives the same episode, bit for bit, logged or not."""
    plain = play_parallel(PARALLEL[name]())
    with logger.PettingZooLogger(PARALLEL[name](), tmp_path) as env:
        _same(play_parallel(env), plain)


@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_steps_are_recorded_as_emitted(tmp_path: Path, name: str) -> None:
    """Every dict by agent is read back with its agents and their values."""
    with logger.PettingZooLogger(PARALLEL[name](), tmp_path) as env:
        (first, infos), *rest = play_parallel(env)
    episode = _only(tmp_path)
    steps = list(episode.steps)
    assert episode.length == len(rest) + 1
    _same((steps[0]["observation"], steps[0]["info"]), (first, infos))
    for step, following, (actions, seen, rewards, terminated, truncated, known) in zip(
        steps, steps[1:], rest, strict=False
    ):
        _same((step["action"], step["reward"]), (actions, rewards))
        _same((step["terminated"], step["truncated"]), (terminated, truncated))
        _same((following["observation"], following["info"]), (seen, known))


@pytest.mark.parametrize("name", AEC)
def test_turns_are_what_they_would_be_without(tmp_path: Path, name: str) -> None:
    """`agent_iter`, `last` and `rewards` are those of the environment."""
    plain = play_turns(AEC[name]())
    with logger.PettingZooLogger(AEC[name](), tmp_path) as env:
        _same(play_turns(env), plain)


@pytest.mark.parametrize("name", AEC)
def test_every_turn_is_recorded_as_played(tmp_path: Path, name: str) -> None:
    """One row a turn, those of agents that leave included."""
    with logger.PettingZooLogger(AEC[name](), tmp_path) as env:
        turns = play_turns(env)
    episode = _only(tmp_path)
    assert episode.length == len(turns)
    assert episode.end in {EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED}
    rows = list(episode.steps)
    for row, (agent, seen, reward, _, _, info, action, rewards, terminated, truncated) in zip(rows, turns, strict=True):
        assert row["agent_selection"] == agent
        _same((row["observation"], row["cumulative_reward"], row["info"][agent]), ({agent: seen}, reward, info))
        if row is not rows[-1]:
            assert row["action"] == ({} if action is None else {agent: action})
            _same((row["reward"], row["terminated"], row["truncated"]), (rewards, terminated, truncated))
    for agent in {turn[0] for turn in turns}:
        assert episode.mask(f"action/{agent}").tolist() == [turn[0] == agent and turn[6] is not None for turn in turns]
    assert verify(tmp_path).ok


def test_turns_of_agents_that_leave_need_not_be_played(tmp_path: Path) -> None:
    """A caller that starts the next game as soon as this one is over has not interrupted it."""
    with logger.PettingZooLogger(make("aec", "classic/tictactoe-v3"), tmp_path) as env:
        turns = play_turns(env, leave=False)
        env.reset()
    first, second = rlds_kit.open(tmp_path).episodes
    assert (first.length, first.end, first.terminated) == (len(turns) + 1, EpisodeEnd.TERMINATED, True)
    assert (second.length, second.end) == (1, EpisodeEnd.INTERRUPTED)
    assert verify(tmp_path).ok


@pytest.mark.parametrize(
    ("truncated", "end", "flags"),
    [
        ((), EpisodeEnd.TERMINATED, (True, False)),
        (("bob",), EpisodeEnd.TRUNCATED, (False, True)),
        (("ann", "bob"), EpisodeEnd.TRUNCATED, (False, True)),
        (("eve",), EpisodeEnd.TERMINATED, (True, False)),  # agents that had left before
    ],
)
def test_end_is_that_of_the_agents_at_the_end(
    tmp_path: Path, truncated: tuple[str, ...], end: EpisodeEnd, flags: tuple[bool, bool]
) -> None:
    """TERMINATED if all of them terminated, TRUNCATED if one was cut off."""
    script = Visitors(("ann", "bob", "eve"), ("ann", "bob"), ("ann", "bob"), (), truncated=truncated)
    with logger.PettingZooLogger(script, tmp_path) as env:
        play_parallel(env)
    episode = _only(tmp_path)
    assert (episode.end, (episode.terminated, episode.truncated)) == (end, flags)


def test_agents_that_come_and_go_are_present_where_they_were(tmp_path: Path) -> None:
    """Presence is recorded by agent, for observations and for actions."""
    with logger.PettingZooLogger(Visitors(("ann",), ("ann", "bob"), ("bob",), ("bob", "ann"), ()), tmp_path) as env:
        play_parallel(env)
    episode = _only(tmp_path)
    assert episode.mask("observation/ann").tolist() == [True, True, True, True, True]
    assert episode.mask("observation/bob").tolist() == [False, True, True, True, True]
    assert episode.mask("action/ann").tolist() == [True, True, False, True, False]
    assert episode.mask("action/bob").tolist() == [False, True, True, True, False]
    assert not episode.mask("observation/eve").any()
    assert verify(tmp_path).ok


def test_agents_need_not_be_text_nor_be_known_before(tmp_path: Path) -> None:
    """Other names are recorded as they are written; without `possible_agents` nothing is declared."""

    class Numbered(Visitors):
        possible_agents: list[Any] = property(lambda self: self.nothing)  # type: ignore[assignment]  # raises

    with logger.PettingZooLogger(Numbered((0, ("a", 1)), (0,), ()), tmp_path) as env:
        play_parallel(env)
    assert sorted(_only(tmp_path)["observation"]) == ["('a', 1)", "0"]


def test_two_agents_of_one_name_are_refused(tmp_path: Path) -> None:
    """They could not be distinguished."""

    class Twins(Visitors):
        possible_agents: list[Any] = [1, "1"]  # noqa: RUF012  as PettingZoo has it

    with pytest.raises(SpecError, match="both be recorded as '1'"):
        logger.PettingZooLogger(Twins(()), tmp_path)


def test_seeds_and_options_are_recorded_and_drawn_ones_passed_on(tmp_path: Path) -> None:
    """As `GymnasiumLogger` does."""
    script = Visitors(("ann",), ())
    with logger.PettingZooLogger(script, tmp_path, draw_seeds=True) as env:
        env.reset(seed=7, options={"level": 2})
        env.reset()
    first, second = rlds_kit.open(tmp_path).episodes
    assert (first.seed, first.options) == (7, {"level": 2})
    assert script.got == [(7, {"level": 2}), (second.seed, None)]
    assert second.seed is not None
    with logger.PettingZooLogger(script, tmp_path) as env:
        env.reset()
    assert script.got[-1] == (None, None)


def test_state_is_recorded_on_request_and_infos_by_default(tmp_path: Path) -> None:
    """The state is the one that belongs to the row's observations."""
    with logger.PettingZooLogger(
        Visitors(("ann",), ("ann",), ()), tmp_path, record_state=True, record_info=False
    ) as env:
        play_parallel(env)
    episode = _only(tmp_path)
    assert episode["state"].tolist() == [[0.0] * 3, [1.0] * 3, [2.0] * 3]
    assert "info" not in episode.fields


def test_callbacks_and_schedulers_work_as_for_one_agent(tmp_path: Path) -> None:
    """Also if the last turns are not played, the last row is recorded."""
    seen: list[bool] = []

    def step_fn(step: logger.GymnasiumTimeStep, action: Any, env: Any) -> dict[str, Any]:
        seen.append(step.last())
        return {"moved": action is not None}

    with logger.PettingZooLogger(
        make("aec", "classic/tictactoe-v3"),
        tmp_path,
        step_fn=step_fn,
        scheduler=logger.NStepScheduler(100),
    ) as env:
        turns = play_turns(env, leave=False)
    episode = _only(tmp_path)
    assert seen == [False] * len(turns) + [True]
    assert episode["step_index"].tolist() == [0, len(turns)]
    assert (episode["moved"].tolist(), episode.end) == ([False, True], EpisodeEnd.TERMINATED)


def test_step_fn_cannot_take_our_names(tmp_path: Path) -> None:
    """It would overwrite a field."""
    env = logger.PettingZooLogger(Visitors(("ann",), ()), tmp_path, step_fn=lambda *_: {"state": 1})
    with env, pytest.raises(SpecError, match="'state' is taken"):
        env.reset()


def test_error_of_the_environment_keeps_what_was_given(tmp_path: Path) -> None:
    script = Visitors(("ann",), ("ann",), ("ann",), ())
    with logger.PettingZooLogger(script, tmp_path) as env:
        env.reset()
        env.step({"ann": 1})
        script.step = lambda actions: 1 / 0  # type: ignore[method-assign]  # breaks
        with pytest.raises(ZeroDivisionError):
            env.step({"ann": 1})
    episode = _only(tmp_path)
    assert (episode.length, episode.end) == (2, EpisodeEnd.INTERRUPTED)


def test_observation_that_does_not_fit_names_its_agent(tmp_path: Path) -> None:
    """Earlier rows are recorded."""
    script = Visitors(("ann",), ("ann",), ())
    with logger.PettingZooLogger(script, tmp_path, strict=True) as env:
        env.reset()
        script._seen = lambda agents: {"ann": np.zeros(5)}  # type: ignore[method-assign]  # does not fit
        with pytest.raises(SpecError, match="observation/ann: expected float32"):
            env.step({"ann": 1})
    assert _only(tmp_path).length == 1


def test_killed_recording_keeps_every_turn(tmp_path: Path) -> None:
    """After `kill -9` all durable rows exist, and the episode is INCOMPLETE."""
    program = f"""if True:
        import os, signal, pettingzoo
        from rlds_kit import logger
        made = pettingzoo.make("aec", "classic/rps-v2")
        env = logger.PettingZooLogger(made, {str(tmp_path)!r}, policy=logger.FlushPolicy.every_step())
        env.reset(seed=1)
        for action in (0, 1, 2):
            env.step(action)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    episode = _only(tmp_path)
    assert (episode.length, episode.end) == (4, EpisodeEnd.INCOMPLETE)
    assert episode["agent_selection"].tolist() == ["player_0", "player_1", "player_0", "player_1"]
    assert episode["action/player_0"].tolist() == [0, 0, 2, 0]


def test_nothing_is_stepped_after_close_nor_recorded_after_the_end(tmp_path: Path) -> None:
    """As with the other loggers."""
    script = Visitors(("ann",), (), ())
    env = logger.PettingZooLogger(script, tmp_path)
    play_parallel(env)
    with pytest.warns(UserWarning, match="outside an episode") as seen:
        env.step({})
    assert seen[0].filename == __file__
    env.close()
    with pytest.raises(RecordingError, match="the recorder is closed"):
        env.reset()
    assert _only(tmp_path).length == 2


def test_action_outside_its_space_is_recorded_and_warned_of(tmp_path: Path) -> None:
    """What the agent did is data."""
    with logger.PettingZooLogger(Visitors(("ann",), ("ann",), ()), tmp_path) as env:
        env.reset()
        with pytest.warns(UserWarning, match=r"action/ann: 8 is outside \[0, 2\]"):
            env.step({"ann": 8})
    assert _only(tmp_path)["action/ann"].tolist() == [8, 0]


def test_neither_kind_of_environment_is_an_error(tmp_path: Path) -> None:
    """It says what was expected."""
    with pytest.raises(TypeError, match=r"expected a pettingzoo.ParallelEnv or a pettingzoo.AECEnv, got object"):
        logger.PettingZooLogger(object(), tmp_path)  # type: ignore[call-overload]  # wrong on purpose


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")  # the checkers', of the games
@pytest.mark.parametrize("name", ["tictactoe", "connect_four"])
def test_checker_of_pettingzoo_accepts_the_logger_in_turns(tmp_path: Path, name: str) -> None:
    """It is an `AECEnv` like any other."""
    from pettingzoo.test.api_test import api_test

    with logger.PettingZooLogger(AEC[name](), tmp_path) as env:
        api_test(env, num_cycles=30)  # type: ignore[no-untyped-call]  # PettingZoo's
    assert len(rlds_kit.open(tmp_path).episodes) > 1


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["pursuit", "spread"])
def test_checker_of_pettingzoo_accepts_the_logger_at_once(tmp_path: Path, name: str) -> None:
    """It is a `ParallelEnv` like any other."""
    from pettingzoo.test.parallel_test import parallel_api_test

    with logger.PettingZooLogger(PARALLEL[name](), tmp_path) as env:
        parallel_api_test(env, num_cycles=30)
    assert len(rlds_kit.open(tmp_path).episodes) > 1


def test_logger_works_inside_a_conversion(tmp_path: Path) -> None:
    """What acts in turn is recorded when it is driven as if all acted at once."""
    with logger.PettingZooLogger(make("aec", "classic/rps-v2", max_cycles=5), tmp_path) as env:
        plain = play_parallel(aec_to_parallel(make("aec", "classic/rps-v2", max_cycles=5)))
        _same(play_parallel(aec_to_parallel(env)), plain)
    assert _only(tmp_path).end is EpisodeEnd.TRUNCATED


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    result = doctest.testmod(importlib.import_module(f"rlds_kit.logger.{name}"))
    assert (result.failed, result.attempted > 0) == (0, True)

"""Steps and transitions of one agent, and of all, are what the environment emitted."""

from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces

import rlds_kit
from rlds_kit import logger
from rlds_kit.episode.multi_agent import agent_episode, agent_transitions, agents_of, joint_transitions

PARALLEL = {
    "rps": ("classic/rps-v2", 5),
    "pursuit": ("sisl/pursuit-v5", 6),
    "knights": ("butterfly/knights_archers_zombies-v11", 200),
}
AEC = {
    "rps": ("classic/rps-v2", 5),
    "tictactoe": ("classic/tictactoe-v3", None),
    "connect_four": ("classic/connect_four-v3", None),
    "knights": ("butterfly/knights_archers_zombies-v11", 200),
}


class Visitors(pettingzoo.ParallelEnv[Any, Any, Any]):
    """A script names the agents that are present in each step. Those in `silent` get no observation when they leave."""

    metadata = {"name": "visitors"}  # noqa: RUF012  as PettingZoo has it
    possible_agents = ["ann", "bob"]  # noqa: RUF012  as PettingZoo has it

    def __init__(
        self, *present: tuple[str, ...], silent: tuple[str, ...] = (), truncated: tuple[str, ...] = ()
    ) -> None:
        self._present, self._silent, self._truncated, self._at = present, silent, truncated, 0
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Box:
        return spaces.Box(0, 100, (1,), np.float32)

    def action_space(self, agent: str) -> spaces.Discrete:
        return spaces.Discrete(100)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._at, self.agents = 0, list(self._present[0])
        return {agent: np.zeros(1, np.float32) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> Any:
        before, self._at = self.agents, self._at + 1
        self.agents = list(self._present[self._at])
        seeing = dict.fromkeys((*(agent for agent in before if agent not in self._silent), *self.agents))
        gone = {agent: agent not in self.agents for agent in before}
        return (
            {agent: np.full(1, self._at, np.float32) for agent in seeing},
            {agent: float(self._at) for agent in before},
            {agent: gone[agent] and agent not in self._truncated for agent in before},
            {agent: gone[agent] and agent in self._truncated for agent in before},
            {agent: {} for agent in seeing},
        )


def _only(directory: Path) -> rlds_kit.Episode:
    (episode,) = rlds_kit.open(directory).episodes
    return episode


def _visit(directory: Path, script: Visitors, steps: int | None = None) -> rlds_kit.Episode:
    """Plays a script, or so many steps of it; the action is the number of the step."""
    with logger.PettingZooLogger(script, directory, record_info=False) as env:
        env.reset()
        at = 0
        while env.agents and at != steps:
            env.step(dict.fromkeys(env.agents, at))
            at += 1
    return _only(directory)


def _stack(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return {key: _stack([value[key] for value in values]) for key in values[0]}
    return np.stack(values)


@pytest.mark.parametrize("name", PARALLEL)
def test_transitions_of_agents_that_act_at_once_are_those_emitted(tmp_path: Path, name: str) -> None:
    """For each agent, and for all together, against a run without the logger."""
    identifier, cycles = PARALLEL[name]
    plain: Any = pettingzoo.make("parallel", identifier, max_cycles=cycles)
    seen, _ = plain.reset(seed=1)
    choose, emitted = np.random.default_rng(0), []
    with logger.PettingZooLogger(pettingzoo.make("parallel", identifier, max_cycles=cycles), tmp_path) as env:
        env.reset(seed=1)
        while plain.agents:
            actions = {agent: int(choose.integers(plain.action_space(agent).n)) for agent in plain.agents}
            result = plain.step(dict(actions))
            emitted.append((seen, actions, *(dict(each) for each in result[:4])))
            seen = result[0]
            env.step(actions)
    episode = _only(tmp_path)
    joint = joint_transitions(episode)
    for agent in agents_of(episode):
        mine = [step for step in emitted if agent in step[1]]
        got = agent_transitions(episode, agent)
        columns = [_stack([step[index][agent] for step in mine]) for index in range(6)]
        for one, other in zip(
            (got.observation, got.action, got.next_observation, got.reward, got.terminated, got.truncated),
            columns,
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)
        assert got.next_observation_mask.all()
        assert (got.discount == 1.0 - got.terminated).all()
        assert joint.action_mask[agent].tolist() == [agent in step[1] for step in emitted]
        at = joint.action_mask[agent]
        for one, other in zip(
            (joint.observation, joint.action, joint.next_observation, joint.reward, joint.terminated, joint.truncated),
            columns,
            strict=True,
        ):
            np.testing.assert_array_equal(one[agent][at], other)


@pytest.mark.parametrize("leave", [True, False], ids=["all turns", "left early"])
@pytest.mark.parametrize("name", AEC)
def test_transitions_of_agents_in_turn_are_those_of_last(tmp_path: Path, name: str, leave: bool) -> None:
    """From turn to turn, with the reward that `last()` gave; also where agents did not play the turn they leave in."""
    identifier, cycles = AEC[name]
    plain: Any = pettingzoo.make("aec", identifier, max_cycles=cycles)
    choose = np.random.default_rng(0)
    turns: dict[str, list[Any]] = {}
    rewards: dict[str, float] = {}
    plain.reset(seed=1)
    with logger.PettingZooLogger(pettingzoo.make("aec", identifier, max_cycles=cycles), tmp_path) as env:
        env.reset(seed=1)
        for agent in plain.agent_iter():
            seen, reward, terminated, truncated, _ = plain.last()
            action = None
            if not (terminated or truncated):
                mask = seen["action_mask"] if isinstance(seen, dict) else np.ones(plain.action_space(agent).n)
                action = int(choose.choice(np.flatnonzero(mask)))
            elif not leave and all(plain.terminations[each] or plain.truncations[each] for each in plain.agents):
                turns.setdefault(agent, []).append((seen, reward, terminated, truncated, None))
                rewards = {each: plain._cumulative_rewards[each] for each in plain.agents}
                break
            turns.setdefault(agent, []).append((seen, reward, terminated, truncated, action))
            plain.step(action)
            env.step(action)
    episode = _only(tmp_path)
    assert set(agents_of(episode)) == set(turns)
    for agent, played in turns.items():
        got = agent_transitions(episode, agent)
        begins = [turn for turn in played if turn[4] is not None]
        assert got.action.tolist() == [turn[4] for turn in begins]
        np.testing.assert_equal(got.observation, _stack([turn[0] for turn in begins]))
        after = played[1:]
        known = len(after)
        assert got.reward[:known].tolist() == [turn[1] for turn in after]
        assert got.reward[known:].tolist() == ([rewards[agent]] if known < len(begins) else [])
        assert got.next_observation_mask.tolist() == [True] * known + [False] * (len(begins) - known)
        assert got.terminated[:known].tolist() == [turn[2] for turn in after]
        assert got.truncated[:known].tolist() == [turn[3] for turn in after]
        assert bool(got.terminated[-1] | got.truncated[-1])
        for index, turn in enumerate(after):
            np.testing.assert_equal(_row(got.next_observation, index), turn[0])


def _row(nest: Any, index: int) -> Any:
    return {key: _row(item, index) for key, item in nest.items()} if isinstance(nest, dict) else nest[index]


def test_agent_that_comes_back_lives_twice(tmp_path: Path) -> None:
    """No transition crosses the steps in which it was absent."""
    script = Visitors(("ann", "bob"), ("ann", "bob"), ("bob",), ("bob",), ("ann", "bob"), ("ann",), ())
    episode = _visit(tmp_path, script)
    ann = agent_episode(episode, "ann")
    assert ann.rows.tolist() == [0, 1, 2, 4, 5, 6]
    assert ann.is_first.tolist() == [True, False, False, True, False, False]
    assert ann.is_last.tolist() == [False, False, True, False, False, True]
    assert ann.is_terminal.tolist() == [False, False, True, False, False, True]
    assert ann.action_mask.tolist() == [True, True, False, True, True, False]
    assert ann.reward.tolist() == [1.0, 2.0, 0.0, 5.0, 6.0, 0.0]
    assert ann.discount.tolist() == [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    found = agent_transitions(episode, "ann")
    assert found.rows.tolist() == [0, 1, 4, 5]
    assert found.next_observation[:, 0].tolist() == [1.0, 2.0, 5.0, 6.0]
    assert found.terminated.tolist() == [False, True, False, True]
    assert joint_transitions(episode).observation_mask["ann"].tolist() == [True, True, True, False, True, True]


def test_agent_that_sees_nothing_in_the_end_keeps_its_last_action(tmp_path: Path) -> None:
    """The step after it exists, with an undefined observation."""
    episode = _visit(tmp_path, Visitors(("ann", "bob"), ("ann", "bob"), ("bob",), (), silent=("ann",)))
    ann = agent_episode(episode, "ann")
    assert ann.observation_mask.tolist() == [True, True, False]
    assert ann.is_terminal.tolist() == [False, False, True]
    found = agent_transitions(episode, "ann")
    assert (found.action.tolist(), found.terminated.tolist()) == ([0, 1], [False, True])
    assert found.next_observation_mask.tolist() == [True, False]


def test_agent_that_is_cut_off_is_truncated_not_terminal(tmp_path: Path) -> None:
    """The value of its last observation is not zero."""
    episode = _visit(tmp_path, Visitors(("ann", "bob"), ("bob",), (), truncated=("ann",)))
    ann = agent_episode(episode, "ann")
    assert (ann.is_terminal.tolist(), ann.is_truncated.tolist()) == ([False, False], [False, True])
    assert agent_transitions(episode, "ann").discount.tolist() == [1.0]
    assert agent_transitions(episode, "bob").discount.tolist() == [1.0, 0.0]


def test_interrupted_episode_ends_for_all_without_a_flag(tmp_path: Path) -> None:
    """Last, but neither terminal nor truncated."""
    episode = _visit(tmp_path, Visitors(*[("ann", "bob")] * 5), steps=3)
    bob = agent_episode(episode, "bob")
    assert bob.is_last.tolist() == [False, False, False, True]
    assert not (bob.is_terminal | bob.is_truncated).any()


def test_first_steps_of_an_episode_have_no_last_one(tmp_path: Path) -> None:
    """A slice from the beginning is read as it is; one from the middle is refused."""
    episode = _visit(tmp_path, Visitors(*[("ann", "bob")] * 5), steps=4)
    assert not agent_episode(episode[:3], "ann").is_last.any()
    with pytest.raises(ValueError, match="from its middle"):
        agent_episode(episode[2:], "ann")


def test_steps_left_out_are_not_joined(tmp_path: Path) -> None:
    """A scheduler's gaps are no transitions, of one or of all."""
    scheduler = logger.ListStepScheduler([0, 1, 3])
    script = Visitors(*[("ann",)] * 5, ())
    with logger.PettingZooLogger(script, tmp_path, scheduler=scheduler) as env:
        env.reset()
        while env.agents:
            env.step({"ann": 1})
    episode = _only(tmp_path)
    assert episode["step_index"].tolist() == [0, 1, 3, 5]
    assert joint_transitions(episode).rows.tolist() == [0]
    assert agent_transitions(episode, "ann").rows.tolist() == [0]


def test_other_episodes_and_unknown_agents_are_errors(tmp_path: Path) -> None:
    """The errors list the existing names."""
    with pytest.raises(KeyError, match="no agent 'eve' in the episode; there are ann"):
        agent_episode(_visit(tmp_path / "visitors", Visitors(("ann",), ())), "eve")
    with logger.EpisodeWriter(tmp_path / "one") as writer, writer.episode() as episode:
        episode.start(0)
    with pytest.raises(ValueError, match="expected an episode with observation, terminated and truncated by agent"):
        agents_of(_only(tmp_path / "one"))


def test_rewards_may_be_vectors_and_observations_text(tmp_path: Path) -> None:
    """What the environment has a space for is stacked like anything else, in turns too."""

    class Talkers(pettingzoo.AECEnv[Any, Any, Any]):
        metadata = {"name": "talkers"}  # noqa: RUF012  as PettingZoo has it
        possible_agents = ["ann", "bob"]  # noqa: RUF012  as PettingZoo has it

        def observation_space(self, agent: str) -> spaces.Text:
            return spaces.Text(5)

        def action_space(self, agent: str) -> spaces.Text:
            return spaces.Text(5)

        def reward_space(self, agent: str) -> spaces.Box:
            return spaces.Box(-9, 9, (2,), np.float64)

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
            self.agents, self.agent_selection, self.said = ["ann", "bob"], "ann", "start"
            self.rewards: dict[str, Any] = {agent: np.zeros(2) for agent in self.agents}
            self._cumulative_rewards: dict[str, Any] = {agent: np.zeros(2) for agent in self.agents}
            self.terminations = dict.fromkeys(self.agents, False)
            self.truncations = dict.fromkeys(self.agents, False)
            self.infos: dict[str, Any] = {agent: {} for agent in self.agents}

        def observe(self, agent: str) -> str:
            return self.said

        def step(self, action: str) -> None:
            self._cumulative_rewards[self.agent_selection] = np.zeros(2)
            self.said = action
            self.rewards = {agent: np.array([1.0, len(action)]) for agent in self.agents}
            for agent in self.agents:
                self._cumulative_rewards[agent] = self._cumulative_rewards[agent] + self.rewards[agent]
            self.terminations = dict.fromkeys(self.agents, action == "bye")
            self.agent_selection = "bob" if self.agent_selection == "ann" else "ann"

    talkers = Talkers()  # type: ignore[no-untyped-call]  # PettingZoo's
    with logger.PettingZooLogger(talkers, tmp_path) as env:
        env.reset()
        for word in ("hello", "yes", "so", "bye"):
            env.step(word)
    episode = _only(tmp_path)
    ann, bob = (agent_transitions(episode, name) for name in ("ann", "bob"))
    assert (ann.observation.tolist(), ann.action.tolist()) == (["start", "yes"], ["hello", "so"])
    assert ann.reward.tolist() == [[2.0, 8.0], [2.0, 5.0]]
    assert bob.reward.tolist() == [[2.0, 5.0], [1.0, 3.0]]
    assert bob.next_observation_mask.tolist() == [True, False]
    assert bob.terminated.tolist() == [False, True]

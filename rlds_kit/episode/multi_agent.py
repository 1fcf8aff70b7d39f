"""Episodes of several agents: steps and transitions of one agent or of all, as NumPy arrays.

Such an episode has observation, action, reward, `terminated` and `truncated` by agent. Where agents act in turn, every
step has `agent_selection`, and an agent's steps are its turns; elsewhere they are those in which it sees something.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.base.step import (
    ACTION,
    AGENT_SELECTION,
    CUMULATIVE_REWARD,
    IS_FIRST,
    IS_LAST,
    OBSERVATION,
    REWARD,
    TERMINATED,
    TRUNCATED,
)
from rlds_kit.episode.episode import Episode
from rlds_kit.storage.leaf import escape


@dataclass(frozen=True)
class AgentEpisode:
    """The steps of one agent, in SAR alignment. An agent that goes and comes back lives several times in them.

    Attributes:
      agent: its name.
      rows: `[n]` the numbers of the steps in the episode of all.
      observation: a nest of `[n, ...]`, zeros where `observation_mask` is False.
      observation_mask: `[n]` bool; False on a last step without an observation.
      action: a nest of `[n, ...]`.
      action_mask: `[n]` bool; False on last steps and where the agent did not act.
      reward: `[n, ...]` for the action of the step; where agents act in turn, up to the agent's next turn.
      reward_mask: `[n]` bool.
      discount: `[n]` float64, zero where the agent terminated by the step.
      is_first: `[n]` bool, where a life begins.
      is_last: `[n]` bool, where one ends.
      is_terminal: `[n]` bool, where it ended because the agent terminated.
      is_truncated: `[n]` bool, where the agent was truncated; both flags may be set.
    """

    agent: str
    rows: np.ndarray
    observation: Any  # a nest of arrays
    observation_mask: np.ndarray
    action: Any  # a nest of arrays
    action_mask: np.ndarray
    reward: np.ndarray
    reward_mask: np.ndarray
    discount: np.ndarray
    is_first: np.ndarray
    is_last: np.ndarray
    is_terminal: np.ndarray
    is_truncated: np.ndarray


@dataclass(frozen=True)
class AgentTransitions:
    """The transitions of one agent: observation, action, reward and next observation.

    Attributes:
      agent: its name.
      rows: `[m]` the numbers of the steps in the episode of all.
      observation: a nest of `[m, ...]`.
      action: a nest of `[m, ...]`.
      reward: `[m, ...]`.
      discount: `[m]` float64, zero where `terminated`.
      next_observation: a nest of `[m, ...]`.
      next_observation_mask: `[m]` bool; False where the last observation is missing.
      terminated: `[m]` bool.
      truncated: `[m]` bool.
    """

    agent: str
    rows: np.ndarray
    observation: Any  # a nest of arrays
    action: Any  # a nest of arrays
    reward: np.ndarray
    discount: np.ndarray
    next_observation: Any  # a nest of arrays
    next_observation_mask: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


@dataclass(frozen=True)
class JointTransitions:
    """Transitions of all agents in the same steps. Each field is a dict by agent; so is each mask, `[m]` bool.

    Where the mask of an agent is False, it was absent, did not act, or got no reward: the values are zeros.

    Attributes:
      rows: `[m]` the numbers of the steps.
      observation: nests of `[m, ...]` by agent.
      action: likewise.
      reward: `[m, ...]` by agent, as the environment gave it for this step.
      next_observation: nests of `[m, ...]` by agent.
      terminated: `[m]` bool by agent.
      truncated: likewise.
      observation_mask: True where the agent has an observation.
      action_mask: True where the agent acted.
      reward_mask: True where the agent has a reward and flags.
      next_observation_mask: True where the agent has a next observation.
    """

    rows: np.ndarray
    observation: dict[str, Any]
    action: dict[str, Any]
    reward: dict[str, np.ndarray]
    next_observation: dict[str, Any]
    terminated: dict[str, np.ndarray]
    truncated: dict[str, np.ndarray]
    observation_mask: dict[str, np.ndarray]
    action_mask: dict[str, np.ndarray]
    reward_mask: dict[str, np.ndarray]
    next_observation_mask: dict[str, np.ndarray]


def agents_of(episode: Episode) -> tuple[str, ...]:
    """The names of all agents of an episode, sorted.

    Raises:
      ValueError: its observations are not by agent.
    """
    if not {OBSERVATION, TERMINATED, TRUNCATED} <= set(episode.fields):
        raise ValueError(
            f"expected an episode with observation, {TERMINATED} and {TRUNCATED} by agent, as PettingZooLogger records "
            f"them, got the fields {', '.join(episode.fields)}"
        )
    found: set[str] = set()
    for name in (OBSERVATION, TERMINATED):
        stacked = episode[name]
        # If a step has no agent at all, the field is an object array of the recorded dicts.
        nests = [stacked] if isinstance(stacked, dict) else [nest for nest in stacked if nest]
        found.update(key for nest in nests for key in nest if episode.mask(f"{name}/{escape(key)}").any())
    return tuple(sorted(found))


def agent_episode(episode: Episode, agent: str) -> AgentEpisode:
    """The steps of one agent.

    Where agents act in turn, a reward before an agent's first turn belongs to no action of its own: it is only in the
    episode's `cumulative_reward`.

    Args:
      episode: a whole one, or its first steps.
      agent: its name.

    Raises:
      ValueError: the episode is not one of several agents, or begins in its middle.
      KeyError: the episode has no such agent.
    """
    names = agents_of(episode)
    if agent not in names:
        raise KeyError(f"there is no agent {agent!r} in the episode; there are {', '.join(names)}")
    if not episode[IS_FIRST][0]:
        raise ValueError("expected an episode, or its first steps, got steps from its middle")
    return _Reading(episode, agent).steps()


def agent_transitions(episode: Episode, agent: str) -> AgentTransitions:
    """The transitions of one agent: from each step in which it acted to its next step, not across the end of a life.

    Raises:
      As `agent_episode`.
    """
    steps = agent_episode(episode, agent)
    # A transition needs an observation that was acted on, and a reward.
    begins = steps.action_mask & steps.observation_mask & steps.reward_mask & ~steps.is_last
    at = np.flatnonzero(begins[:-1])
    following = at + 1
    return AgentTransitions(
        agent,
        steps.rows[at],
        _at(steps.observation, at),
        _at(steps.action, at),
        steps.reward[at],
        steps.discount[at],
        _at(steps.observation, following),
        steps.observation_mask[following],
        steps.is_terminal[following],
        steps.is_truncated[following],
    )


def joint_transitions(episode: Episode) -> JointTransitions:
    """The transitions of all agents together: from each step to the next, except where steps were left out.

    Raises:
      ValueError: the episode is not one of several agents.
    """
    names = agents_of(episode)
    at = np.flatnonzero(episode.mask(TERMINATED)[:-1])

    def read(name: str, rows: np.ndarray) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        found = {agent: _field(episode, name, agent) for agent in names}
        return (
            {agent: _at(values, rows) for agent, (values, _) in found.items()},
            {agent: mask[rows] for agent, (_, mask) in found.items()},
        )

    observation, seen = read(OBSERVATION, at)
    following, seen_next = read(OBSERVATION, at + 1)
    action, acted = read(ACTION, at)
    reward, got = read(REWARD, at)
    terminated, _ = read(TERMINATED, at)
    truncated, _ = read(TRUNCATED, at)
    return JointTransitions(
        at, observation, action, reward, following, terminated, truncated, seen, acted, got, seen_next
    )


class _Reading:
    """Reads the data of one agent from an episode."""

    def __init__(self, episode: Episode, agent: str) -> None:
        self.episode, self.agent = episode, agent
        self.count = episode.length
        self.observation, self.seen = _field(episode, OBSERVATION, agent)
        self.action, self.acted = _field(episode, ACTION, agent)
        self.reward, self.got = _field(episode, REWARD, agent)
        self.terminated, self.truncated = (
            _before(_field(episode, flag, agent)[0].astype(np.bool_)) for flag in (TERMINATED, TRUNCATED)
        )
        self.is_joined = episode.mask(TERMINATED)
        self.takes_turns = AGENT_SELECTION in episode.fields
        whose = episode[AGENT_SELECTION] if self.takes_turns else np.empty(self.count, object)
        self.is_turn = np.asarray(whose == agent, np.bool_)

    def steps(self) -> AgentEpisode:
        rows, is_extra = self._rows()
        seen, acted = self.seen[rows] & ~is_extra, self.acted[rows] & ~is_extra
        flags = self.terminated[rows] | self.truncated[rows]
        is_last = flags | self._is_broken(rows)
        if rows.size:
            is_last[-1] |= bool(self.episode[IS_LAST][rows[-1]])
        reward, got = self._turns(rows) if self.takes_turns else (self.reward[rows], self.got[rows] & ~is_extra)
        got = got & ~is_last
        following = np.append(rows[1:], 0)
        ended = self.terminated[following] & ~is_last
        return AgentEpisode(
            agent=self.agent,
            rows=rows,
            observation=_blank(_at(self.observation, rows), seen),
            observation_mask=seen,
            action=_blank(_at(self.action, rows), acted),
            action_mask=acted,
            reward=_blank(reward, got),
            reward_mask=got,
            discount=np.where(ended, 0.0, 1.0),
            is_first=np.append(True, is_last[:-1])[: rows.size],
            is_last=is_last,
            is_terminal=self.terminated[rows] & is_last,
            is_truncated=self.truncated[rows] & is_last,
        )

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """`[n]` the agent's rows, and which of them are included only because an action led to them."""
        if not self.takes_turns:
            answered = _before(self.acted & self.got & self.is_joined)
            rows = np.flatnonzero(self.seen | answered)
            return rows, ~self.seen[rows]
        turns = np.flatnonzero(self.is_turn)
        is_extra = np.zeros(turns.size, np.bool_)
        if turns.size and self.acted[turns[-1]]:  # its next turn did not take place: that step has no observation
            turns, is_extra = np.append(turns, self.count - 1), np.append(is_extra, True)
        return turns, is_extra

    def _is_broken(self, rows: np.ndarray) -> np.ndarray:
        """`[n]` where the agent is absent in the next row; not relevant for turns, which are not adjacent."""
        if self.takes_turns:
            return np.zeros(rows.size, np.bool_)
        following = np.append(rows[1:], self.count)[: rows.size]
        is_in_the_end = rows == self.count - 1
        return np.asarray((following > rows + 1) & ~is_in_the_end, np.bool_)

    def _turns(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`[n]` the rewards of the agent between its turns, and where no steps were left out in between."""
        given = self.episode[CUMULATIVE_REWARD]
        rewards, known = [], np.zeros(rows.size, np.bool_)
        for index, (row, following) in enumerate(itertools.pairwise(rows)):
            known[index] = self.is_joined[row:following].all()
            if self.is_turn[following]:
                rewards.append(given[following])  # the reward that `last()` returned
            else:
                rewards.append(sum(self.reward[row:following]))
        if not rewards:
            return self.reward[rows], known
        return np.asarray([*rewards, np.zeros_like(rewards[-1])]), known


def _field(episode: Episode, name: str, agent: str) -> tuple[Any, np.ndarray]:
    """A field of one agent over all steps, and where there is a value; zeros where the agent never has one."""
    path = f"{name}/{escape(agent)}"
    try:
        present = episode.mask(path)
        return _as_numbers(episode[path], present), present
    except KeyError:
        return np.zeros(episode.length), np.zeros(episode.length, np.bool_)


def _as_numbers(values: Any, present: np.ndarray) -> Any:
    """Numbers of several types as one array: environments mix Python's and NumPy's rewards."""
    if isinstance(values, np.ndarray) and values.dtype == object and present.any():
        numbers = [each if there else 0 for each, there in zip(values, present, strict=True)]
        if all(isinstance(each, bool | int | float | np.number | np.bool_) for each in numbers):
            return np.asarray(numbers)
    return values


def _before(values: np.ndarray) -> np.ndarray:
    """`[n]` the values of the previous row; False on the first."""
    return np.append(False, values[:-1])[: values.size]


def _at(values: Any, rows: np.ndarray) -> Any:
    """A nest of arrays at some rows."""
    if isinstance(values, dict):
        return {key: _at(item, rows) for key, item in values.items()}
    if isinstance(values, tuple | list):
        return type(values)(_at(item, rows) for item in values)
    return values[rows]


def _blank(values: Any, mask: np.ndarray) -> Any:
    """A nest of arrays with zeros where a mask is False."""
    if isinstance(values, dict):
        return {key: _blank(item, mask) for key, item in values.items()}
    if isinstance(values, tuple | list):
        return type(values)(_blank(item, mask) for item in values)
    blanked = values.copy()
    blanked[~mask] = None if values.dtype == object else np.zeros((), values.dtype)
    return blanked

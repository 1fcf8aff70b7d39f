"""Shared code of the loggers of multi-agent environments: names of agents, specs, and the recording."""

import os
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final, Unpack

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import (
    ACTION,
    AGENT_SELECTION,
    CUMULATIVE_REWARD,
    INFO,
    OBSERVATION,
    REWARD,
    STATE,
    TERMINATED,
    TRUNCATED,
    EpisodeEnd,
)
from rlds_kit.logger import provenance
from rlds_kit.logger.action_check import ActionCheck
from rlds_kit.logger.episode_log import Callback, Callbacks, EpisodeLog, InfoFunction
from rlds_kit.logger.recorder_options import RecorderOptions, tolerant
from rlds_kit.logger.recording import Recording
from rlds_kit.logger.reset_counter import ResetCounters
from rlds_kit.logger.schedulers import Scheduler
from rlds_kit.logger.seeds import SeedSource
from rlds_kit.spec.from_gymnasium import from_gymnasium

OWN_FIELDS: Final = frozenset((AGENT_SELECTION, CUMULATIVE_REWARD, STATE, TERMINATED, TRUNCATED))
"""Names that are reserved in these loggers, in addition to those of all loggers."""


class PettingZooOptions(RecorderOptions, total=False):
    """Keyword arguments of the loggers for PettingZoo, in addition to those of the recorder.

    Attributes:
      record_info: whether to record infos; on by default.
      record_state: whether to record `env.state()` with every row; off by default.
      info_fn: a callback that gets the infos by agent and returns those to record; None: all.
      step_fn: a callback that gets the time step (a `GymnasiumTimeStep`), the action (None on the first step) and the
        environment; returns fields of the step as a dict, or any other value for the field "custom_data"; None: no
        callback.
      episode_fn: a callback with the same arguments that returns metadata of the episode; called at every step, the
        last value that is not None is recorded.
      metadata: of this run.
      scheduler: selects the steps or episodes to record; None: all.
      draw_seeds: whether to draw a seed for resets without one, which changes the run; off by default.
      record_time: whether to record `time_ns`, nanoseconds since the episode began; off by default.
    """

    record_info: bool
    record_state: bool
    info_fn: InfoFunction | None
    step_fn: Callback | None
    episode_fn: Callback | None
    metadata: Mapping[str, Any] | None
    scheduler: Scheduler | None
    draw_seeds: bool
    record_time: bool


class AgentNames:
    """The names under which agents are recorded: their own if they are text, else their `repr`.

    >>> AgentNames().keyed({"walker": 0.5, (np.str_("blue"), 1): 1.0})
    {'walker': 0.5, "('blue', 1)": 1.0}
    """

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}
        self._agents: dict[str, Hashable] = {}

    def __call__(self, agent: Hashable) -> str:
        """The name of an agent.

        Raises:
          SpecError: another agent has the same name.
        """
        name = self._names.get(agent)
        if name is None:
            name = str(agent) if isinstance(agent, str) else repr(_plain(agent))
            if name in self._agents:
                raise SpecError(
                    f"expected agents with names of their own, got {self._agents[name]!r} and {agent!r}, which would "
                    f"both be recorded as {name!r}; rename one of them"
                )
            self._names[agent], self._agents[name] = name, agent
        return name

    def keyed(self, by_agent: Mapping[Any, Any]) -> dict[str, Any]:
        """Replaces agents by their names in a dict of values."""
        return {self(agent): item for agent, item in by_agent.items()}

    def flags(self, by_agent: Mapping[Any, Any]) -> dict[str, bool]:
        """Replaces agents by their names in a dict of flags, which become Python's bool."""
        return {self(agent): bool(flag) for agent, flag in by_agent.items()}


class AgentsRecording:
    """The recorder of a multi-agent logger, and its open episode.

    Args:
      owner: the logger.
      env: a PettingZoo environment of either kind.
      directory: of the dataset.
      interface: the kind of environment, for the provenance.
      options: those of the recorder; the others are described in `PettingZooOptions`.
    """

    def __init__(  # noqa: PLR0913  independent keyword arguments
        self,
        owner: object,
        env: Any,  # PettingZoo's two kinds have no common class
        directory: str | os.PathLike[str],
        interface: str,
        *,
        record_info: bool = True,
        record_state: bool = False,
        info_fn: InfoFunction | None = None,
        step_fn: Callback | None = None,
        episode_fn: Callback | None = None,
        metadata: Mapping[str, Any] | None = None,
        scheduler: Scheduler | None = None,
        draw_seeds: bool = False,
        record_time: bool = False,
        **options: Unpack[RecorderOptions],
    ) -> None:
        self.names = AgentNames()
        declared = declare(env, self.names)
        environment = provenance.of_pettingzoo(env, interface)
        self.recording = Recording(
            owner, directory, declared, metadata=metadata, environment=environment, **tolerant(options)
        )
        checked_fn = None if step_fn is None else _with_free_names(step_fn)
        callbacks = Callbacks(checked_fn, episode_fn, scheduler, info_fn if record_info else None)
        self.log = EpisodeLog(self.recording.recorder, callbacks, env, record_time=record_time)
        self.need_time_steps = callbacks.need_time_steps
        self.check_action = ActionCheck(declared.fields[ACTION]) if declared is not None else None
        self._env, self._record_info, self._record_state = env, record_info, record_state
        self._seeds = SeedSource() if draw_seeds else None
        self.resets = ResetCounters(1)

    def seed(self, given: int | None) -> int | None:
        """The seed of the next reset: the caller's, or a drawn one."""
        passed = self._seeds.draw() if given is None and self._seeds is not None else given
        self.resets.reset(0, passed)
        return passed

    def follow(self, given: int | None) -> None:
        """Seeds the source of drawn seeds from the caller's seed, after the environment accepted it."""
        if given is not None and self._seeds is not None:
            self._seeds.follow(given)

    def observed(self, observations: Mapping[Any, Any], infos: Mapping[Any, Any]) -> dict[str, Any]:
        """The fields of the observation side of a row."""
        row: dict[str, Any] = {OBSERVATION: self.names.keyed(observations)}
        if self._record_info:
            row[INFO] = self.names.keyed(infos)
        if self._record_state:
            row[STATE] = self._env.state()
        return row

    def answered(
        self, rewards: Mapping[Any, Any], terminated: Mapping[Any, Any], truncated: Mapping[Any, Any]
    ) -> dict[str, Any]:
        """The rewards and flags of a row, by the recorded names of agents."""
        names = self.names
        return {
            REWARD: names.keyed(rewards),
            TERMINATED: names.flags(terminated),
            TRUNCATED: names.flags(truncated),
        }


def _plain(agent: object) -> object:
    """Converts to Python's own types, so that equal agents have the same name, in any order."""
    if isinstance(agent, tuple):
        return tuple(_plain(item) for item in agent)
    return agent.item() if isinstance(agent, np.generic) else agent


def _with_free_names(step_fn: Callback) -> Callback:
    """Wraps a callback: reserved field names are an error."""

    def checked(time_step: object, action: object, environment: object) -> object:
        custom = step_fn(time_step, action, environment)
        taken = sorted(OWN_FIELDS & custom.keys()) if isinstance(custom, Mapping) else []
        if taken:
            raise SpecError(f"step_fn: the name {taken[0]!r} is taken by a field of the step; call it something else")
        return custom

    return checked


def declare(env: Any, names: AgentNames) -> specs.Dict | None:  # PettingZoo's two kinds have no common class
    """The declared fields, in which every agent may be absent; None if the environment has no `possible_agents`.

    Raises:
      SpecError: a space cannot be recorded.
    """
    agents = getattr(env, "possible_agents", None)
    if agents is None:
        return None
    rewards = getattr(env, "reward_space", None)  # a method where rewards are vectors, as in MOMAland
    number, flag = specs.Array((), np.float64), specs.Array((), np.bool_)
    fields: dict[str, dict[str, specs.Spec]] = {}
    for agent in agents:
        name = names(agent)
        each = {
            OBSERVATION: from_gymnasium(env.observation_space(agent), f"{OBSERVATION}/{name}"),
            ACTION: from_gymnasium(env.action_space(agent), f"{ACTION}/{name}"),
            REWARD: from_gymnasium(rewards(agent), f"{REWARD}/{name}") if callable(rewards) else number,
            TERMINATED: flag,
            TRUNCATED: flag,
        }
        for field, spec in each.items():
            fields.setdefault(field, {})[name] = specs.Optional(spec)
    return specs.Dict({field: specs.Dict(by_name) for field, by_name in fields.items()})


def ending_of(terminated: Iterable[bool], truncated: Iterable[bool]) -> tuple[EpisodeEnd, tuple[bool, bool]]:
    """The end of an episode, from the flags of the agents that were present at its end; and both flags of the episode.

    It is TERMINATED if all of them terminated, TRUNCATED if at least one was truncated, and INTERRUPTED if the agents
    disappeared and none had a flag, because the end is unknown then.

    >>> ending_of([True, True], [False, True])
    (<EpisodeEnd.TERMINATED: 'terminated'>, (True, True))
    >>> ending_of([True, False], [False, True])
    (<EpisodeEnd.TRUNCATED: 'truncated'>, (False, True))
    """
    ended, cut = list(terminated), list(truncated)
    if not any((*ended, *cut)):
        return EpisodeEnd.INTERRUPTED, (False, False)
    if all(ended) and ended:
        return EpisodeEnd.TERMINATED, (True, any(cut))
    return EpisodeEnd.TRUNCATED, (False, True)

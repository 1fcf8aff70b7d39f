"""Any PettingZoo environment in which all agents act at once: a seat for each agent."""

import contextlib
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, Final

from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import ACTION, INFO, OBSERVATION, REWARD, TERMINATED, TRUNCATED
from rlds_kit.logger import provenance
from rlds_kit.logger.agents_recording import AgentNames, declare, ending_of
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.trials.environments.actor_class import ActorClass, class_name
from rlds_kit.trials.environments.controls import Controls, controls_of
from rlds_kit.trials.environments.look_ahead import LookAhead
from rlds_kit.trials.environments.parallel_making import make_parallel
from rlds_kit.trials.environments.playable import EnvironmentSpec, Outcome
from rlds_kit.trials.environments.policies import Policy, policy
from rlds_kit.trials.frames.picture import Picture

INTERFACE: Final = "pettingzoo.parallel"


class ParallelPlayable:
    """A PettingZoo environment with a seat for each of its possible agents; recorded as `ParallelLogger` does.

    An agent that is gone does nothing more; the person in its seat sees the rest.

    Args:
      spec: which: a name for `pettingzoo.make`, as "classic/rps-v2", or "module:function" that makes it.

    Raises:
      ValueError: people cannot play it, it does not name its agents, or these act in turns.
      SpecError: a space cannot be recorded.
      Whatever making it raises.
    """

    def __init__(self, spec: EnvironmentSpec) -> None:
        self._env = make_parallel(spec)
        with contextlib.ExitStack() as stack:
            stack.callback(self._env.close)
            self._names = AgentNames()
            declared = declare(self._env, self._names)
            if declared is None:
                raise SpecError(f"expected an environment with possible_agents, so that they have seats, got {spec.id}")
            self.declared = declared
            self._agents: dict[str, Hashable] = {self._names(agent): agent for agent in self._env.possible_agents}
            self.seats: tuple[str, ...] = tuple(self._agents)
            self.is_seeded = True
            self.provenance: Mapping[str, Any] = provenance.of_pettingzoo(self._env, INTERFACE)
            self.classes: Mapping[str, ActorClass] = {
                name: ActorClass(class_name(name), self._env.observation_space(agent), self._env.action_space(agent))
                for name, agent in self._agents.items()
            }
            self.controls: Mapping[str, Controls] = {
                name: controls_of(self._env, each.action_space)
                for name, each in self.classes.items()
                if spec.is_for_people
            }
            self.cameras: tuple[str, ...] = ("default",)
            self.own_pictures: Mapping[str, Callable[[], Picture]] = self._find_own()
            self.look_ahead: LookAhead | None = None
            rate = self._env.metadata.get("render_fps")
            self.rate = None if not rate else float(rate)
            stack.pop_all()
        self._policies: dict[tuple[str, str], Policy] = {}

    def _find_own(self) -> dict[str, Callable[[], Picture]]:
        """What draws for each agent alone, if the environment has a method `render_for`."""
        draw = getattr(self._env.unwrapped, "render_for", None)
        return {} if draw is None else {name: partial(draw, agent) for name, agent in self._agents.items()}

    def reset(self, seed: int, options: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Begins an episode."""
        observations, infos = self._env.reset(seed=seed, options=None if options is None else dict(options))
        self._observations, self._seed = observations, seed
        self._policies = {}
        return self._observed(observations, infos)

    def observations(self) -> Mapping[str, Any]:
        """Those of the agents that got one."""
        return self._names.keyed(self._observations)

    def gone(self) -> tuple[str, ...]:
        """The seats of agents that have left."""
        here = set(self._env.agents)
        return tuple(name for name, agent in self._agents.items() if agent not in here)

    def act(self, policy_name: str, seat: str) -> Any:
        """What a policy does now; each seat has one of its own, with a seed of its own."""
        agent = self._agents[seat]
        if (policy_name, seat) not in self._policies:
            make = policy(policy_name)
            self._policies[policy_name, seat] = make(self._env.action_space(agent), self._seed + self.seats.index(seat))
        return self._policies[policy_name, seat](self._observations.get(agent))

    def step(self, actions: Mapping[str, Any]) -> Outcome:
        """Does a step, with the actions of the agents that are there."""
        given = {agent: actions[self._names(agent)] for agent in self._env.agents}
        taken = self._names.keyed(copy_value(given))  # the environment may change them
        observations, rewards, terminated, truncated, infos = self._env.step(given)
        self._observations = observations
        acted = {
            ACTION: taken,
            REWARD: self._names.keyed(rewards),
            TERMINATED: self._names.flags(terminated),
            TRUNCATED: self._names.flags(truncated),
        }
        ending, flags = None, (False, False)
        if all(terminated.get(agent) or truncated.get(agent) for agent in self._env.agents):
            ending, flags = ending_of(map(bool, terminated.values()), map(bool, truncated.values()))
        by_seat = {self._names(agent): float(reward) for agent, reward in rewards.items()}
        return Outcome(self._observed(observations, infos), acted, by_seat, ending, flags)

    def _observed(self, observations: Mapping[Any, Any], infos: Mapping[Any, Any]) -> Mapping[str, Any]:
        return {OBSERVATION: self._names.keyed(observations), INFO: self._names.keyed(infos)}

    def picture(self, camera: int) -> Picture:
        """What the environment draws."""
        del camera
        picture: Picture = self._env.render()
        return picture

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()

"""Any environment of dm_env: one seat."""

import contextlib
import importlib
import inspect
from collections.abc import Mapping
from typing import Any, Final

import dm_env
import numpy as np
from dm_env import specs as dm_specs
from gymnasium import spaces

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import ACTION, DISCOUNT, OBSERVATION, REWARD, EpisodeEnd
from rlds_kit.logger import provenance
from rlds_kit.logger.env_logger import declare, ending_of
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.spec.from_gymnasium import to_gymnasium
from rlds_kit.trials.environments.actor_class import ActorClass
from rlds_kit.trials.environments.controls import Controls, controls_of
from rlds_kit.trials.environments.look_ahead import LookAhead
from rlds_kit.trials.environments.playable import SEAT, EnvironmentSpec, Outcome
from rlds_kit.trials.environments.policies import Policy, policy
from rlds_kit.trials.environments.views import View, views_of
from rlds_kit.trials.frames.picture import Picture

_SEED: Final = "seed"


class DmEnvPlayable:
    """A dm_env environment, recorded as `EnvLogger` does.

    dm_env takes no seed when it is reset. If the function that makes the environment takes `seed`, each episode
    is played in one that is made anew with its seed; else the seed is unknown.

    Args:
      spec: which: "module:function" that makes it.

    Raises:
      ValueError: people cannot play it.
      SpecError: a spec of it cannot be recorded.
      Whatever making it raises.
    """

    def __init__(self, spec: EnvironmentSpec) -> None:
        module, _, function = spec.id.partition(":")
        self._make, self._kwargs = getattr(importlib.import_module(module), function), spec.kwargs
        self.is_seeded = _SEED in inspect.signature(self._make).parameters
        if _SEED in spec.kwargs:
            raise ValueError(f"expected {spec.id} without {_SEED}, for each episode has another one; got {spec.kwargs}")
        self._env = self._made(0)
        with contextlib.ExitStack() as stack:
            stack.callback(self._env.close)
            self.seats: tuple[str, ...] = (SEAT,)
            self.declared = declare(self._env)
            self.provenance: Mapping[str, Any] = {**provenance.of_dm_env(self._env), "id": spec.id, **_kwargs(spec)}
            self._action_spec = self._env.action_spec()
            self._space = space_of(self._action_spec)
            observed = _observation_space(self.declared.fields[OBSERVATION])
            self.classes: Mapping[str, ActorClass] = {SEAT: ActorClass(SEAT, observed, self._space)}
            self.controls: Mapping[str, Controls] = (
                {SEAT: controls_of(self._env, self._space)} if spec.is_for_people else {}
            )
            self._views: dict[str, View] = views_of(
                self._render, self.declared.fields[OBSERVATION], lambda: self._observation
            )
            self.cameras: tuple[str, ...] = tuple(self._views)
            self.rate = _rate(self._env)
            self.own_pictures: Mapping[str, View] = {}
            self.look_ahead: LookAhead | None = None
            stack.pop_all()
        self._policies: dict[str, Policy] = {}

    def _made(self, seed: int) -> Any:  # dm_env leaves the methods that return specs untyped
        return self._make(**{_SEED: seed} if self.is_seeded else {}, **self._kwargs)

    def reset(self, seed: int, options: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Begins an episode, in a new environment if it takes a seed."""
        if options:
            raise ValueError(f"expected no options, for dm_env's reset takes none, got {dict(options)}")
        if self.is_seeded:
            self._env.close()
            self._env = self._made(seed)
        self._observation = self._env.reset().observation
        self._policies, self._seed = {}, seed
        return {OBSERVATION: self._observation}

    def observations(self) -> Mapping[str, Any]:
        """The latest one."""
        return {SEAT: self._observation}

    def gone(self) -> tuple[str, ...]:
        """The agent stays."""
        return ()

    def act(self, policy_name: str, seat: str) -> Any:
        """What a policy does now."""
        del seat  # there is one
        if policy_name not in self._policies:
            self._policies[policy_name] = policy(policy_name)(self._space, self._seed)
        return self._policies[policy_name](self._observation)

    def step(self, actions: Mapping[str, Any]) -> Outcome:
        """Does a step."""
        action = np.asarray(actions[SEAT], self._action_spec.dtype).reshape(self._action_spec.shape)
        taken = copy_value(action)  # the environment may change it
        step = self._env.step(action)
        if step.first():
            raise RuntimeError("expected the step after an action, got the first step of another episode")
        self._observation = step.observation
        ending = ending_of(step)
        acted = {ACTION: taken, REWARD: step.reward, DISCOUNT: step.discount}
        flags = ending is EpisodeEnd.TERMINATED, ending is EpisodeEnd.TRUNCATED
        return Outcome({OBSERVATION: step.observation}, acted, {SEAT: _sum(step.reward)}, ending, flags)

    def picture(self, camera: int) -> Picture:
        """What the environment draws or observes."""
        return list(self._views.values())[camera]()

    def _render(self) -> Picture:
        """What it draws, which dm_env does not define; else what it observes, in numbers."""
        if hasattr(self._env, "render"):
            drawn: Picture = self._env.render()
            return drawn
        observed = np.asarray(self._observation) if not isinstance(self._observation, Mapping) else None
        if observed is not None and observed.dtype == np.uint8 and observed.ndim == 3:
            return observed
        return str(self._observation)

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()


def _kwargs(spec: EnvironmentSpec) -> dict[str, Any]:
    return {"kwargs": provenance.recordable(spec.kwargs)}


def space_of(spec: Any) -> spaces.Space[Any]:  # dm_env's specs nest freely
    """The space of actions, as people and policies know it."""
    match spec:
        case dm_specs.DiscreteArray():
            return spaces.Discrete(spec.num_values)
        case dm_specs.BoundedArray() if np.issubdtype(spec.dtype, np.floating):
            low, high = (np.broadcast_to(side, spec.shape).reshape(-1) for side in (spec.minimum, spec.maximum))
            return spaces.Box(low.astype(spec.dtype), high.astype(spec.dtype), dtype=spec.dtype.type)
        case dm_specs.BoundedArray() if spec.shape == ():
            return spaces.Discrete(int(spec.maximum) - int(spec.minimum) + 1, start=int(spec.minimum))
    raise ValueError(f"expected discrete actions, or bounded numbers, for people to play, got {spec}")


def _observation_space(spec: specs.Spec) -> spaces.Space[Any]:
    """The space of observations; one without properties where Gymnasium has none that fits."""
    try:
        return to_gymnasium(spec)
    except SpecError:
        return spaces.Space()


def _rate(env: dm_env.Environment) -> float | None:
    """Steps a second, as environments of control say it."""
    control_timestep = getattr(env, "control_timestep", None)
    return None if control_timestep is None else 1.0 / float(control_timestep())


def _sum(reward: Any) -> float | None:  # rewards nest as their spec does
    return None if reward is None else float(np.sum(reward))

"""Any environment that Gymnasium can make."""

import contextlib
import importlib
from collections.abc import Mapping
from typing import Any, Final

import gymnasium

from rlds_kit.base.step import ACTION, DISCOUNT, INFO, OBSERVATION, REWARD
from rlds_kit.logger import provenance
from rlds_kit.logger.gymnasium_logger import declare, ending_of
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.trials.environments.actor_class import ActorClass
from rlds_kit.trials.environments.controls import Controls, controls_of
from rlds_kit.trials.environments.look_ahead import LookAhead, look_ahead_of
from rlds_kit.trials.environments.playable import SEAT, EnvironmentSpec, Outcome
from rlds_kit.trials.environments.policies import policy
from rlds_kit.trials.environments.views import View, views_of
from rlds_kit.trials.frames.picture import Picture

_MODES: Final = ("rgb_array", "ansi")


class GymnasiumPlayable:
    """A Gymnasium environment with one seat.

    Args:
      spec: which.

    Raises:
      gymnasium.error.Error: there is no such environment, or it cannot be made like this.
      ValueError: people cannot play it.
      SpecError: a space cannot be recorded.
    """

    def __init__(self, spec: EnvironmentSpec) -> None:
        self._env = _make(spec)
        with contextlib.ExitStack() as stack:
            stack.callback(self._env.close)
            self.seats: tuple[str, ...] = (SEAT,)
            self.is_seeded = True
            reward_space = getattr(self._env.unwrapped, "reward_space", None)
            self.declared = declare(self._env.observation_space, self._env.action_space, reward_space)
            self.provenance: Mapping[str, Any] = provenance.of_gymnasium(self._env)
            self.classes: Mapping[str, ActorClass] = {
                SEAT: ActorClass(SEAT, self._env.observation_space, self._env.action_space)
            }
            self.controls: Mapping[str, Controls] = {SEAT: controls_of(self._env)} if spec.is_for_people else {}
            self._views = self._find_views()
            self.cameras: tuple[str, ...] = tuple(self._views)
            self.own_pictures: Mapping[str, View] = {}
            self.look_ahead: LookAhead | None = look_ahead_of(self._env, lambda: _make(spec))
            rate = self._env.metadata.get("render_fps")
            self.rate = None if not rate else float(rate)
            stack.pop_all()
        self._policies: dict[str, Any] = {}

    def reset(self, seed: int, options: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Begins an episode."""
        observation, info = self._env.reset(seed=seed, options=None if options is None else dict(options))
        if self.look_ahead is not None:
            self.look_ahead.moved(None)
        self._observation = observation
        self._policies = {}
        self._seed = seed
        return {OBSERVATION: observation, INFO: info}

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
            self._policies[policy_name] = policy(policy_name)(self._env.action_space, self._seed)
        return self._policies[policy_name](self._observation)

    def step(self, actions: Mapping[str, Any]) -> Outcome:
        """Does a step."""
        taken = copy_value(actions[SEAT])  # the environment may change it
        observation, reward, terminated, truncated, info = self._env.step(actions[SEAT])
        if self.look_ahead is not None:
            self.look_ahead.moved(int(taken))
        self._observation = observation
        flags = bool(terminated), bool(truncated)
        acted = {ACTION: taken, REWARD: reward, DISCOUNT: 0.0 if terminated else 1.0}
        rewards = {SEAT: float(reward)}
        return Outcome({OBSERVATION: observation, INFO: info}, acted, rewards, ending_of(*flags), flags)

    def picture(self, camera: int) -> Picture:
        """What the environment draws, what it observes, or what one of its cameras sees."""
        return list(self._views.values())[camera]()

    def _find_views(self) -> dict[str, View]:
        render: Any = self._env.render  # an array or text, as its mode requires
        return views_of(render, self.declared.fields[OBSERVATION], lambda: self._observation) | mujoco_views(self._env)

    def close(self) -> None:
        """Closes the environment."""
        if self.look_ahead is not None:
            self.look_ahead.close()
        self._env.close()


def _make(spec: EnvironmentSpec) -> gymnasium.Env[Any, Any]:
    """Makes it in a mode that people can see."""
    with contextlib.suppress(ImportError):
        import ale_py

        gymnasium.register_envs(ale_py)
    module, _, name = spec.id.rpartition(":")
    if module:  # as Gymnasium itself reads such ids
        importlib.import_module(module)
    mode = next((mode for mode in _MODES if mode in _modes(name)), None)
    settings = dict(spec.kwargs) if mode is None else {"render_mode": mode, **spec.kwargs}
    return gymnasium.make(spec.id, **settings)


def _modes(name: str) -> list[str]:
    """The render modes that an environment declares."""
    creator = gymnasium.envs.registration.load_env_creator
    entry = gymnasium.spec(name).entry_point
    made = creator(entry) if isinstance(entry, str) else entry
    return list(getattr(made, "metadata", {}).get("render_modes", ()))


def mujoco_views(env: Any) -> dict[str, View]:  # any environment; those of MuJoCo have these attributes
    """Views from the cameras of a model by name; none, if there is no model.

    Which camera draws changes nothing of the simulation, and afterwards it is again the one that was chosen when the
    environment was made (`camera_name`, `camera_id`).

    Args:
      env: of Gymnasium.

    >>> import gymnasium
    >>> mujoco_views(gymnasium.make("CartPole-v1"))
    {}
    """
    renderer = getattr(env.unwrapped, "mujoco_renderer", None)
    if renderer is None:
        return {}
    names = [renderer.model.camera(number).name or str(number) for number in range(renderer.model.ncam)]
    return {f"camera {name}": _Camera(env, renderer, number) for number, name in enumerate(names)}


class _Camera:
    def __init__(self, env: Any, renderer: Any, number: int) -> None:
        self._env, self._renderer, self._number = env, renderer, number

    def __call__(self) -> Picture:
        chosen, self._renderer.camera_id = self._renderer.camera_id, self._number
        try:
            picture: Picture = self._env.render()
        finally:
            self._renderer.camera_id = chosen
        return picture

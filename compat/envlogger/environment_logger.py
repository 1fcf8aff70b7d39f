"""The names of `envlogger.environment_logger`."""

from collections.abc import Callable, Mapping
from typing import Any

import dm_env

from rlds_kit.compat.envlogger.backends.backend_type import BackendType
from rlds_kit.compat.envlogger.backends.riegeli_backend_writer import RiegeliBackendWriter
from rlds_kit.logger import EnvLogger as OwnLogger
from rlds_kit.logger.schedulers import StepData

StepFn = Callable[[dm_env.TimeStep, Any, dm_env.Environment], Any]


class EnvLogger(dm_env.Environment):
    """Wraps an environment and records every step, with the parameters of EnvLogger.

    Args:
      env: to record.
      step_fn: returns data to record with a step; gets the time step, the action that led to it and the environment.
      episode_fn: returns metadata of the episode; the last value that is not None is recorded.
      metadata: of the run; not changed.
      backend: `BackendType.RIEGELI`; a `RiegeliBackendWriter`; a `TFDSBackendWriter`, or anything with its methods; or
        a function that makes one of them from `backend_kwargs` and `metadata`.
      backend_kwargs: of the backend: `data_directory`, `max_episodes_per_shard`, `scheduler`, ...

    Raises:
      NotImplementedError: the backend is `BackendType.IN_MEMORY`.
      TypeError: the backend does not support an argument.
    """

    def __init__(
        self,
        env: dm_env.Environment,
        step_fn: StepFn | None = None,
        episode_fn: StepFn | None = None,
        metadata: Mapping[str, Any] | None = None,
        backend: Any = BackendType.RIEGELI,
        **backend_kwargs: Any,
    ) -> None:
        chosen = _backend(backend, {**backend_kwargs, "metadata": metadata})
        self._environment: Any
        if isinstance(chosen, RiegeliBackendWriter):
            self._environment = OwnLogger(
                env,
                chosen.data_directory,
                step_fn,
                episode_fn,
                metadata if metadata is not None else chosen.metadata,
                scheduler=chosen.scheduler,
                max_shard_episodes=chosen.max_episodes_per_shard,
            )
        else:
            self._environment = _Handed(env, step_fn, episode_fn, chosen)

    def reset(self) -> dm_env.TimeStep:
        """Resets the environment; an open episode ends."""
        step: dm_env.TimeStep = self._environment.reset()
        return step

    def step(self, action: Any) -> dm_env.TimeStep:
        """Steps the environment and records what it returned."""
        step: dm_env.TimeStep = self._environment.step(action)
        return step

    def close(self) -> None:
        """Writes everything, and closes the environment."""
        self._environment.close()

    def observation_spec(self) -> Any:
        """Returns the observation spec of the environment."""
        return self._environment.observation_spec()

    def action_spec(self) -> Any:
        """Returns the action spec of the environment."""
        return self._environment.action_spec()

    def reward_spec(self) -> Any:
        """Returns the reward spec of the environment."""
        return self._environment.reward_spec()

    def discount_spec(self) -> Any:
        """Returns the discount spec of the environment."""
        return self._environment.discount_spec()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_environment":  # neither protocols nor a half-made logger's own
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._environment, name)


def _backend(backend: Any, options: dict[str, Any]) -> Any:
    if backend is BackendType.IN_MEMORY:
        raise NotImplementedError(
            "BackendType.IN_MEMORY: recordings are on disk here; record into a `tempfile.TemporaryDirectory()`, and "
            "read it with `Reader` or `rlds_kit.open`"
        )
    if backend is BackendType.RIEGELI:
        return RiegeliBackendWriter(**options)
    return backend if hasattr(backend, "record_step") or not callable(backend) else backend(**options)


class _Handed:
    """Passes every step to a backend."""

    def __init__(self, env: Any, step_fn: StepFn | None, episode_fn: StepFn | None, backend: Any) -> None:
        self._environment, self._step_fn, self._episode_fn, self._backend = env, step_fn, episode_fn, backend
        self._reset_next = True

    def reset(self) -> dm_env.TimeStep:
        self._reset_next = False
        return self._recorded(self._environment.reset(), None, is_new_episode=True)

    def step(self, action: Any) -> dm_env.TimeStep:
        if self._reset_next:
            return self.reset()
        step = self._environment.step(action)
        self._reset_next = step.last()
        return self._recorded(step, action, is_new_episode=step.first())

    def _recorded(self, step: dm_env.TimeStep, action: Any, *, is_new_episode: bool) -> dm_env.TimeStep:
        custom = None if self._step_fn is None else self._step_fn(step, action, self._environment)
        self._backend.record_step(StepData(step, action, custom), is_new_episode=is_new_episode)
        about = None if self._episode_fn is None else self._episode_fn(step, action, self._environment)
        if about is not None:
            self._backend.set_episode_metadata(about)
        return step

    def close(self) -> None:
        try:
            self._backend.close()
        finally:
            self._environment.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_environment":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._environment, name)

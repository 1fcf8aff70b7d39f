"""Records a Gymnasium environment."""

import os
from collections.abc import Mapping
from typing import Any, SupportsFloat, Unpack

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from rlds_kit import spec as specs
from rlds_kit.base.step import ACTION, DISCOUNT, INFO, OBSERVATION, REWARD, EpisodeEnd
from rlds_kit.logger import provenance
from rlds_kit.logger.action_check import ActionCheck
from rlds_kit.logger.episode_log import Callback, Callbacks, EpisodeLog, InfoFunction
from rlds_kit.logger.recorder_options import RecorderOptions, tolerant
from rlds_kit.logger.recording import Recorded, Recording, close_both
from rlds_kit.logger.reset_counter import ResetCounters
from rlds_kit.logger.schedulers import Scheduler
from rlds_kit.logger.seeds import SeedSource
from rlds_kit.logger.time_step import GymnasiumTimeStep
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.spec.from_gymnasium import from_gymnasium


class GymnasiumLogger(Recorded, gymnasium.Wrapper[Any, Any, Any, Any]):
    """Wraps a Gymnasium environment and records every step. The wrapper is transparent to the caller.

    Observations, rewards, flags and infos are passed through as the same objects. The recorded discount is 0 where the
    environment terminated and 1 elsewhere. Both flags are recorded if both are true; such an episode ends as
    TERMINATED. An episode that is reset or closed in the middle ends as INTERRUPTED.

    The logger does not change a run: it draws no random numbers. Each episode records the last seed of the environment
    and the resets and steps since, so that `rlds-kit replay` can replay the episodes since that seed in order. With
    `draw_seeds=True` the logger draws and records a seed for each reset without one, so that each episode can be
    replayed alone. After a reset with a seed, the drawn seeds are determined by it.

    Args:
      env: to record.
      directory: of the dataset; created if it does not exist.
      record_info: whether to record infos.
      info_fn: a callback that gets each info and returns the part to record; None: all of it.
      step_fn: a callback that gets the time step (a `GymnasiumTimeStep`), the action (None on the first step) and the
        environment; returns fields of the step as a dict, or any other value for the field "custom_data"; None: no
        callback.
      episode_fn: a callback with the same arguments that returns metadata of the episode; called at every step, the
        last value that is not None is recorded.
      metadata: of this run.
      scheduler: selects the steps or episodes to record; None: all.
      draw_seeds: whether to draw a seed for resets without one, which changes the run.
      record_time: whether to record `time_ns`, nanoseconds since the episode began.
      options: `mode`, `policy` and others: see `RecorderOptions`.

    Raises:
      SpecError: a space cannot be recorded, or contradicts the existing dataset.
      DatasetExistsError: the mode does not allow an existing dataset.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with GymnasiumLogger(gymnasium.make("CartPole-v1"), directory) as env:
    ...         observation, info = env.reset(seed=1)
    ...         observation, reward, terminated, truncated, info = env.step(0)
    >>> reward
    1.0
    """

    def __init__(  # noqa: PLR0913  independent keyword arguments
        self,
        env: gymnasium.Env[Any, Any],
        directory: str | os.PathLike[str],
        *,
        record_info: bool = True,
        info_fn: InfoFunction | None = None,
        step_fn: Callback | None = None,
        episode_fn: Callback | None = None,
        metadata: Mapping[str, Any] | None = None,
        scheduler: Scheduler | None = None,
        draw_seeds: bool = False,
        record_time: bool = False,
        **options: Unpack[RecorderOptions],
    ) -> None:
        super().__init__(env)
        reward_space = getattr(env.unwrapped, "reward_space", None)  # where rewards are vectors, as in MO-Gymnasium
        declared = declare(env.observation_space, env.action_space, reward_space)
        self._check_action = ActionCheck(declared.fields[ACTION])
        environment = provenance.of_gymnasium(env)
        self._recording = Recording(
            self, directory, declared, metadata=metadata, environment=environment, **tolerant(options)
        )
        callbacks = Callbacks(step_fn, episode_fn, scheduler, info_fn if record_info else None)
        self._log = EpisodeLog(self._recording.recorder, callbacks, env, record_time=record_time)
        self._recording.before_close(self._log.interrupt)
        self._need_time_steps = callbacks.need_time_steps
        self._record_info = record_info
        self._seeds = SeedSource() if draw_seeds else None
        self._resets = ResetCounters(1)

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # read-only as gymnasium.Wrapper's
        """The spec of the wrapped environment: an environment made from it records nothing."""
        return self.env.spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:  # observations have any type
        """Resets the environment; an episode that is open ends as INTERRUPTED.

        Args:
          seed: recorded; None: passed on, unless `draw_seeds` is set.
          options: passed on and recorded.

        Raises:
          RecordingError: recording is not possible any more.
          SpecError: the observation does not match its space, and the logger is strict.
          UnsupportedTypeError: a value cannot be recorded.
        """
        self._recording.check()
        passed = self._seeds.draw() if seed is None and self._seeds is not None else seed
        given = copy_value(options)
        self._log.expect()
        self._resets.reset(0, passed)
        observation, info = self.env.reset(seed=passed, options=options)
        if seed is not None and self._seeds is not None:
            self._seeds.follow(seed)
        time_step = GymnasiumTimeStep.restart(observation, info) if self._need_time_steps else None
        provenance = self._resets.provenance(0)
        self._log.start(self._observed(observation, info), time_step, seed=passed, options=given, provenance=provenance)
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:  # of the environment's types
        """Steps the environment and records what it returned.

        Raises:
          RecordingError: recording is not possible any more; the environment was not stepped.
          SpecError: observation or reward does not match its space, and the logger is strict.
          UnsupportedTypeError: a value cannot be recorded.
        """
        self._recording.check()
        if self._check_action.is_due and self._log.is_running:
            self._check_action(action)
        taken = copy_value(action)  # a copy: the environment may change it
        self._log.expect()
        self._resets.step()
        observation, reward, terminated, truncated, info = result = self.env.step(action)
        if not self._log.is_running:
            self._log.warn_outside()
            return result
        flags = bool(terminated), bool(truncated)
        time_step = GymnasiumTimeStep.transition(observation, reward, flags, info) if self._need_time_steps else None
        acted = {ACTION: taken, REWARD: reward, DISCOUNT: 0.0 if terminated else 1.0}
        observed = self._observed(observation, info)
        self._log.step(observed, acted, time_step, ending=ending_of(*flags), flags=flags)
        return result

    def close(self) -> None:
        """Ends an open episode as INTERRUPTED, writes everything, and closes the environment.

        Raises:
          RecordingError: steps were lost; the environment is closed nevertheless.
        """
        close_both(self._recording.close, self.env.close)

    def _observed(self, observation: object, info: dict[str, Any]) -> dict[str, Any]:
        return {OBSERVATION: observation, INFO: info} if self._record_info else {OBSERVATION: observation}


def declare(
    observation: gymnasium.Space[Any], action: gymnasium.Space[Any], reward: gymnasium.Space[Any] | None = None
) -> specs.Dict:
    """The declared fields of a Gymnasium environment. Rewards are numbers unless the environment has a space for them.

    >>> declare(gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(3)).fields["reward"]
    Array((), float64)
    """
    number = specs.Array((), np.float64)
    return specs.Dict(
        {
            OBSERVATION: from_gymnasium(observation, OBSERVATION),
            ACTION: from_gymnasium(action, ACTION),
            REWARD: number if reward is None else from_gymnasium(reward, REWARD),
            DISCOUNT: specs.Array((), np.float64, minimum=0, maximum=1),
        }
    )


def ending_of(terminated: bool, truncated: bool) -> EpisodeEnd | None:
    """The end of an episode by Gymnasium's flags; None: it continues."""
    if terminated:
        return EpisodeEnd.TERMINATED
    return EpisodeEnd.TRUNCATED if truncated else None

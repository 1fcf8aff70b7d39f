"""Records a dm_env environment."""

import os
from collections.abc import Mapping
from typing import Any, Unpack

import dm_env
import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.step import ACTION, DISCOUNT, OBSERVATION, REWARD, EpisodeEnd
from rlds_kit.logger import provenance
from rlds_kit.logger.action_check import ActionCheck
from rlds_kit.logger.episode_log import Callback, Callbacks, EpisodeLog
from rlds_kit.logger.recorder_options import RecorderOptions, tolerant
from rlds_kit.logger.recording import Recorded, Recording, close_both
from rlds_kit.logger.schedulers import Scheduler
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.spec.from_dm_env import from_dm_env


class EnvLogger(Recorded, dm_env.Environment):
    """Wraps a dm_env environment and records every step. The wrapper is transparent to the caller.

    An episode whose last discount is zero ends as TERMINATED, another one as TRUNCATED; one that is reset or closed in
    the middle, or whose environment restarts by itself, as INTERRUPTED.

    The callbacks and schedulers are those of EnvLogger: they get the time step, the action that led to it (None on the
    first step) and the environment. See `rlds_kit.logger.schedulers` for the steps that a scheduler leaves out.

    Args:
      env: to record.
      data_directory: of the dataset; created if it does not exist.
      step_fn: a callback that returns fields of the step as a dict, or any other value for the field "custom_data".
      episode_fn: a callback that returns metadata of the episode; called at every step, the last value that is not None
        is recorded.
      metadata: of this run.
      scheduler: selects the steps or episodes to record; None: all.
      record_time: whether to record `time_ns`, nanoseconds since the episode began.
      options: `mode`, `policy` and others: see `RecorderOptions`.

    Raises:
      SpecError: a spec of the environment cannot be recorded, or contradicts the existing dataset.
      DatasetExistsError: the mode does not allow an existing dataset.

    >>> import tempfile
    >>> class Coin(dm_env.Environment):
    ...     def reset(self):
    ...         return dm_env.restart(np.int64(0))
    ...     def step(self, action):
    ...         return dm_env.termination(1.0, np.int64(1))
    ...     def observation_spec(self):
    ...         return dm_env.specs.Array((), np.int64)
    ...     def action_spec(self):
    ...         return dm_env.specs.DiscreteArray(2)
    >>> with tempfile.TemporaryDirectory() as directory, EnvLogger(Coin(), directory) as env:
    ...     env.reset().first(), env.step(0).last()
    (True, True)
    """

    def __init__(
        self,
        env: dm_env.Environment,
        data_directory: str | os.PathLike[str],
        step_fn: Callback | None = None,
        episode_fn: Callback | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        scheduler: Scheduler | None = None,
        record_time: bool = False,
        **options: Unpack[RecorderOptions],
    ) -> None:
        self._environment: Any = env  # dm_env leaves its methods that return specs untyped
        declared = declare(env)
        self._check_action = ActionCheck(declared.fields[ACTION])
        environment = provenance.of_dm_env(env)
        self._recording = Recording(
            self, data_directory, declared, metadata=metadata, environment=environment, **tolerant(options)
        )
        callbacks = Callbacks(step_fn, episode_fn, scheduler)
        self._log = EpisodeLog(self._recording.recorder, callbacks, env, record_time=record_time)
        self._recording.before_close(self._log.interrupt)
        self._reset_next = True

    def reset(self) -> dm_env.TimeStep:
        """Resets the environment; an episode that is open ends as INTERRUPTED.

        Raises:
          RecordingError: recording is not possible any more.
        """
        self._recording.check()
        self._log.expect()
        step: dm_env.TimeStep = self._environment.reset()
        self._reset_next = False
        self._log.start({OBSERVATION: step.observation}, step)
        return step

    def step(self, action: Any) -> dm_env.TimeStep:  # of whatever type the environment takes
        """Steps the environment and records what it returned.

        After the last step of an episode, and before the first reset, this resets; the action is then ignored, as
        dm_env specifies, and not recorded.

        Raises:
          RecordingError: recording is not possible any more.
          SpecError: a value from the environment does not match its spec, and the logger is strict.
          UnsupportedTypeError: a value cannot be recorded.
        """
        if self._reset_next:
            return self.reset()
        self._recording.check()
        if self._check_action.is_due:
            self._check_action(action)
        taken = copy_value(action)  # a copy: the environment may change it
        self._log.expect()
        step: dm_env.TimeStep = self._environment.step(action)
        self._reset_next = step.last()
        if step.first():  # it restarted by itself
            self._log.start({OBSERVATION: step.observation}, step)
        elif self._log.is_running:
            acted = {ACTION: taken, REWARD: step.reward, DISCOUNT: step.discount}
            self._log.step({OBSERVATION: step.observation}, acted, step, ending=ending_of(step))
        return step

    def close(self) -> None:
        """Ends an open episode as INTERRUPTED, writes everything, and closes the environment.

        Raises:
          RecordingError: steps were lost; the environment is closed nevertheless.
        """
        close_both(self._recording.close, self._environment.close)

    def observation_spec(self) -> Any:  # dm_env's specs nest freely
        """Returns the observation spec of the environment."""
        return self._environment.observation_spec()

    def action_spec(self) -> Any:  # dm_env's specs nest freely
        """Returns the action spec of the environment."""
        return self._environment.action_spec()

    def reward_spec(self) -> Any:  # dm_env's specs nest freely
        """Returns the reward spec of the environment."""
        return self._environment.reward_spec()

    def discount_spec(self) -> Any:  # dm_env's specs nest freely
        """Returns the discount spec of the environment."""
        return self._environment.discount_spec()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_environment":  # neither protocols nor a half-made logger's own
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._environment, name)


def declare(env: Any) -> specs.Dict:  # dm_env leaves these methods untyped
    """The fields that every step has."""
    return specs.Dict(
        {
            OBSERVATION: from_dm_env(env.observation_spec(), OBSERVATION),
            ACTION: from_dm_env(env.action_spec(), ACTION),
            REWARD: from_dm_env(env.reward_spec(), REWARD),
            DISCOUNT: from_dm_env(env.discount_spec(), DISCOUNT),
        }
    )


def ending_of(step: dm_env.TimeStep) -> EpisodeEnd | None:
    """The end of an episode with a step; None: it continues."""
    if not step.last():
        return None
    return EpisodeEnd.TERMINATED if _is_zero(step.discount) else EpisodeEnd.TRUNCATED


def _is_zero(discount: object) -> bool:
    """Whether a discount, or all parts of a nested one, are zero."""
    if isinstance(discount, Mapping):
        return all(map(_is_zero, discount.values()))
    if isinstance(discount, list | tuple):
        return all(map(_is_zero, discount))
    return discount is not None and not np.any(np.asarray(discount))

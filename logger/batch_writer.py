"""Records environments that step together without wrapping them: simulators on a device, own training loops."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode

from rlds_kit import spec as specs
from rlds_kit.base.errors import RecordingError, SpecError
from rlds_kit.base.step import ACTION, OBSERVATION, REWARD
from rlds_kit.logger.autoreset import Autoresets, flags_of, mode_named
from rlds_kit.logger.batch_fields import as_array, check_batch
from rlds_kit.logger.recorder_options import RecorderOptions
from rlds_kit.logger.recording import Recording, RecordingWriter
from rlds_kit.logger.vector_columns import VectorColumns

FINAL_OBSERVATION: Final = "final_obs"
"""The key of Gymnasium's infos for the last observations of episodes, with autoreset SAME_STEP."""
_NOTHING: Final = specs.Dict({})


class BatchWriter(RecordingWriter):
    """Records the steps of environments that step together, from batches that the caller passes.

    A batch is an array `[num_envs, ...]` of NumPy, JAX or Torch, or a dict or tuple of them. A step of all
    environments is one copy for each array, so it costs about the same for one environment as for hundreds. Episodes
    have the same content as if a `VectorLogger` had recorded them.

    Args:
      directory: of the dataset; created if it does not exist.
      num_envs: number of environments.
      autoreset: how an environment starts its next episode, a member of `gymnasium.vector.AutoresetMode` or its value.
        "SameStep": the step that ends an episode returns the first observation of the next one, as in Brax, Isaac Lab
        and MuJoCo Playground; "NextStep": the next step ignores the action and returns it; "Disabled": `start` does.
      spec: of the declared fields of one environment, by name ("observation", "action", "reward", ...); None: there are
        none. With `strict=False` values that do not match are recorded unchanged, with one warning for each field.
      metadata: of this run.
      environment: the origin of the episodes; any recordable dict.
      record_info: whether to record infos.
      record_time: whether to record `time_ns`, nanoseconds since the episode began.
      options: `mode`, `policy` and others: see `RecorderOptions`.

    Raises:
      ValueError: the number of environments is not positive, or the autoreset mode is unknown.
      SpecError: the spec contradicts the existing dataset.
      DatasetExistsError: the mode does not allow an existing dataset.

    >>> import tempfile
    >>> import rlds_kit
    >>> flags = np.array([False, False])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with BatchWriter(directory, 2, autoreset="NextStep") as writer:
    ...         writer.start(np.zeros((2, 3)))
    ...         writer.step(np.ones((2, 3)), np.array([4, 5]), np.array([0.5, 0.1]), ~flags, flags)
    ...     [int(episode.steps[0]["action"]) for episode in rlds_kit.open(directory).episodes]
    [4, 5]
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        num_envs: int,
        *,
        autoreset: AutoresetMode | str,
        spec: specs.Dict | None = None,
        metadata: Mapping[str, Any] | None = None,
        environment: Mapping[str, Any] | None = None,
        record_info: bool = True,
        record_time: bool = False,
        **options: Unpack[RecorderOptions],
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs: expected a number above 0, got {num_envs}")
        mode = mode_named(autoreset)
        self.num_envs, self._declared = num_envs, _NOTHING if spec is None else spec
        self._recording = Recording(self, directory, spec, metadata=metadata, environment=environment, **options)
        self._autoresets = Autoresets(mode, num_envs)
        self._log = VectorColumns(
            self._recording.recorder,
            self._declared,
            num_envs,
            autoresets=self._autoresets,
            record_info=record_info,
            record_time=record_time,
        )
        self._recording.before_close(self._log.interrupt)

    @property
    def running(self) -> np.ndarray:
        """Which environments are within an episode, `[num_envs]` bool; `step` records nothing of the others."""
        return self._log.running_now()

    def start(
        self,
        observation: Any,
        info: Mapping[str, Any] | None = None,
        *,
        mask: np.ndarray | None = None,
        seeds: Sequence[object] | None = None,
        options: object = None,
    ) -> None:
        """Starts an episode of each environment with its first observation; open ones end as INTERRUPTED.

        Args:
          observation: a batch of all environments.
          info: a dict of batches; if there is a mask `_key` beside `key`, it selects the environments that have the
            key.
          mask: `[num_envs]` bool, which environments start an episode; None: all.
          seeds: of the resets, one for each of all environments; recorded.
          options: of the resets; recorded.

        Raises:
          SpecError: a batch does not have a value for each environment, or, if strict, does not match its declaration.
          TypeError: a mask in the info does not have a truth value for each environment.
          UnsupportedTypeError: a value cannot be recorded.
          RecordingError: recording is not possible any more.
        """
        self._recording.check()
        self._check(observation, OBSERVATION)
        each: Sequence[object] = [None] * self.num_envs if seeds is None else [*seeds]
        if len(each) != self.num_envs:
            raise SpecError(f"seeds: expected {self.num_envs}, one for each environment, got {len(each)}")
        flags = None if mask is None else flags_of("mask", mask, self.num_envs)
        chosen = [*range(self.num_envs)] if flags is None else np.flatnonzero(flags).tolist()
        self._log.settle()
        self._autoresets.reset(chosen, each)
        errors = self._log.start(chosen, observation, dict(info or {}), seeds=each, options=options)
        errors.raise_it()

    def step(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        terminated: Any,
        truncated: Any,
        info: Mapping[str, Any] | None = None,
        *,
        final_observation: Any = None,
    ) -> None:
        """Records an action of each environment and its results.

        Args:
          observation: after the actions.
          action: in response to the previous observations.
          reward: for them.
          terminated: `[num_envs]` bool, which episodes end here, in a terminal state.
          truncated: `[num_envs]` bool, which episodes end here, because of a limit; both may be set.
          info: as for `start`.
          final_observation: a batch with the last observations of the episodes that end here, with autoreset
            "SameStep"; None: those in `info["final_obs"]`; if there are none, the last step lacks its observation.

        Raises:
          SpecError: a batch does not have a value for each environment, flags are no truth values, or, if strict, a
            value does not match its declaration.
          TypeError: a mask in the info does not have a truth value for each environment.
          UnsupportedTypeError: a value cannot be recorded; the rows of the other environments are.
          RecordingError: no episode has begun, or recording is not possible any more.
        """
        self._recording.check()
        if final_observation is None and self._log.put_again(
            action, (observation, reward, terminated, truncated, {} if info is None else info)
        ):
            return
        self._log.settle()
        if self._autoresets.due is None and not (self._log.running | self._log.awaiting_autoreset).any():
            raise RecordingError("no environment is within an episode; call start() before step()")
        for name, batch in {OBSERVATION: observation, ACTION: action, REWARD: reward}.items():
            self._check(batch, name)
        ended = flags_of("terminated", terminated, self.num_envs), flags_of("truncated", truncated, self.num_envs)
        infos = dict(info or {})
        if final_observation is not None:
            self._check(final_observation, FINAL_OBSERVATION)
            infos[FINAL_OBSERVATION] = as_array(final_observation)
        self._autoresets.step()
        resetting, over = self._autoresets.due, self._autoresets.ended(*ended)
        self._log.step(action, (observation, reward, *ended, infos), resetting, over).raise_it()

    def _check(self, batch: Any, place: str) -> None:
        """Raises SpecError if a batch does not have one value for each environment."""
        name = OBSERVATION if place == FINAL_OBSERVATION else place
        check_batch(batch, place, self._declared.fields.get(name), self.num_envs)

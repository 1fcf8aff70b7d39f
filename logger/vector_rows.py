"""Records the steps of a vector environment row by row: an `EpisodeLog` for each sub-environment.

This is how a vector environment is recorded where callbacks or schedulers need the steps of each sub-environment;
`vector_columns` does the same for all of them at once.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium.vector import AutoresetMode

from rlds_kit import spec as specs
from rlds_kit.base.step import ACTION, DISCOUNT, INFO, OBSERVATION, REWARD
from rlds_kit.logger import vector_info
from rlds_kit.logger.autoreset import Autoresets
from rlds_kit.logger.batch_fields import BatchField, as_array
from rlds_kit.logger.episode_log import Callbacks, EpisodeLog
from rlds_kit.logger.first_error import FirstError
from rlds_kit.logger.gymnasium_logger import ending_of
from rlds_kit.logger.time_step import GymnasiumTimeStep
from rlds_kit.logger.vector_result import Flags, VectorResult, start_provenance
from rlds_kit.storage.recorder import Recorder


class VectorRows:
    """Records each sub-environment by itself.

    Args:
      recorder: of the episodes.
      declared: the spec of a sub-environment.
      callbacks: for each sub-environment.
      envs: the last argument of the callbacks.
      autoresets: of the sub-environments.
      record_info: whether to record infos.
      record_time: whether to record `time_ns`.
    """

    def __init__(
        self,
        recorder: Recorder,
        declared: specs.Dict,
        callbacks: Sequence[Callbacks],
        envs: object,
        *,
        autoresets: Autoresets,
        record_info: bool,
        record_time: bool,
    ) -> None:
        self._declared, self._record_info = declared, record_info
        self._mode, self._resets = autoresets.mode, autoresets.counters
        self._logs: Final = [EpisodeLog(recorder, each, envs, record_time=record_time) for each in callbacks]
        self._need_time_steps = any(each.need_time_steps for each in callbacks)
        names, lanes = (OBSERVATION, ACTION, REWARD), len(callbacks)
        self._observation, self._action, self._reward = (
            BatchField(name, declared.fields.get(name), lanes) for name in names
        )

    @property
    def running(self) -> np.ndarray:
        """Which sub-environments are within an episode, `[sub-environments]` bool."""
        return np.array([log.is_running for log in self._logs])

    def interrupt(self) -> None:
        """Ends open episodes as INTERRUPTED."""
        for log in self._logs:
            log.interrupt()

    def start(
        self,
        chosen: Sequence[int],
        observations: Any,
        infos: dict[str, Any],
        *,
        seeds: Sequence[object],
        options: object = None,
    ) -> FirstError:
        """Starts an episode of each chosen sub-environment; `seeds` are those of all. Returns the errors."""
        errors, observations, infos = FirstError(), as_array(observations), as_array(infos)
        for index in chosen:
            with errors:
                self._start(index, observations, infos, seed=seeds[index], options=options)
        return errors

    def put_again(self, _actions: Any, _result: Any) -> bool:  # of any type
        """As in `VectorColumns`: does nothing, because each step has callbacks."""
        return False

    def step_again(self, *_: object) -> None:
        """As in `VectorColumns`: no step is made."""

    def settle(self) -> None:
        """As in `VectorColumns`; does nothing."""

    def step(
        self, actions: Any, result: VectorResult, resetting: np.ndarray | None, over: np.ndarray | None
    ) -> FirstError:
        """Records the result of a step, or of an autoreset where `resetting` is true. Returns the errors.

        Episodes end where `over` is true, both `[environments]` bool; None: False everywhere.
        """
        observations, rewards, terminated, truncated, infos = result
        result = as_array(observations), as_array(rewards), terminated, truncated, as_array(infos)
        errors = FirstError()
        for index, log in enumerate(self._logs):
            with errors:
                if resetting is not None and resetting[index]:
                    self._start(index, result[0], result[4], autoreset=True)
                elif log.is_running:
                    self._step(index, actions, result)
            if over is not None and over[index] and self._mode is AutoresetMode.SAME_STEP:
                with errors:
                    self._start_next(index, result)
        return errors

    def _start(
        self, index: int, observations: Any, infos: dict[str, Any], *, autoreset: bool = False, **given: object
    ) -> None:
        log = self._logs[index]
        log.interrupt()
        with log.breaking_off():
            observation, info = self._observed(index, observations, infos)
        time_step = GymnasiumTimeStep.restart(observation, info, index) if self._need_time_steps else None
        log.start(
            self._fields(observation, info),
            time_step,
            provenance=start_provenance(self._resets, index, autoreset=autoreset),
            **given,
        )

    def _step(self, index: int, actions: Any, result: VectorResult) -> None:
        observations, rewards, terminations, truncations, infos = result
        flags = bool(terminations[index]), bool(truncations[index])
        is_same_step = self._mode is AutoresetMode.SAME_STEP
        is_last = is_same_step and any(flags)
        with self._logs[index].breaking_off():
            if is_last:
                observation, info = self._last(index, infos)
            else:
                infos = vector_info.of_steps(infos) if is_same_step else infos
                observation, info = self._observed(index, observations, infos)
            acted = self._action.value(actions, index), self._reward.value(rewards, index)
        self._add(index, observation, info, acted, flags, is_missing=is_last and observation is None)

    def _observed(self, index: int, observations: Any, infos: Any) -> tuple[Any, dict[str, Any]]:
        """The observation and the info of one sub-environment."""
        return self._observation.value(observations, index), vector_info.split(infos, index, len(self._logs))

    def _last(self, index: int, infos: Any) -> tuple[Any, dict[str, Any]]:  # observations have any type
        """The last observation and info of an episode that ended in a step with autoreset SAME_STEP."""
        count = len(self._logs)
        observation = vector_info.final_observation(infos, index, count, self._declared.fields[OBSERVATION])
        return observation, {} if observation is None else vector_info.final_info(infos, index, count)

    def _start_next(self, index: int, result: VectorResult) -> None:
        """Starts the episode of which the result of a step, with autoreset SAME_STEP, has the first observation."""
        self._resets.reset(index, None)
        self._start(index, result[0], vector_info.of_resets(result[4]), autoreset=True)

    def _add(
        self,
        index: int,
        observation: object,
        info: dict[str, Any],
        acted: tuple[object, object],
        flags: Flags,
        *,
        is_missing: bool = False,
    ) -> None:
        action, reward = acted
        time_step = None
        if self._need_time_steps:
            time_step = GymnasiumTimeStep.transition(observation, reward, flags, info, index)
        self._logs[index].step(
            {} if is_missing else self._fields(observation, info),
            {ACTION: action, REWARD: reward, DISCOUNT: 0.0 if flags[0] else 1.0},
            time_step,
            ending=ending_of(*flags),
            flags=flags,
        )

    def _fields(self, observation: object, info: dict[str, Any]) -> dict[str, Any]:
        return {OBSERVATION: observation, INFO: info} if self._record_info else {OBSERVATION: observation}

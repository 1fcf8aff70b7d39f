"""Records a Gymnasium vector environment: one open episode for each sub-environment."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import ACTION
from rlds_kit.closing import Closing
from rlds_kit.logger import provenance
from rlds_kit.logger.action_check import ActionCheck
from rlds_kit.logger.autoreset import Autoresets, flags_of, mode_of
from rlds_kit.logger.batch_fields import BatchField, as_array
from rlds_kit.logger.episode_log import Callback, Callbacks, InfoFunction
from rlds_kit.logger.gymnasium_logger import declare
from rlds_kit.logger.recorder_options import RecorderOptions, tolerant
from rlds_kit.logger.recording import Recorded, Recording, close_both
from rlds_kit.logger.schedulers import Scheduler
from rlds_kit.logger.seeds import SeedSource
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.logger.vector_columns import VectorColumns
from rlds_kit.logger.vector_rows import VectorRows
from rlds_kit.storage.row_log import IS_UNFINISHED, STEPS

RESET_MASK: Final = "reset_mask"
"""The reset option that selects the sub-environments to reset."""
BYPASSES: Final = frozenset(("reset_async", "reset_wait", "step_async", "step_wait", "send", "recv", "xla"))
"""Methods of some vector environments that make steps without calling the wrapper."""

if TYPE_CHECKING:
    _Wrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:
    _Wrapper = VectorWrapper  # generic only in the newest versions of Gymnasium


class VectorLogger(Recorded, Closing, _Wrapper):
    """Wraps a Gymnasium vector environment and records every step of every sub-environment.

    The wrapper is transparent to the caller. The recorded episodes are the same as from separate environments: with
    autoreset NEXT_STEP the call after an episode's end begins the next episode, and its action and zero reward are not
    recorded; with SAME_STEP the last observation and info are those in `final_obs` and `final_info`; with DISABLED
    episodes begin where `options["reset_mask"]` is true. Gymnasium batches rewards and infos, so numbers in them are
    NumPy scalars; where a single environment returns Python's, content digests differ for that reason only.

    An integer seed is recorded as the sub-environments get it: `seed`, `seed + 1`, ... No seeds are drawn unless
    `draw_seeds` is on, as in `GymnasiumLogger`. Episodes that an autoreset began never have a seed: they record the
    last seed of their sub-environment and the resets since.

    Args:
      envs: to record.
      directory: of the dataset; created if it does not exist.
      record_info: whether to record infos.
      info_fn: a callback that gets the info of one sub-environment and returns the part to record; None: all of it.
      step_fn: as in `GymnasiumLogger`, for one sub-environment at a time, whose index is `time_step.env_index`. Its
        last argument is the vector environment.
      episode_fn: likewise.
      metadata: of this run.
      make_scheduler: a function of the index of a sub-environment that returns its scheduler, which gets the steps of
        this one only; None: all steps are recorded.
      draw_seeds: whether to draw a seed for resets without one, which changes the run.
      record_time: whether to record `time_ns`, nanoseconds since the episode began.
      options: `mode`, `policy` and others: see `RecorderOptions`.

    Raises:
      TypeError: `envs` is not a vector environment.
      ValueError: the autoreset mode is missing or unknown, or a step applies only to some of the sub-environments.
      SpecError: a space cannot be recorded, or contradicts the existing dataset.
      DatasetExistsError: the mode does not allow an existing dataset.

    >>> import gymnasium, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with VectorLogger(gymnasium.make_vec("CartPole-v1", num_envs=2), directory) as envs:
    ...         observations, infos = envs.reset(seed=1)
    ...         observations, rewards, terminations, truncations, infos = envs.step(np.array([0, 1]))
    >>> rewards.tolist()
    [1.0, 1.0]
    """

    def __init__(  # noqa: PLR0913  independent keyword arguments
        self,
        envs: VectorEnv[Any, Any, Any],
        directory: str | os.PathLike[str],
        *,
        record_info: bool = True,
        info_fn: InfoFunction | None = None,
        step_fn: Callback | None = None,
        episode_fn: Callback | None = None,
        metadata: Mapping[str, Any] | None = None,
        make_scheduler: Callable[[int], Scheduler] | None = None,
        draw_seeds: bool = False,
        record_time: bool = False,
        **options: Unpack[RecorderOptions],
    ) -> None:
        _check(envs)
        mode, self._lanes = mode_of(envs), envs.num_envs
        reward_space = getattr(envs.unwrapped, "single_reward_space", None)
        declared = declare(envs.single_observation_space, envs.single_action_space, reward_space)
        self._check_action = ActionCheck(declared.fields[ACTION])
        self._action = BatchField(ACTION, declared.fields[ACTION], envs.num_envs)
        schedulers = [None if make_scheduler is None else make_scheduler(index) for index in range(envs.num_envs)]
        callbacks = [Callbacks(step_fn, episode_fn, each, info_fn if record_info else None) for each in schedulers]
        need_rows = any(each != Callbacks() for each in callbacks)
        environment = provenance.of_vector(envs)
        self._recording = Recording(
            self, directory, declared, metadata=metadata, environment=environment, **tolerant(options)
        )
        self._autoresets = Autoresets(mode, envs.num_envs)
        shared: dict[str, Any] = {
            "autoresets": self._autoresets,
            "record_info": record_info,
            "record_time": record_time,
        }
        self._log = (
            VectorRows(self._recording.recorder, declared, callbacks, envs, **shared)
            if need_rows
            else VectorColumns(self._recording.recorder, declared, envs.num_envs, **shared)
        )
        self._recording.before_close(self._log.interrupt)
        self._seeds = SeedSource() if draw_seeds else None
        self._calls = np.zeros(2, np.int64)  # see `step_and_log_in_python`
        self._counts_seeds_by_rank = type(envs.unwrapped).__module__.startswith("ale_py")
        super().__init__(envs)  # last: after this, some versions of Gymnasium close a collected wrapper

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | np.ndarray | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:  # observations have any type
        """Resets the sub-environments, or those of `options["reset_mask"]`; their open episodes end as INTERRUPTED.

        Args:
          seed: as for the vector environment; recorded. None: passed on, unless `draw_seeds` is set.
          options: passed on and, without the mask, recorded.

        Raises:
          RecordingError: recording is not possible any more.
          SpecError: an observation does not match its space, and the logger is strict.
          UnsupportedTypeError: a value cannot be recorded.
        """
        self._recording.check()
        chosen = self._chosen(options)
        given = copy_value(options)
        if given is not None:
            given.pop(RESET_MASK, None)
        passed = self._complete(seed)
        if self._calls[IS_UNFINISHED]:
            self._break_off()
        self._calls[IS_UNFINISHED] = 1
        seeds = self._seed_of_each(passed, chosen)
        self._log.settle()
        self._autoresets.reset(chosen, seeds)
        observations, infos = self.env.reset(seed=passed, options=options)
        if passed is seed and seed is not None and self._seeds is not None:
            self._seeds.follow(seed)
        errors = self._log.start(chosen, observations, infos, seeds=seeds, options=given)
        self._calls[IS_UNFINISHED] = 0
        errors.raise_it()
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # of the environment's types
        """Steps the sub-environments and records what they returned.

        If a row of one of them cannot be recorded, the rows of the others are; then the error is raised.

        Raises:
          RecordingError: recording is not possible any more; nothing was stepped.
          SpecError: observation or reward does not match its space, and the logger is strict; or a batch does not have
            a value for each sub-environment.
          TypeError: infos are no dict of batches, or a mask `_key` does not have a truth value for each.
          UnsupportedTypeError: a value cannot be recorded.
        """
        result = self._log.step_again(self._calls, self._check_action.bounds, self.env.step, actions, self._record)
        return self._step(actions) if result is None else result  # None: no step was made yet

    def _step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # as `step`
        """Makes and records a step that may be unlike earlier ones."""
        self._recording.check()
        check = self._check_action
        taken = check.copy_of(actions)  # the environment may change them
        if taken is None:
            taken = actions.copy() if type(actions) is np.ndarray else as_array(copy_value(actions))
            if check.is_due and not check.are_fine(taken):
                for action in self._executed(taken):
                    check(action, stacklevel=4)
        if self._calls[IS_UNFINISHED]:
            self._break_off()
        self._calls[:] = self._calls[STEPS] + 1, 1
        result = self.env.step(actions)
        if not self._log.put_again(taken, result):
            self._record(taken, result)
        self._calls[IS_UNFINISHED] = 0
        return result

    def _record(self, actions: Any, result: tuple[Any, Any, Any, Any, dict[str, Any]]) -> None:  # as `step`
        """Records the results of a step."""
        observations, rewards, *flags, infos = result
        self._log.settle()
        self._autoresets.step()
        ended = flags_of("terminated", flags[0], self._lanes), flags_of("truncated", flags[1], self._lanes)
        resetting, over = self._autoresets.due, self._autoresets.ended(*ended)
        errors = self._log.step(actions, (observations, rewards, *ended, infos), resetting, over)
        self._calls[IS_UNFINISHED] = 0
        errors.raise_it()

    def close(self, **kwargs: Any) -> None:  # passed through
        """Ends open episodes as INTERRUPTED, writes everything, and closes the environment.

        Raises:
          RecordingError: steps were lost; the environment is closed nevertheless.
        """
        close_both(self._recording.close, lambda: self.env.close(**kwargs))

    def _break_off(self) -> None:
        """Ends open episodes as INTERRUPTED, because the environment raised an error: one call steps all of them."""
        self._log.interrupt()
        if self._autoresets.counters.steps < self._calls[STEPS]:
            self._autoresets.step()
        self._autoresets.forget()

    def _executed(self, actions: Any) -> list[Any]:  # of any type
        """The actions that sub-environments execute at the next step; none if there is not one for each of them."""
        self._log.settle()
        running, due = self._log.running, self._autoresets.due
        playing = np.flatnonzero(running if due is None else running & ~due).tolist()
        try:
            return [self._action.value(actions, index) for index in playing]
        except SpecError:  # raised again when it is recorded, unless the environment raises an error of its own
            return []

    def _chosen(self, options: dict[str, Any] | None) -> list[int]:
        """The sub-environments that a reset with these options resets."""
        mask = None if options is None else options.get(RESET_MASK)
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,):  # the environment will raise an error
            return list(range(self.num_envs))
        return [int(index) for index in np.flatnonzero(mask)]

    def _complete(self, seed: Any) -> Any:  # whatever the vector environment takes
        """The seed, with missing ones drawn."""
        if self._seeds is None:
            return seed
        if seed is None:
            return self._seeds.draw(self.num_envs)
        if isinstance(seed, list) and None in seed:
            return [self._seeds.draw() if each is None else each for each in seed]
        return seed

    def _seed_of_each(self, seed: Any, chosen: list[int]) -> list[Any]:  # as `_complete`
        """The seed of each sub-environment."""
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, int | np.integer):
            given = list(seed)
        elif self._counts_seeds_by_rank:
            given = [int(seed) + rank for rank in range(len(chosen))]
        else:
            return [int(seed) + index for index in range(self.num_envs)]
        if len(given) == self.num_envs and not self._counts_seeds_by_rank:
            return given
        by_index = dict(zip(chosen, given, strict=False))
        return [by_index.get(index) for index in range(self.num_envs)]

    def __getattr__(self, name: str) -> Any:  # additional attributes of the wrapped environment
        if name in BYPASSES:
            raise AttributeError(f"{name}: steps made with it would not be recorded; use reset() and step()")
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)


def _check(envs: object) -> None:
    if not isinstance(envs, VectorEnv):
        raise TypeError(f"expected a gymnasium.vector.VectorEnv, got {envs}; for a single one there is GymnasiumLogger")
    batch_size = getattr(envs.unwrapped, "batch_size", envs.num_envs)
    if batch_size != envs.num_envs:
        raise ValueError(
            f"{envs}: a step serves {batch_size} of its {envs.num_envs} sub-environments, which cannot be recorded in "
            "order; make it with batch_size=num_envs"
        )

"""Records the steps of environments that step together as columns, without Python calls for each environment.

The recorded episodes are the same as with `vector_rows`. Values that no array can have, such as text, are recorded row
by row, only for the environments that have them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from gymnasium.vector import AutoresetMode

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import ACTION, DISCOUNT, INFO, OBSERVATION, REWARD, TIME_NS, EpisodeEnd
from rlds_kit.logger import vector_info
from rlds_kit.logger.autoreset import Autoresets
from rlds_kit.logger.autoreset_starts import AutoresetStarts
from rlds_kit.logger.batch_fields import BatchField, as_array
from rlds_kit.logger.batch_infos import BatchInfos, InfoColumns, InfoRow
from rlds_kit.logger.episode_log import break_off
from rlds_kit.logger.first_error import FirstError
from rlds_kit.logger.last_rows import LastRows
from rlds_kit.logger.vector_result import Flags, VectorResult, start_provenance
from rlds_kit.storage.array_columns import NotColumnsError
from rlds_kit.storage.array_form import any_true
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves, RowKeys
from rlds_kit.storage.bounds import Bounds
from rlds_kit.storage.episode_messages import start_message
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.row_log import BEGIN, CLOSE, REFUSE, Record, RowLog, Step, StepForm

Result = tuple[Any, Any, Any, Any, dict[str, Any]]
"""What a step of the environments returns."""
Acted = tuple[Any, Any, np.ndarray, np.ndarray | None]
"""Actions, rewards, and `[environments]` bool: which episodes have terminated, and which were reset instead."""


_NO_INFOS: Final = InfoRow(InfoColumns(()), (), ())
_FORMS: Final = 8
"""Maximum number of known forms of rows."""
_AFTER_END: Final = {AutoresetMode.NEXT_STEP: BEGIN, AutoresetMode.DISABLED: CLOSE, AutoresetMode.SAME_STEP: REFUSE}


def _is_new(_actions: object, _result: object) -> bool:
    """In place of `VectorColumns.put_again`: records nothing."""
    return False


def _make_no_step(*_: object) -> None:
    """In place of `VectorColumns.step_again`: makes no step."""


class VectorColumns:
    """Records all environments at once.

    Args:
      recorder: of the episodes.
      declared: the spec of one environment.
      num_envs: number of environments.
      autoresets: of the environments.
      record_info: whether to record infos.
      record_time: whether to record `time_ns`.

    Attributes:
      running: `[environments]` bool, which are within an episode; valid after `settle`. Replaced, never changed.
      put_again: records the actions and results of a step that is like earlier ones, with its autoresets; returns
        whether it did. Most steps are such. If it did not, nothing has changed. If it did, the step is counted in
        `settle`.
      step_again: makes a step and records it, if it can be recorded by `put_again`; see `step_and_log_in_python`.
    """

    def __init__(
        self,
        recorder: Recorder,
        declared: specs.Dict,
        num_envs: int,
        *,
        autoresets: Autoresets,
        record_info: bool,
        record_time: bool,
    ) -> None:
        self.running = np.zeros(num_envs, np.bool_)
        self._broken_off = np.zeros(num_envs, np.bool_)  # whose last episode was broken off
        self._none = np.zeros(num_envs, np.bool_)
        self._forms = dict[InfoColumns, RowKeys]()  # of rows that `put_again` adds, by those of their infos
        self._log: RowLog | None = None  # of these rows
        self.put_again: Callable[[Any, Any], bool] = _is_new
        self.step_again: Callable[[np.ndarray, Bounds | None, Step, Any, Record], Result | None] = _make_no_step
        self._rows = recorder.start_batch(num_envs)
        self._declared, self._num_envs = declared, num_envs
        self._autoresets, self._mode, self._resets = autoresets, autoresets.mode, autoresets.counters
        self._autoreset = AutoresetStarts(self._resets)
        fields = {name: BatchField(name, declared.fields.get(name), num_envs) for name in (OBSERVATION, ACTION, REWARD)}
        self._observation, self._action, self._reward = fields.values()
        infos = (BatchInfos(num_envs, self._none) if record_info else None for _ in range(2))
        self._infos, last_infos = infos
        self._last_rows = LastRows(self._observation, last_infos, num_envs)
        self._started_ns = np.zeros(num_envs, np.int64) if record_time else None
        acted = self._rows.fields.leaves({}, {DISCOUNT: 1.0})[1]
        self._discount = acted.keys[0]
        observed = self._rows.fields.leaves({TIME_NS: 0}, {})[0]
        self._time = observed.keys[0]

    @property
    def awaiting_autoreset(self) -> np.ndarray:
        """Which environments record again from their next autoreset on, `[environments]` bool."""
        return self._none if self._mode is AutoresetMode.DISABLED else self._broken_off

    def interrupt(self) -> None:
        """Ends open episodes as INTERRUPTED."""
        self.settle()
        lanes, self.running = self.running, np.zeros(self._num_envs, np.bool_)
        self._broken_off |= lanes
        self._rows.end_where(lanes, EpisodeEnd.INTERRUPTED)

    def start(
        self,
        chosen: Sequence[int],
        observations: Any,
        infos: dict[str, Any],
        *,
        seeds: Sequence[object],
        options: object = None,
    ) -> FirstError:
        """Starts an episode of each chosen environment; `seeds` has one for every environment. Returns the errors."""
        errors = FirstError()
        lanes, starts = np.array([*chosen], np.int64), dict[int, pb.EpisodeStart]()
        for lane in chosen:
            try:  # a `with` statement for each would be a tenth of the calls
                provenance = start_provenance(self._resets, lane, autoreset=False)
                starts[lane] = start_message(provenance=provenance, seed=seeds[lane], options=options)
            except BaseException:
                with errors.of(lane), self._breaking_off(lane):
                    raise
        with errors:
            self._rows.start(starts)
            self._is_begun([*starts])
        self._append(lanes[self.running[lanes]], as_array(observations), infos, None, errors)
        return errors

    def step(
        self, actions: Any, result: VectorResult, resetting: np.ndarray | None, over: np.ndarray | None
    ) -> FirstError:
        """Records the results of a step, which resets environments where `resetting` is true. Called after `settle`.

        Episodes end where `over` is true, both `[environments]` bool; None: False everywhere. Returns the errors.
        """
        observations, rewards, terminated, truncated, infos = result
        errors = FirstError()
        if resetting is not None:
            self._begin_next(resetting, errors)
        acted = as_array(actions), as_array(rewards), terminated, resetting
        is_same_step = self._mode is AutoresetMode.SAME_STEP
        if over is not None and is_same_step:
            self._step_and_begin(as_array(observations), as_array(infos), acted, truncated, over, errors)
        else:
            own = vector_info.of_steps(as_array(infos)) if is_same_step else infos
            self._append(self.running.nonzero()[0], as_array(observations), own, acted, errors)
            if over is not None:
                self._end(over & self.running, truncated, terminated)
        self._open_log()
        return errors

    def settle(self) -> None:
        """Takes over what steps have changed that were recorded again: resets, and who is within an episode."""
        log, resets = self._log, self._autoresets
        if log is None:
            return
        log.close()
        counters, due = resets.counters, log.due
        counts, steps = counters.after(log.begins())
        next_due = due if self._mode is AutoresetMode.NEXT_STEP and any_true(due) else None
        now = ~due
        if self._log is log:  # no call follows: a signal handler, which may raise or settle, comes before or after it
            self._log, self.put_again, self.step_again, self.running = None, _is_new, _make_no_step, now
            resets.due, counters.counts, counters.steps = next_due, counts, steps

    def running_now(self) -> np.ndarray:
        """As `running`, without `settle`: for other threads than the one that records."""
        log = self._log
        return self.running.copy() if log is None else ~log.due

    def _open_log(self) -> None:
        """Prepares to repeat steps, if all environments are within an episode, or begin one with the next step."""
        due = self._none if self._autoresets.due is None else self._autoresets.due
        if self._forms and not any_true(self._broken_off) and self._autoreset.are_ready():
            infos = [(None, _NO_INFOS.columns)] if self._infos is None else self._infos.forms
            forms = [StepForm(each, keys) for each, columns in infos if (keys := self._forms.get(columns)) is not None]
            log = self._rows.open_log(due, forms, _AFTER_END[self._mode], self._autoreset.of_log)
            if log is not None:
                self._log, self.put_again, self.step_again = log, log.put, log.step

    def _step_and_begin(
        self,
        observations: Any,
        infos: dict[str, Any],
        acted: Acted,
        truncated: np.ndarray,
        over: np.ndarray,
        errors: FirstError,
    ) -> None:
        """Records a step with autoreset SAME_STEP: the observations of episodes that are over are those of the next."""
        ended = over & self.running
        self._append((self.running & ~ended).nonzero()[0], observations, vector_info.of_steps(infos), acted, errors)
        if any_true(ended):
            self._append_last(ended.nonzero()[0], observations, infos, acted, errors)
            self._end(ended & self.running, truncated, acted[2])
        self._resets.reset_without_seed(over)
        self._begin_next(over, errors)
        self._append((over & self.running).nonzero()[0], observations, vector_info.of_resets(infos), None, errors)

    def _begin_next(self, lanes: np.ndarray, errors: FirstError) -> None:
        """Begins the episodes of some lanes, `[environments]` bool, that autoresets start."""
        starts = self._autoreset.starts(lanes)
        for lane, error in self._autoreset.failed.items():
            lanes = lanes & (np.arange(self._num_envs) != lane)
            with errors.of(lane), self._breaking_off(lane):
                raise error
        self._rows.start_later(lanes, starts)
        self._is_begun(lanes)

    def _is_begun(self, lanes: np.ndarray | list[int]) -> None:
        """Notes that the episodes of some lanes have begun."""
        self.running = self.running.copy()
        self.running[lanes] = True
        if any_true(self._broken_off):
            self._broken_off[lanes] = False
        if self._started_ns is not None:
            self._started_ns[lanes] = 0

    def _end(self, ended: np.ndarray, truncated: np.ndarray, terminated: np.ndarray) -> None:
        """Ends the episodes of some environments."""
        if not any_true(truncated):
            self._end_with(EpisodeEnd.TERMINATED, (True, False), ended)
            return
        self._end_with(EpisodeEnd.TERMINATED, (True, False), ended & ~truncated)
        self._end_with(EpisodeEnd.TRUNCATED, (False, True), ended & ~terminated)
        self._end_with(EpisodeEnd.TERMINATED, (True, True), ended & terminated & truncated)

    def _end_with(self, ending: EpisodeEnd, flags: Flags, ended: np.ndarray) -> None:
        """Ends the episodes of some environments that are running, all with these flags."""
        if any_true(ended):
            self.running = self.running ^ ended
            self._rows.end_where(ended, ending, terminated=flags[0], truncated=flags[1])

    def _learn(self, infos: Any) -> None:
        """Adds the form of the last row, which had actions, and no time, to the known ones.

        Its fields must be arrays that are valid whatever their values are.
        """
        fields = [each.known for each in (self._observation, self._action, self._reward)]
        keys = [each[0] for each in fields if each is not None]
        row = _NO_INFOS if self._infos is None else self._infos.again(infos)
        if row is None or len(keys) < len(fields):
            return
        observed, acted = (keys[0], *row.columns.keys), (*keys[1:], self._discount)
        known = self._forms.get(row.columns)
        if known is not None and (known.observed, known.acted) == (observed, acted):
            return
        if len(self._forms) > _FORMS:
            self._forms.clear()
        self._forms[row.columns] = RowKeys(observed, acted)

    def _append(
        self,
        lanes: np.ndarray,
        observations: Any,
        infos: dict[str, Any],
        acted: Acted | None,
        errors: FirstError,
    ) -> None:
        """Adds a row to some lanes."""
        if not len(lanes):
            return
        times = self._times(lanes)
        try:
            leaves, single = self._leaves(observations, infos, acted, times)
        except NotColumnsError:
            leaves, single = BatchLeaves(), np.ones(self._num_envs, np.bool_)
        with errors:
            self._warn()
        if single is self._none or not any_true(single):
            are_all = len(lanes) == self._num_envs
            self._rows.append(leaves, None if are_all else lanes)
            if are_all and acted is not None and times is None:
                self._learn(infos)
            return
        self._rows.append(leaves, lanes[~single[lanes]])
        for lane in lanes[single[lanes]].tolist():
            with errors.of(lane), self._breaking_off(lane):
                observation = self._observation.value(observations, lane)
                info = {} if self._infos is None else vector_info.split(as_array(infos), lane, self._num_envs)
                self._append_row(lane, observation, info, acted, times)

    def _leaves(
        self, observations: Any, infos: dict[str, Any], acted: Acted | None, times: np.ndarray | None
    ) -> tuple[BatchLeaves, np.ndarray]:
        """The columns of all lanes, and `[lanes]` bool: which must be recorded row by row."""
        fields = self._rows.fields
        observed = self._observation.leaves(observations, fields, is_acted=False)
        single = self._none
        if self._infos is not None:
            found, single = self._infos.leaves(infos, fields)
            observed += found
        if times is not None:
            observed.append(BatchLeaf(self._time, times))
        return BatchLeaves(observed, [] if acted is None else self._acted(acted)), single

    def _acted(self, acted: Acted) -> list[BatchLeaf]:
        """The columns of actions and their results."""
        (actions, rewards, terminated, _), fields = acted, self._rows.fields
        done = self._action.leaves(actions, fields, is_acted=True) + self._reward.leaves(rewards, fields, is_acted=True)
        return [*done, BatchLeaf(self._discount, _discounts(terminated))]

    def _append_last(self, lanes: np.ndarray, observations: Any, infos: Any, acted: Acted, errors: FirstError) -> None:
        """Adds the last row of episodes that ended with an autoreset in the same step, which has other observations."""
        times, fields = self._times(lanes), self._rows.fields
        timed = [] if times is None else [BatchLeaf(self._time, times)]
        try:
            observed = self._last_rows.leaves(infos, lanes, observations, fields=fields, times=timed)
            leaves = None if observed is None else BatchLeaves(observed, self._acted(acted))
        except NotColumnsError:
            leaves = None
        if leaves is not None:
            with errors:
                self._warn()
            self._rows.append(leaves, lanes)
            return
        for lane in lanes.tolist():
            with errors.of(lane), self._breaking_off(lane):
                spec = self._declared.fields.get(OBSERVATION)
                observation = vector_info.final_observation(infos, lane, self._num_envs, spec)
                is_missing = observation is None
                has_info = not is_missing and self._infos is not None
                info = vector_info.final_info(infos, lane, self._num_envs) if has_info else {}
                self._append_row(lane, observation, info, acted, times, is_missing=is_missing)

    def _append_row(
        self,
        lane: int,
        observation: Any,
        info: dict[str, Any],
        acted: Acted | None,
        times: np.ndarray | None,
        *,
        is_missing: bool = False,
    ) -> None:
        """Adds a row to one lane; its observation may be missing."""
        observed = {} if is_missing else {OBSERVATION: observation}
        if observed and self._infos is not None:
            observed[INFO] = info
        if observed and times is not None:
            observed[TIME_NS] = int(times[lane])
        done = {}
        if acted is not None and (acted[3] is None or not acted[3][lane]):
            actions, rewards, terminated, _ = acted
            action, reward = self._action.value(actions, lane), self._reward.value(rewards, lane)
            done = {ACTION: action, REWARD: reward, DISCOUNT: 0.0 if terminated[lane] else 1.0}
        self._rows.append_row(lane, *self._rows.fields.leaves(observed, done))
        self._warn()

    @contextmanager
    def _breaking_off(self, lane: int) -> Iterator[None]:
        """Ends the episode of a lane, if it has one, when its next row cannot be made or recorded."""
        try:
            yield
        except BaseException as error:
            self.running = self.running & (np.arange(self._num_envs) != lane)
            self._broken_off[lane] = True
            lanes = [lane] if self._rows.is_open(lane) else []
            break_off(error, lambda: self._rows.end(lanes, EpisodeEnd.INTERRUPTED))
            raise

    def _warn(self) -> None:
        deviations = self._rows.fields.deviations
        if deviations.has_pending():
            deviations.warn()

    def _times(self, lanes: np.ndarray) -> np.ndarray | None:
        """`[environments]` int64, nanoseconds since the first row of each episode."""
        if self._started_ns is None:
            return None
        now = time.monotonic_ns()
        first = lanes[self._started_ns[lanes] == 0]
        self._started_ns[first] = now
        return now - self._started_ns


def _discounts(terminated: np.ndarray) -> np.ndarray:
    """1 where an episode goes on, 0 where it has terminated."""
    found: np.ndarray = (~terminated).astype(np.float64)  # a subtraction would convert flags in large buffers
    return found

"""Runs trials, many at a time."""

import asyncio
import dataclasses
import itertools
import logging
import os
import secrets
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from rlds_kit.closing import AsyncClosing
from rlds_kit.trials.actors.actor_pool import START_SECONDS, ActorPool
from rlds_kit.trials.actors.contract import Judgement
from rlds_kit.trials.engine import events, messages
from rlds_kit.trials.engine.config import TrialConfig
from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.engine.seat import Driver
from rlds_kit.trials.hosts.actor_seats import ActorSeats
from rlds_kit.trials.hosts.actor_source import ActorSource
from rlds_kit.trials.hosts.finished_trial import FinishedTrial, TrialRefusedError, TrialState
from rlds_kit.trials.hosts.hosted_trial import HostedTrial
from rlds_kit.trials.hosts.judgements import LayerFile
from rlds_kit.trials.hosts.observer import Observer, Unobserved
from rlds_kit.trials.hosts.played_environment import Environments, PlayedEnvironment
from rlds_kit.trials.hosts.trial_setup import ActorConfig, InvalidSetupError, TrialSetup, trial_config
from rlds_kit.trials.hosts.watching import Watcher
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.backend import Processes, WorkerBackend
from rlds_kit.trials.workers.pool import EnvironmentLostError, RequestFailedError, WorkerPool

log = logging.getLogger(__name__)
Hook = Callable[[TrialSetup], Awaitable[TrialSetup]]
OnAmended = Callable[[str, str, int, float], object]
KEPT: Final = 256
"""Trials that ended, and may still get rewards; older ones are judged in their dataset."""
_SEED_BITS: Final = 31


@dataclasses.dataclass(slots=True)
class _Run:
    """A trial of the host.

    Attributes:
      id: of the trial.
      number: in the host.
      setup: after the hooks.
      task: that runs it.
      hosted: while it has an environment, and after it; None: it has none yet.
      seed: of the environment.
      is_over: whether it is.
    """

    id: str
    number: int
    setup: TrialSetup
    seed: int
    task: "asyncio.Task[FinishedTrial] | None" = None
    hosted: HostedTrial | None = None
    is_over: bool = False


class TrialHost(AsyncClosing):
    """Runs trials: environments and actors in processes of their own, every step recorded before anybody sees it.

    Use it in an `async with` statement; leaving it ends what still runs.

    Args:
      directory: of the dataset; made if it is not there. None: nothing is recorded.
      parallel: how many trials run at a time; others wait. None: as many as there are cores.
      is_here: whether everything runs in this program, without processes: for tests, and for actors that are no part of
        a module. A slow actor then stops all trials.
      hooks: each gets the whole setup of a trial before it begins, and returns the one to use.
      amended: called with trial, seat, step and the new aggregate whenever a reward is recorded.
      about: name, description, citation and licence of the dataset.
      start_seconds: for an implementation of actors to be imported, and for an actor to be made.
      sources: of actors that are elsewhere, by the name of their implementation.
      observer: gets what is measured.
      backend: that starts the processes, as `RayCluster` of `rlds_kit.trials.ray` does on other machines; its creator
        closes it. None: this machine.

    Raises:
      ValueError: both `is_here` and `backend`.
    """

    def __init__(  # noqa: PLR0913  one for each setting
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        parallel: int | None = None,
        is_here: bool = False,
        hooks: Sequence[Hook] = (),
        amended: OnAmended | None = None,
        about: Mapping[str, str] | None = None,
        start_seconds: float = START_SECONDS,
        sources: Mapping[str, ActorSource] | None = None,
        observer: Observer | None = None,
        backend: WorkerBackend | None = None,
    ) -> None:
        if is_here and backend is not None:
            raise ValueError("expected is_here or a backend, got both: what is here needs no processes")
        starts: WorkerBackend = backend or Processes()
        self._directory = None if directory is None else os.fspath(directory)
        self._parallel = parallel or max(1, int(starts.resources()["CPU"]))
        self._hooks, self._amended, self._about = tuple(hooks), amended, dict(about or {})
        self._pool = None if is_here else self._made_pool(starts)
        self._environments = Environments(self._pool, self._parallel if is_here else 2 * self._parallel)
        self._sources, self._observer = dict(sources or {}), observer or Unobserved()
        self._actors = ActorPool(is_here=is_here, start_seconds=start_seconds, backend=starts, end_idle=self._end_idle)
        self._layer = None if self._directory is None else LayerFile(self._directory)
        self._places = asyncio.Semaphore(self._parallel)
        self._numbers = itertools.count()
        self._runs: dict[str, _Run] = {}
        self._watchers: list[Watcher] = []
        self._ended: deque[_Run] = deque()
        self._submitted: set[asyncio.Task[None]] = set()

    def _made_pool(self, backend: WorkerBackend) -> WorkerPool:
        """Twice as many places as trials: an environment that is free need not be closed for one of another kind."""
        each = backend.environments_per_worker
        workers = max(1, 2 * self._parallel // each)
        return WorkerPool(workers, environments_per_worker=each, backend=backend, end_idle=self._end_idle)

    async def _end_idle(self) -> None:
        """Ends the processes of environments and actors that no trial has."""
        await self._environments.end_idle()
        if self._pool is not None:
            await self._pool.end_idle()
        await self._actors.end_idle()

    async def start(self, setup: TrialSetup) -> str:
        """Begins a trial, when there is a place for it.

        Returns:
          Its id.

        Raises:
          TrialRefusedError: a hook raised an error, which is its cause; or the id is another trial's.
        """
        run = await self._accepted(setup)
        await self._begin(run)
        return run.id

    async def submit(self, setup: TrialSetup) -> str:
        """As `start`, but returns at once: the trial begins as soon as there is a place for it.

        Returns:
          Its id.

        Raises:
          TrialRefusedError: as of `start`.
        """
        run = await self._accepted(setup)
        task = asyncio.create_task(self._begin(run))
        self._submitted.add(task)
        task.add_done_callback(self._submitted.discard)
        return run.id

    async def _accepted(self, setup: TrialSetup) -> _Run:
        number = next(self._numbers)
        setup = await self._hooked(setup)
        trial_id = setup.trial_id or uuid.uuid4().hex
        if trial_id in self._runs:
            raise TrialRefusedError(f"expected an id that no trial has, got {trial_id!r}")
        seed = secrets.randbits(_SEED_BITS) if setup.seed is None else setup.seed
        run = self._runs[trial_id] = _Run(trial_id, number, setup, seed)
        return run

    async def _begin(self, run: _Run) -> None:
        await self._places.acquire()
        run.task = asyncio.create_task(self._run(run))
        run.task.add_done_callback(lambda done: self._over(run, done))

    def _over(self, run: _Run, done: "asyncio.Task[FinishedTrial]") -> None:
        """Makes a place for the next trial, and forgets all of an old one but its id."""
        self._places.release()
        run.is_over = True
        if run.hosted is None:
            self._changed(run)
        if not done.cancelled() and done.exception() is None:
            self._observer.finished(done.result())
        self._ended.append(run)
        if len(self._ended) > KEPT:
            old = self._ended.popleft()
            old.hosted, old.task = None, None

    async def _hooked(self, setup: TrialSetup) -> TrialSetup:
        """What the chain of hooks makes of a setup."""
        for hook in self._hooks:
            try:
                setup = await hook(setup)
            except Exception as error:
                raise TrialRefusedError(f"a hook refused the trial: {type(error).__name__}: {error}") from error
            if not isinstance(setup, TrialSetup):
                raise TrialRefusedError(f"expected a hook to return a TrialSetup, got {type(setup).__name__}")
        return setup

    async def result(self, trial_id: str) -> FinishedTrial:
        """Waits until a trial is over.

        Raises:
          KeyError: there is no such trial.
        """
        task = self._runs[trial_id].task
        if task is None:
            raise KeyError(trial_id)
        return await asyncio.shield(task)

    def end(self, trial_id: str, reason: str = "it was ended", *, is_hard: bool = False) -> bool:
        """Ends a trial: after one more step, or at once; returns whether it had begun and was not over.

        Raises:
          KeyError: there is no such trial.
        """
        hosted = self._runs[trial_id].hosted
        return hosted is not None and hosted.handle(events.Stop(hosted.now(), reason, is_hard=is_hard)) is None

    async def swap(self, trial_id: str, seat: str, actor: ActorConfig) -> None:
        """Has another actor act from a seat of a trial that runs.

        Raises:
          KeyError: there is no such trial.
          ValueError: it does not run.
          ActorError: the actor cannot be made, or there is no such seat; nothing changed.
        """
        await self._hosted(trial_id).swap(seat, actor)

    async def reward(
        self,
        trial_id: str,
        seat: str,
        value: float,
        *,
        source: str,
        confidence: float = 1.0,
        step: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> dict[str, float]:
        """Gives a reward to any step of a trial that was done, also after its end; returns when it is on the disk.

        Args:
          trial_id: of the trial.
          seat: name of a seat, "*" for all, or "class.*" for those of a class.
          value: the reward.
          source: who gives it.
          confidence: 0 to 1.
          step: from 1; None: the latest.
          details: anything to record with it.

        Returns:
          By seat, the new aggregate of the step.

        Raises:
          KeyError: there is no such trial.
          ValueError: the reward was refused: the message says why.
          OSError: it could not be written.
        """
        judgement = Judgement(seat, value, confidence, step, details or {})
        return await self._hosted(trial_id).reward(source, judgement)

    def say(self, trial_id: str, sender: str, content: str, to: Sequence[str] = ()) -> str | None:
        """Sends text from a seat to others; returns why it was refused, or None.

        Args:
          trial_id: of the trial.
          sender: name of a seat.
          content: text.
          to: names of seats, or "class.*"; empty: all others.

        Raises:
          KeyError: there is no such trial.
          ValueError: it does not run.
        """
        hosted = self._hosted(trial_id)
        return hosted.handle(events.MessageSent(hosted.now(), sender, content, tuple(to)))

    def _hosted(self, trial_id: str) -> HostedTrial:
        hosted = self._runs[trial_id].hosted
        if hosted is None:
            raise ValueError(f"trial {trial_id} has not begun, or ended more than {KEPT} trials ago")
        return hosted

    def trials(self, *phases: Phase) -> list[TrialState]:
        """Where all trials stand that have begun, or those in some phases."""
        states = [self._state(run) for run in self._runs.values() if run.hosted is not None]
        return [state for state in states if not phases or state.phase in phases]

    def state(self, trial_id: str) -> TrialState:
        """Where a trial stands, also one that waits for its place; the phase of one that was forgotten is `ENDED`.

        Raises:
          KeyError: there is no such trial.
        """
        return self._state(self._runs[trial_id])

    def finished(self, trial_id: str) -> FinishedTrial | None:
        """What became of a trial; None: it is not over, or ended more than 256 trials ago.

        Raises:
          KeyError: there is no such trial.
        """
        task = self._runs[trial_id].task
        return None if task is None or not task.done() or task.cancelled() or task.exception() else task.result()

    def states(self) -> list[TrialState]:
        """Where all trials stand: those that wait to begin, those that run, and the latest that are over."""
        return [self._state(run) for run in self._runs.values() if run.task is not None or not run.is_over]

    async def watch(self) -> AsyncIterator[TrialState]:
        """The states of all trials: every phase, and their steps; the latest of those that come faster than one reads.

        It begins with the trials of now, and ends when the host is closed.
        """
        watcher = Watcher(self._observer.dropped)
        self._watchers.append(watcher)
        try:
            for state in self.states():
                yield state
            async for state in watcher.states():
                yield state
        finally:
            self._watchers.remove(watcher)

    def _state(self, run: _Run) -> TrialState:
        hosted = run.hosted
        return TrialState(
            id=run.id,
            number=run.number,
            phase=_phase(run),
            step=0 if hosted is None else hosted.step,
            seconds=0.0 if hosted is None else hosted.seconds,
            totals={} if hosted is None else hosted.totals,
            observations={} if hosted is None else hosted.observations,
            properties=run.setup.properties,
        )

    def _changed(self, run: _Run) -> None:
        if self._watchers:
            state = self._state(run)
            for watcher in self._watchers:
                watcher.show(state)

    async def _run(self, run: _Run) -> FinishedTrial:
        seats = ActorSeats(self._actors, run.setup, run.id, run.seed, self._sources)
        opened = self._open(run.setup)
        try:
            environment = await self._environments.take(opened, run.setup.placement)
        except (RequestFailedError, EnvironmentLostError) as error:
            return self._finished(run, {}, Status.ABANDONED, str(error))
        try:
            missing = await self._play(run, environment, seats)
        except InvalidSetupError as error:
            return dataclasses.replace(self._finished(run, {}, None, str(error)), error=error)
        finally:
            is_usable = run.hosted is None or not run.hosted.is_environment_lost
            await self._environments.give_back(opened, run.setup.placement, environment, is_usable=is_usable)
            failures = await seats.end()
        return self._finished(run, failures, Status.ABANDONED, missing)

    async def _play(self, run: _Run, environment: PlayedEnvironment, seats: ActorSeats) -> str:
        """Plays a trial; returns why it could not begin, or ""."""
        config = trial_config(run.setup, environment.opened, run.seed)
        config, missing = _without(config, await seats.take(environment.opened))
        if missing:
            return missing
        run.hosted = HostedTrial(
            config,
            environment,
            seats,
            layer=self._layer,
            changed=lambda: self._changed(run),
            amended=lambda amended: self._notify(run, amended),
            observer=self._observer,
        )
        self._changed(run)
        await run.hosted.run(_metadata(run))
        return ""

    def _open(self, setup: TrialSetup) -> requests.Open:
        spec = dataclasses.replace(setup.environment, is_for_people=False)
        return requests.Open(spec, self._directory, self._about, are_observations_returned=True)

    def _notify(self, run: _Run, amended: messages.Amended) -> None:
        if self._amended is not None and isinstance(amended.judgement, events.RewardGiven):
            self._amended(run.id, amended.judgement.seat, amended.step, amended.aggregate)

    def _finished(
        self, run: _Run, failures: Mapping[str, str], status: Status | None = None, reason: str = ""
    ) -> FinishedTrial:
        hosted = run.hosted
        finish = None if hosted is None else hosted.finish
        return FinishedTrial(
            id=run.id,
            number=run.number,
            setup=run.setup,
            status=status if finish is None else finish.status,
            reason=reason if finish is None else finish.reason,
            steps=0 if finish is None else finish.steps,
            totals={} if finish is None else finish.totals,
            seed=run.seed,
            episode_id="" if hosted is None else hosted.episode_id,
            failures=failures,
        )

    async def close(self) -> None:
        """Ends the trials that run as `abandoned`, and all processes."""
        for each in self._submitted:
            each.cancel()
        for run in self._runs.values():
            if run.hosted is not None:
                run.hosted.handle(events.Stop(run.hosted.now(), "the host is closed"))
            elif run.task is not None and not run.task.done():
                run.task.cancel()
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)
        for run in self._runs.values():
            if run.hosted is not None:
                await run.hosted.settle()
        if self._layer is not None:
            await asyncio.to_thread(self._layer.close)
        await self._environments.close()
        if self._pool is not None:
            await self._pool.close()
        await self._actors.close()
        for watcher in self._watchers:
            watcher.close()


def _phase(run: _Run) -> Phase:
    if run.hosted is None:
        return Phase.ENDED if run.is_over else Phase.INITIALIZING
    return run.hosted.phase


def _without(config: TrialConfig, failed: Mapping[str, str]) -> tuple[TrialConfig, str]:
    """A trial without actors that could not be made; and why there can be no trial, if one of them is required."""
    required = [
        f"{each.name}: {failed[each.name]}" for each in config.seats if each.name in failed and each.is_required
    ]
    seats = tuple(
        dataclasses.replace(each, driver=Driver.NOBODY) if each.name in failed else each for each in config.seats
    )
    return dataclasses.replace(config, seats=seats), "; ".join(required)


def _metadata(run: _Run) -> dict[str, Any]:
    """What is recorded with the episode at its beginning; the same for the same setup and seed."""
    setup = run.setup
    known = {"trial": setup.trial_id, "user": setup.user, "properties": dict(setup.properties) or None}
    return {name: each for name, each in known.items() if each is not None}

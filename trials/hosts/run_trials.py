"""Runs trials for a training loop, which gets each as soon as it is over."""

import asyncio
import contextlib
import dataclasses
import os
import queue
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Final

from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.trials.hosts.finished_trial import FinishedTrial, TrialRefusedError
from rlds_kit.trials.hosts.trial_host import TrialHost
from rlds_kit.trials.hosts.trial_setup import TrialSetup

_OVER: Final = object()


async def run_trials_async(
    setups: TrialSetup | Iterable[TrialSetup],
    n: int | None = None,
    *,
    directory: str | os.PathLike[str] | None = None,
    **options: Any,
) -> AsyncIterator[FinishedTrial]:
    """Runs trials, and yields each as soon as it is over, while the others go on.

    Args:
      setups: of the trials; or one of them, for `n` trials: trial k has its seed plus k.
      n: how many trials of one setup.
      directory: of the dataset; None: nothing is recorded.
      options: for `TrialHost`: `parallel`, `hooks`, `is_here` and others.

    Yields:
      Trials, in the order in which they end. Those that were refused have an `error`.
    """
    finished: asyncio.Queue[FinishedTrial | object] = asyncio.Queue()
    async with TrialHost(directory, **options) as host:
        feeding = asyncio.create_task(_start_all(host, _all(setups, n), finished))
        try:
            while (each := await finished.get()) is not _OVER:
                assert isinstance(each, FinishedTrial)  # noqa: S101  nothing else is put
                yield each
            await feeding
        finally:
            await cancel_and_wait(feeding)


def _all(setups: TrialSetup | Iterable[TrialSetup], n: int | None) -> Iterable[TrialSetup]:
    if not isinstance(setups, TrialSetup):
        if n is not None:
            raise ValueError(f"expected n only with a single setup, got n={n}")
        return setups
    if n is None:
        raise ValueError("expected n, the number of trials of the setup")
    if n > 1 and setups.trial_id is not None:
        raise ValueError(f"expected a setup without trial_id for {n} trials, got {setups.trial_id!r}")
    return (
        setups if setups.seed is None else dataclasses.replace(setups, seed=setups.seed + number) for number in range(n)
    )


async def _start_all(
    host: TrialHost, setups: Iterable[TrialSetup], finished: "asyncio.Queue[FinishedTrial | object]"
) -> None:
    """Starts all trials; puts those that are over, and then the end."""
    waiting: set[asyncio.Task[None]] = set()
    try:
        for number, setup in enumerate(setups):
            try:
                trial_id = await host.start(setup)
            except TrialRefusedError as error:
                refused = FinishedTrial(
                    id=setup.trial_id or "",
                    number=number,
                    setup=setup,
                    status=None,
                    totals={},
                    failures={},
                    reason=str(error),
                    error=error,
                )
                finished.put_nowait(refused)
                continue
            waiting.add(asyncio.create_task(_wait(host, trial_id, finished)))
        await asyncio.gather(*waiting)
    finally:
        for each in waiting:
            each.cancel()
        finished.put_nowait(_OVER)


async def _wait(host: TrialHost, trial_id: str, finished: "asyncio.Queue[FinishedTrial | object]") -> None:
    finished.put_nowait(await host.result(trial_id))


def run_trials(
    setups: TrialSetup | Iterable[TrialSetup],
    n: int | None = None,
    *,
    directory: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Iterator[FinishedTrial]:
    """As `run_trials_async`, for programs without an event loop: trials go on in a thread while the caller works.

    Closing the iterator, also by leaving its loop, ends the trials that run.

    >>> from rlds_kit.trials import EnvironmentSpec, TrialSetup
    >>> setup = TrialSetup(environment=EnvironmentSpec("CartPole-v1"), actors={"player": "random"}, seed=1, max_steps=5)
    >>> sorted((trial.seed, trial.steps) for trial in run_trials(setup, 2, is_here=True))
    [(1, 5), (2, 5)]
    """
    finished: queue.SimpleQueue[FinishedTrial | BaseException | object] = queue.SimpleQueue()
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []
    started = threading.Event()

    async def forward() -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  this is one
        loops.append((asyncio.get_running_loop(), task))
        started.set()
        async for each in run_trials_async(setups, n, directory=directory, **options):
            finished.put(each)

    def run() -> None:
        try:
            asyncio.run(forward())
        except asyncio.CancelledError:
            pass  # the caller has seen enough
        except BaseException as error:  # noqa: BLE001  it is raised where the caller is
            finished.put(error)
        finally:
            started.set()
            finished.put(_OVER)

    thread = threading.Thread(target=run, name="rlds_kit-trials")
    thread.start()
    try:
        while (each := finished.get()) is not _OVER:
            if isinstance(each, BaseException):
                raise each
            assert isinstance(each, FinishedTrial)  # noqa: S101  nothing else is put
            yield each
    finally:
        started.wait()
        for loop, task in loops:
            with contextlib.suppress(RuntimeError):  # it is closed already
                loop.call_soon_threadsafe(task.cancel)
        thread.join()

"""Trials are not late while another one fails, in a time that passes only while everything waits."""

import asyncio
import dataclasses
import selectors
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit.trials import ActorInfo, Status, TrialHost, TrialSetup
from rlds_kit.trials.hosts import hosted_trial
from rlds_kit.trials.hosts.clock import SteadyClock
from tests.trials.hosts.running import PENNIES

pytest.importorskip("pettingzoo")
FRAME: Final = 1 / 60
OTHERS: Final = 3
_LONGEST: Final = 100.0
STEPS: Final = 240


class _Selector(selectors.DefaultSelector):
    """Does not wait: it moves the clock on to when something is due; what is due much later waits for a thread."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; else time has passed."""
        if timeout is None or timeout > _LONGEST:
            return super().select(timeout)
        ready = super().select(0)
        self.now += 0.0 if ready else max(timeout, 0.0)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose time is the selector's."""

    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        """Seconds."""
        return self.selector.now


class Paced:
    """Sixty actions a second; after ten, `trouble`."""

    async def reset(self, info: ActorInfo) -> None:
        """Begins."""
        self._step, self._due = 0, asyncio.get_running_loop().time()

    async def act(self, observation: Any, reward: float | None, messages: Any) -> Any:
        """When it is time."""
        self._step, self._due = self._step + 1, self._due + FRAME
        await asyncio.sleep(self._due - asyncio.get_running_loop().time())
        return 1 if self._step < 10 else await self.trouble()

    async def trouble(self) -> Any:
        """None: it goes on."""
        return 1


class Late(Paced):
    """Needs twenty frames for each action."""

    async def trouble(self) -> Any:
        """Takes its time."""
        await asyncio.sleep(20 * FRAME)
        return 1


class Mute(Paced):
    """Does not answer any more."""

    async def trouble(self) -> Any:
        """Waits for ever."""
        await asyncio.Event().wait()


class Dead(Paced):
    """Dies."""

    async def trouble(self) -> Any:
        """The error."""
        raise RuntimeError("it is gone")


class Outside(Paced):
    """Does what is no action."""

    async def trouble(self) -> Any:
        """No action."""
        return 99


class SlowToBegin(Paced):
    """Needs a second to begin, and ends at once."""

    async def reset(self, info: ActorInfo) -> None:
        """Takes its time."""
        await asyncio.sleep(1)
        raise RuntimeError("it could not begin")


def _setup(kind: type[Paced], **settings: Any) -> TrialSetup:
    environment = dataclasses.replace(PENNIES, kwargs={"length": 1_000_000}, policies={"even": "random"})
    return TrialSetup(environment=environment, actors={"odd": kind}, seed=1, **settings)


async def _suffer(directory: Path, failing: type[Paced]) -> list[Status | None]:
    """Three trials of so many steps, and beside them one that fails after another."""
    async with TrialHost(directory, parallel=OTHERS + 1, is_here=True) as host:
        others = [await host.start(_setup(Paced, trial_id=f"other-{each}", max_steps=STEPS)) for each in range(OTHERS)]
        running: asyncio.Future[Any] = asyncio.gather(*map(host.result, others))
        found: list[Status | None] = []
        while not running.done():
            trial = await host.start(_setup(failing, answer_seconds=1.0, max_steps=20))
            done: asyncio.Future[Any] = asyncio.ensure_future(host.result(trial))
            await asyncio.wait([running, done], return_when=asyncio.FIRST_COMPLETED)
            found += [done.result().status] if done.done() else []
        assert [each.steps for each in await running] == [STEPS] * OTHERS
        return found


def _run(test: Callable[[], Coroutine[Any, Any, list[Status | None]]], patch: pytest.MonkeyPatch) -> Any:
    loops: list[_Loop] = []

    def make() -> _Loop:
        loops.append(_Loop())
        return loops[0]

    patch.setattr(hosted_trial, "SteadyClock", lambda: SteadyClock(lambda: round(loops[0].time() * 1e9)))
    with asyncio.Runner(loop_factory=make) as runner:
        return runner.run(test())


@pytest.mark.parametrize("failing", [Late, Mute, Dead, Outside, SlowToBegin])
def test_trials_are_late_by_two_frames_at_most_while_another_fails(
    failing: type[Paced], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By none, if no trial waits for anything of another one; how late they are by the clock is measured elsewhere."""
    found = _run(lambda: _suffer(tmp_path, failing), monkeypatch)
    assert len(found) >= 1
    assert set(found) == {Status.COMPLETED if failing is Late else Status.ABANDONED}
    gaps = []
    for episode in rlds_kit.open(tmp_path).episodes:
        if episode.metadata.get("trial", "").startswith("other"):
            clocks = [step["trial_clock"]["odd"]["answered_ns"] for step in list(episode.steps)[:-1]]
            gaps.append(np.diff(clocks) / 1e9)
    late = np.concatenate(gaps) - FRAME
    assert len(late) == OTHERS * (STEPS - 1)
    assert late.max() < 2 * FRAME
    np.testing.assert_allclose(late, 0.0, atol=1e-6)

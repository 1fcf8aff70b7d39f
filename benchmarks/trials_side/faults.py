"""How late trials are while another one fails."""

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import rlds_kit
from rlds_kit.trials import EnvironmentSpec, Status, TrialHost, TrialSetup
from trials_side import players

OTHERS: Final = 3
SECONDS: Final = 8.0
SEAT: Final = "player"
FAULTS: Final = (
    "nothing",
    "actor: kill -9",
    "actor: answers late",
    "actor: never answers",
    "actor: raises",
    "actor: no action of its space",
    "environment: kill -9",
    "environment: raises",
)


@dataclass
class Lateness:
    """Of the others, in milliseconds more than a frame between two of their steps.

    Attributes:
      steps: that were done.
      median: of all.
      late: 99th percentile.
      most: of all.
    """

    steps: int
    median: float
    late: float
    most: float


def lateness(fault: str, directory: Path, options: Mapping[str, Any]) -> Lateness:
    """Three trials run at sixty steps a second; a fourth fails after half a second, again and again."""
    asyncio.run(_suffer(fault, directory, options))
    gaps = []
    for episode in rlds_kit.open(directory).episodes:
        if episode.metadata.get("trial", "").startswith("other"):
            clocks = [step["trial_clock"][SEAT]["answered_ns"] for step in list(episode.steps)[:-1]]
            gaps.append(np.diff(clocks)[10:] / 1e6 - players.FRAME * 1e3)
    every = np.concatenate(gaps)
    median, late, most = np.percentile(every, (50, 99, 100))
    return Lateness(len(every), float(median), float(late), float(most))


def _setup(implementation: type[players.Paced], trial: str | None = None, **kwargs: Any) -> TrialSetup:
    return TrialSetup(
        environment=EnvironmentSpec("trials_side.falling:rlds_kit_benchmarks/Falling-v0", kwargs=kwargs),
        actors={SEAT: implementation},
        seed=1,
        trial_id=trial,
        answer_seconds=1.0,
    )


async def _suffer(fault: str, directory: Path, options: Mapping[str, Any]) -> None:
    async with TrialHost(directory, parallel=OTHERS + 1, **options) as host:
        others = [await host.start(_setup(players.Paced, f"other-{number}")) for number in range(OTHERS)]
        for each in others:
            await _reached(host, each, 20)
        end = asyncio.get_running_loop().time() + SECONDS
        while asyncio.get_running_loop().time() < end:
            await _fail(host, fault)
        for each in others:
            host.end(each, "enough")
        found = [await host.result(each) for each in others]
        if any(each.status is not Status.COMPLETED for each in found):
            raise RuntimeError(f"{fault}: another trial ended: {[each.reason for each in found]}")


async def _fail(host: TrialHost, fault: str) -> None:
    """One trial that fails, and is over."""
    troubles = {
        "actor: never answers": players.Silent,
        "actor: raises": players.Raising,
        "actor: no action of its space": players.Outside,
    }
    kwargs = {"falls": 30} if fault == "environment: raises" else {}
    if fault in troubles or kwargs:
        await host.result(await host.start(_setup(troubles.get(fault, players.Paced), **kwargs)))
        return
    is_late = fault == "actor: answers late"
    failing = await host.start(_setup(players.Late if is_late else players.Paced))
    await _reached(host, failing, 33 if is_late else 30)
    run: Any = host._runs[failing].hosted  # noqa: SLF001  whose processes nobody else has to know
    if fault == "environment: kill -9":
        os.kill(run._environment._worker.pid, signal.SIGKILL)  # noqa: SLF001
    elif fault == "actor: kill -9":
        os.kill(run._seats._seats[SEAT].actor._home.place.pid, signal.SIGKILL)  # noqa: SLF001
    else:
        host.end(failing, "it did what is measured")
    await host.result(failing)


async def _reached(host: TrialHost, trial: str, step: int) -> None:
    async for state in host.watch():
        if state.id == trial and state.step >= step:
            return

"""What the studio adds to a step in its worker: recording it and encoding the picture."""

import multiprocessing
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import gymnasium

from rlds_kit.studio.environments.playable import SEAT, EnvironmentSpec
from rlds_kit.studio.workers import process, requests
from rlds_kit.studio.workers.stage import Stage

WARM: Final = 60
"""Rounds that are not measured: buffers grow."""
PLAY: Final = {
    "seats": {SEAT: {"driver": "human", "keys": {"ArrowLeft": 1.0}, "shown_frame": 1, "pressed_ns": 1}},
}


@dataclass(frozen=True)
class Overhead:
    """Of the steps of some sessions in one worker.

    Attributes:
      milliseconds: that each step took, less the median of what the environment alone takes for a step and a picture.
      picture: bytes of the last one.
    """

    milliseconds: list[float]
    picture: int


def overhead(environment: str, sessions: int, rounds: int, rate: float | None = 60.0) -> Overhead:
    """Plays sessions in a process like that of a worker, by a worker's own code.

    Args:
      environment: its id.
      sessions: how many take turns.
      rounds: steps of each that are measured.
      rate: steps a second of each; None: the next one follows at once, and finds the processor's caches warm.
    """
    ours, theirs = multiprocessing.Pipe()
    worker = process.start(_tell, theirs, environment, sessions, rounds, rate)
    theirs.close()
    found: Overhead = ours.recv()
    worker.join()
    return found


def _tell(pipe: "Connection[Any, Any]", environment: str, sessions: int, rounds: int, rate: float | None) -> None:
    pipe.send(_overhead(environment, sessions, rounds, rate))


def _overhead(environment: str, sessions: int, rounds: int, rate: float | None) -> Overhead:
    period = 0.0 if rate is None else 1 / rate
    alone = sorted(_alone(environment, sessions, rounds, period))[sessions * rounds // 2]
    look, taken = requests.Look(), []
    with tempfile.TemporaryDirectory() as folder:
        spec = EnvironmentSpec(environment)
        stages = [Stage(requests.Open(spec, str(Path(folder) / str(number)))) for number in range(sessions)]
        for stage in stages:
            stage.reset(requests.Reset(look, seed=1))
        for number in range(WARM + rounds):
            begun = time.perf_counter()
            for stage in stages:
                begin = time.perf_counter()
                stepped = stage.step(requests.Step(look, {SEAT: number % 3}, PLAY))
                taken.append((time.perf_counter() - begin - alone) * 1e3)
            _rest(period - (time.perf_counter() - begun))
        for stage in stages:
            stage.finish(requests.Finish({}))
            stage.close()
    return Overhead(taken[WARM * sessions :], len(stepped.picture.data))


def _alone(environment: str, sessions: int, rounds: int, period: float) -> list[float]:
    """Seconds that steps and pictures of the environments take without a studio, at the same rate."""
    taken = []
    envs = [gymnasium.make(environment) for _ in range(sessions)]
    for env in envs:
        env.reset(seed=1)
    for number in range(rounds):
        begun = time.perf_counter()
        for env in envs:
            begin = time.perf_counter()
            env.step(number % 3)
            env.render()
            taken.append(time.perf_counter() - begin)
        _rest(period - (time.perf_counter() - begun))
    return taken


def _rest(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)

"""What the studio adds to a step in its worker: recording it and encoding the picture."""

import contextlib
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import gymnasium

from rlds_kit.trials.environments.playable import SEAT, EnvironmentSpec
from rlds_kit.trials.workers import process, requests
from rlds_kit.trials.workers.stage import Stage

WARM: Final = 60
"""Rounds that are not measured: buffers grow."""
PLAY: Final = {
    "seats": {SEAT: {"driver": "human", "keys": {"ArrowLeft": 1.0}, "shown_frame": 1, "pressed_ns": 1}},
}


@dataclass(frozen=True)
class Overhead:
    """Of the steps of some sessions in one worker.

    Attributes:
      milliseconds: that each step took, less the median of what the environment alone takes for a step and a picture;
        every other turn is the environment's alone.
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
      rate: turns a second, of which every other one is the studio's; None: the next one follows at once, and finds the
        processor's caches warm.
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
    alone, played = [], []
    with tempfile.TemporaryDirectory() as folder:
        envs = [gymnasium.make(environment) for _ in range(sessions)]
        stages = [_stage(environment, Path(folder) / str(number)) for number in range(sessions)]
        for env in envs:
            env.reset(seed=1)
        for number in range(WARM + rounds):  # by turns: how fast the machine is changes within seconds
            with _paced(period):
                alone += [
                    _seconds(lambda action, env=env: (env.step(action), env.render()), number % 3) for env in envs
                ]
            with _paced(period):
                played += [_seconds(stage.step, _request(number % 3)) for stage in stages]
        picture = stages[-1].show(requests.View())
        for stage in stages:
            stage.finish(requests.Finish({}))
            stage.close()
    base = sorted(alone[WARM * sessions :])[rounds * sessions // 2]
    return Overhead([(each - base) * 1e3 for each in played[WARM * sessions :]], len(picture.data))


def _stage(environment: str, folder: Path) -> Stage:
    stage = Stage(requests.Open(EnvironmentSpec(environment), str(folder)))
    stage.reset(requests.Reset(requests.View(), seed=1))
    return stage


def _request(action: int) -> requests.Step:
    return requests.Step(requests.View(), {SEAT: action}, PLAY)


def _seconds(do: Callable[[Any], object], what: Any) -> float:
    begin = time.perf_counter()
    do(what)
    return time.perf_counter() - begin


@contextlib.contextmanager
def _paced(period: float) -> Iterator[None]:
    """Takes as long as that, if what is done within takes less."""
    begun = time.perf_counter()
    yield
    rest = period - (time.perf_counter() - begun)
    if rest > 0:
        time.sleep(rest)

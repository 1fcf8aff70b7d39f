"""Records steps of environments that step together with one system, and prints its figures as a line of JSON.

    python play.py SYSTEM FOLDER ENVIRONMENTS STEPS

Runs in the environment of the peer, so it imports nothing of the other scripts.
"""

import json
import resource
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

EPISODE = 1000
"""Steps of an episode; those of the environments end at different steps."""
CHUNK = 64
"""Steps that zstd compresses at once, as in a block of ours."""


@dataclass(frozen=True)
class Trace:
    """What the environments return, all in memory: `[steps + 1, environments, ...]`."""

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    truncated: np.ndarray

    @classmethod
    def make(cls, environments: int, steps: int) -> "Trace":
        """Numbers that hardly compress, as those of a simulator with noise."""
        rng = np.random.default_rng(0)
        ends = (np.arange(steps + 1)[:, None] + rng.integers(0, EPISODE, environments)) % EPISODE == 0
        ends[0] = False
        return cls(
            rng.normal(size=(steps + 1, environments, 17)),
            rng.normal(size=(steps + 1, environments, 6)).astype(np.float32),
            rng.normal(size=(steps + 1, environments)),
            ends,
        )


class Stopwatch:
    """Sums up the time of calls of the recorder."""

    def __init__(self) -> None:
        self.cpu = 0.0

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Calls, and adds the time of this thread."""
        begin = time.thread_time()
        found = call(*arguments)
        self.cpu += time.thread_time() - begin
        return found


def vector_logger(trace: Trace, folder: Path, watch: Stopwatch) -> None:
    """With the wrapper, without the time of the environment itself, which is negligible."""
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

    from rlds_kit import logger

    class Null(VectorEnv):  # type: ignore[misc,type-arg]  # untyped in some of the environments
        def __init__(self) -> None:
            self.num_envs = trace.observation.shape[1]
            self.single_observation_space = spaces.Box(-np.inf, np.inf, (17,), np.float64)
            self.single_action_space = spaces.Box(-np.inf, np.inf, (6,), np.float32)
            self.observation_space = batch_space(self.single_observation_space, self.num_envs)
            self.action_space = batch_space(self.single_action_space, self.num_envs)
            self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
            self.time = 0
            self.never = np.zeros(self.num_envs, np.bool_)

        def reset(self, **_: Any) -> Any:
            return trace.observation[0], {}

        def step(self, _: Any) -> Any:
            self.time += 1
            now = self.time
            return trace.observation[now], trace.reward[now], self.never, trace.truncated[now], {}

    with logger.VectorLogger(Null(), folder) as envs:
        envs.reset(seed=0)
        for action in trace.action[1:]:
            watch(envs.step, action)


def batch_writer(trace: Trace, folder: Path, watch: Stopwatch) -> None:
    """From arrays."""
    from rlds_kit import logger

    never = np.zeros(trace.observation.shape[1], np.bool_)
    with logger.BatchWriter(folder, len(never), autoreset="SameStep", record_info=False) as writer:
        writer.start(trace.observation[0])
        for step in range(1, len(trace.action)):
            values = trace.observation[step], trace.action[step], trace.reward[step], never, trace.truncated[step]
            watch(writer.step, *values)


def zstd(trace: Trace, folder: Path, watch: Stopwatch) -> None:
    """The floor: the same arrays compressed with level 1, and written, by one thread."""
    import os

    import zstandard

    compressor = zstandard.ZstdCompressor(level=1)
    folder.mkdir()

    def write(file: Any, begin: int) -> None:
        for array in (trace.observation, trace.action, trace.reward, trace.truncated):
            file.write(compressor.compress(array[begin : begin + CHUNK]))

    with (folder / "arrays.zst").open("wb") as file:
        for begin in range(1, len(trace.action), CHUNK):
            watch(write, file, begin)
        file.flush()
        os.fsync(file.fileno())


def np_save(trace: Trace, folder: Path, watch: Stopwatch) -> None:
    """A list of steps, saved at the end: no compression, nothing is safe before."""
    folder.mkdir()
    steps: list[tuple[np.ndarray, ...]] = []

    def keep(step: int) -> None:
        values = trace.observation[step], trace.action[step], trace.reward[step], trace.truncated[step]
        steps.append(tuple(map(np.copy, values)))

    for step in range(1, len(trace.action)):
        watch(keep, step)
    for number, arrays in enumerate(zip(*steps, strict=True)):
        np.save(folder / f"{number}.npy", np.stack(arrays))


def torchrl(trace: Trace, folder: Path, watch: Stopwatch) -> None:
    """A replay buffer in memory-mapped files: no compression, no episodes."""
    import torch
    from tensordict import TensorDict
    from torchrl.data import LazyMemmapStorage, ReplayBuffer

    environments = trace.observation.shape[1]
    storage = LazyMemmapStorage((len(trace.action) - 1) * environments, scratch_dir=folder)
    buffer = ReplayBuffer(storage=storage, batch_size=256)

    def add(step: int) -> None:
        names = ("observation", "action", "reward", "truncated")
        values = {name: torch.from_numpy(getattr(trace, name)[step]) for name in names}
        buffer.extend(TensorDict(values, batch_size=[environments]))

    for step in range(1, len(trace.action)):
        watch(add, step)


def cpprb(trace: Trace, folder: Path, watch: Stopwatch) -> None:
    """A replay buffer in memory-mapped files: no compression, no episodes."""
    from cpprb import ReplayBuffer

    folder.mkdir()
    shapes = {
        "observation": {"shape": 17, "dtype": np.float64},
        "action": {"shape": 6, "dtype": np.float32},
        "reward": {"dtype": np.float64},
        "truncated": {"dtype": np.bool_},
    }
    count = (len(trace.action) - 1) * trace.observation.shape[1]
    buffer = ReplayBuffer(count, shapes, mmap_prefix=str(folder / "mapped"))
    for step in range(1, len(trace.action)):
        watch(lambda: buffer.add(**{name: getattr(trace, name)[step] for name in shapes}))  # noqa: B023  called now


def minari(trace: Trace, folder: Path, watch: Stopwatch) -> None:
    """Its collector, which takes one environment: all steps of the first ones, one after the other."""
    import os

    os.environ["MINARI_DATASETS_PATH"] = str(folder)
    import gymnasium
    from gymnasium import spaces
    from minari import DataCollector

    rows = trace.observation.reshape(-1, 17)

    class Null(gymnasium.Env):  # type: ignore[misc,type-arg]  # untyped in some of the environments
        observation_space = spaces.Box(-np.inf, np.inf, (17,), np.float64)
        action_space = spaces.Box(-np.inf, np.inf, (6,), np.float32)
        place = 0

        def reset(self, **_: Any) -> Any:
            self.place += 1
            return rows[self.place % len(rows)], {}

        def step(self, _: Any) -> Any:
            self.place += 1
            return rows[self.place % len(rows)], 0.5, False, self.place % EPISODE == 0, {}

    folder.mkdir()
    sys.modules["null_env"] = types.SimpleNamespace(Null=Null)  # type: ignore[assignment]
    gymnasium.register("Null-v0", "null_env:Null")  # by name: Minari stores the spec as JSON
    collector = DataCollector(gymnasium.make("Null-v0", disable_env_checker=True))
    collector.reset()
    actions = trace.action.reshape(-1, 6)
    for step in range(steps_of(trace)):
        if watch(collector.step, actions[step])[3]:
            collector.reset()
    collector.create_dataset("null/vectors-v0", eval_env="CartPole-v1")


def steps_of(trace: Trace) -> int:
    """Environment steps that a system records."""
    count = (len(trace.action) - 1) * trace.observation.shape[1]
    return min(count, 50_000) if sys.argv[1] == "minari" else count


SYSTEMS = {each.__name__: each for each in (vector_logger, batch_writer, zstd, np_save, torchrl, cpprb, minari)}


def main() -> None:
    """Plays."""
    name, folder, environments, steps = sys.argv[1:]
    trace, watch = Trace.make(int(environments), int(steps)), Stopwatch()
    SYSTEMS[name](Trace.make(2, 3000), Path(folder) / "warm", Stopwatch())
    before = resource.getrusage(resource.RUSAGE_SELF)
    begin = time.perf_counter()
    SYSTEMS[name](trace, Path(folder) / "data", watch)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF)
    count = steps_of(trace)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        json.dumps(
            {
                "steps_per_s": count / seconds,
                "caller_us": 1e6 * watch.cpu / count,
                "cpu_us": 1e6 * cpu / count,
                "bytes": sum(path.stat().st_blocks * 512 for path in _files(Path(folder) / "data")) / count,
            }
        )
    )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()

"""Reads one input in one way, and prints what it took as JSON; runs in the environment of the system."""

import argparse
import itertools
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
warnings.simplefilter("ignore")

LENGTH: Final = 8
"""Steps of a window."""
FIELDS: Final = ("observation", "action", "reward")
Read = Callable[[np.ndarray], Any]
"""Reads the windows of some numbers, or anything if the numbers are drawn by the system itself."""


def ours(folder: Path, given: argparse.Namespace) -> tuple[Callable[[], Any], Read, int]:
    """rlds_kit: flat arrays, and `gather`, with a cache of the given part of the decoded data; or shuffled batches."""
    import rlds_kit

    dataset = rlds_kit.open(folder / "recording").select(*_fields(given))
    samples = dataset.windows(LENGTH)
    if given.cache_share:
        samples = samples.cached(int(samples.weights.row_bytes * len(dataset.steps) * given.cache_share))
    if given.shuffled:
        epochs = itertools.repeat(samples.batches(given.batch, shuffle="global"))
        batches = itertools.chain.from_iterable(epochs)
        return _nothing_at_all, lambda _: next(batches), len(samples)
    return lambda: dataset.arrays(*_fields(given)), samples.gather, len(samples)


def lance(folder: Path, given: argparse.Namespace) -> tuple[Callable[[], Any], Read, int]:
    """Lance: a table to arrays, and `take` of the rows of windows."""
    import lance as library

    table = library.dataset(str(folder / "lance"))
    starts = np.load(folder / "starts.npy")
    columns = [*_fields(given)]

    def scan() -> list[np.ndarray]:
        return _arrays(table.to_table(columns=columns))

    def read(numbers: np.ndarray) -> list[np.ndarray]:
        return _arrays(table.take((starts[numbers][:, None] + np.arange(LENGTH)).reshape(-1), columns=columns))

    return scan, read, len(starts)


def _arrays(table: Any) -> list[np.ndarray]:
    found = []
    for name in table.column_names:
        if str(table[name].type) == "large_binary":
            rows = [np.frombuffer(value.as_buffer(), np.uint8) for chunk in table[name].chunks for value in chunk]
            found.append(np.stack(rows))
            continue
        chunks = [each.flatten() if str(each.type).startswith("fixed") else each for each in table[name].chunks]
        found.append(np.concatenate([each.to_numpy(zero_copy_only=False) for each in chunks]))
    return found


def hdf5(folder: Path, given: argparse.Namespace) -> tuple[Callable[[], Any], Read, int]:
    """h5py, on the file of Minari: arrays of every episode, joined."""
    import h5py

    names = [{"observation": "observations", "action": "actions", "reward": "rewards"}[name] for name in _fields(given)]

    def scan() -> list[np.ndarray]:
        with h5py.File(folder / "minari.hdf5") as file:
            groups = [file[f"episode_{number}"] for number in range(len(file))]
            return [np.concatenate([group[name][()] for group in groups]) for name in names]

    return scan, _nothing, 1


def torchrl(folder: Path, given: argparse.Namespace) -> tuple[Callable[[], Any], Read, int]:
    """TorchRL: a memory-mapped storage, and a sampler of slices of episodes, which draws by itself."""
    import torch
    from tensordict import TensorDict
    from torchrl.data import LazyMemmapStorage, SliceSampler, TensorDictReplayBuffer

    torch.set_num_threads(1)  # with more it is a hundred times slower here: its threads wait for each other
    arrays = {name: torch.from_numpy(np.load(folder / "arrays" / f"{name}.npy")) for name in _fields(given)}
    done = torch.from_numpy(np.load(folder / "arrays" / "is_last.npy"))
    buffer = TensorDictReplayBuffer(
        storage=LazyMemmapStorage(len(done)),
        sampler=SliceSampler(slice_len=LENGTH, end_key="done", cache_values=True),
        batch_size=given.batch * LENGTH,
    )
    buffer.extend(TensorDict({**arrays, "done": done}, batch_size=[len(done)]))
    return _nothing_at_all, lambda _: buffer.sample(), 1


def _nothing(numbers: np.ndarray) -> None:
    del numbers
    raise NotImplementedError


def _nothing_at_all() -> None:
    raise NotImplementedError


def epoch(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """An epoch of transitions of ours in an order; and the memory of the process in the meantime."""
    import rlds_kit

    samples = rlds_kit.open(folder / "recording").select(*FIELDS).transitions()
    shuffle = None if given.order == "in order" else given.order
    peak = 0

    def batches() -> Iterator[int]:
        nonlocal peak
        for batch in samples.batches(given.batch, shuffle=shuffle, seed=0):
            peak = max(peak, _memory())
            yield len(batch["reward"])

    began, cpu = time.perf_counter(), _cpu()
    count = sum(batches())
    return {"samples": count, "seconds": time.perf_counter() - began, "cpu": _cpu() - cpu, "peak_mib": peak}


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _fields(given: argparse.Namespace) -> tuple[str, ...]:
    return tuple(given.fields.split(","))


SYSTEMS: Final = {"rlds_kit": ours, "lance": lance, "hdf5": hdf5, "torchrl": torchrl}
PACKAGES: Final = ("numpy", "pylance", "h5py", "torchrl", "torch")


def play(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Scans everything, or reads random windows: the first ones, which fill caches, and then as many again."""
    if given.work == "epoch":
        return epoch(folder, given)
    scan, read, count = SYSTEMS[given.system](folder, given)
    if given.work == "scan":
        scan()  # the page cache, imports and memory: the second time is measured
        return _measured(scan, int(np.load(folder / "arrays" / "reward.npy", mmap_mode="r").shape[0]))
    dice = np.random.default_rng(0)
    batches = [dice.integers(0, count, given.batch) for _ in range(2 * given.windows // given.batch)]
    half = len(batches) // 2
    cold = _measured(lambda: _loop(read, batches[:half]), half * given.batch)
    warm = _measured(lambda: _loop(read, batches[half:]), half * given.batch)
    return {**warm, "cold": cold}


def _loop(read: Read, batches: list[np.ndarray]) -> None:
    """Reads batches as a training loop does: it has each one until the next one has come."""
    for each in batches:
        _batch = read(each)


def _measured(work: Callable[[], Any], count: int) -> dict[str, Any]:
    began, cpu = time.perf_counter(), _cpu()
    work()
    return {"samples": count, "seconds": time.perf_counter() - began, "cpu": _cpu() - cpu, "peak_mib": _memory()}


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=("scan", "windows", "epoch"))
    parser.add_argument("system", choices=tuple(SYSTEMS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fields", default=",".join(FIELDS))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--windows", type=int, default=8192)
    parser.add_argument("--cache-share", type=float, default=0)
    parser.add_argument("--order", default="global")
    parser.add_argument("--shuffled", action="store_true")
    given = parser.parse_args()
    found = play(given.folder, given)
    installed = {each.metadata["Name"].lower() for each in metadata.distributions() if each.metadata["Name"]}
    found["versions"] = " ".join(f"{name} {metadata.version(name)}" for name in PACKAGES if name in installed)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

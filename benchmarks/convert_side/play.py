"""Converts one dataset, or lets a peer do what comes nearest; prints seconds, CPU seconds and peak memory as JSON."""

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
warnings.simplefilter("ignore")

_SECONDS: Final = 0.25
"""Between two looks at memory: one takes some milliseconds of a core for each process."""


class Memory(threading.Thread):
    """Looks at the memory of this process and of those that it started; what they share counts once.

    Attributes:
      peak: the most that was seen, in bytes.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._is_over = threading.Event()
        self.start()

    def run(self) -> None:
        """Until it is over."""
        while not self._is_over.wait(_SECONDS):
            self.peak = max(self.peak, sum(map(_own_bytes, _family(os.getpid()))))

    def end(self) -> int:
        """Looks no more; returns the peak."""
        self._is_over.set()
        self.join()
        return self.peak


def _family(process: int) -> list[int]:
    found = [process]
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in _read(task).split():
            found += _family(int(child))
    return found


def _own_bytes(process: int) -> int:
    """Proportional set size: pages that several processes have are divided among them."""
    lines = _read(Path(f"/proc/{process}/smaps_rollup")).splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process is gone
        return ""


def convert(source: Path, target: Path, given: argparse.Namespace) -> int:
    """Our own conversion; returns the steps."""
    from rlds_kit.convert.conversion import convert as convert_dataset

    report = convert_dataset(
        source, target, given.to, source_format=given.source, allow_loss=True, workers=given.workers
    )
    return report.steps


def tfds_reads(source: Path, _target: Path, _given: argparse.Namespace) -> int:
    """TFDS's own loop over every step, which writes nothing."""
    import tensorflow_datasets as tfds

    builder = tfds.builder_from_directory(str(source))
    steps = 0
    for episode in builder.as_dataset(split="train"):
        steps += sum(1 for _ in tfds.as_numpy(episode["steps"]))
    return steps


def minari_copies(source: Path, target: Path, _given: argparse.Namespace) -> int:
    """Minari reads its own dataset episode by episode and writes it again, without a look at the result."""
    import minari
    from minari.data_collector import EpisodeBuffer

    os.environ["MINARI_DATASETS_PATH"] = str(target)
    opened = minari.MinariDataset(source / "data")
    buffers = (
        EpisodeBuffer(
            id=each.id,
            observations=each.observations,
            actions=each.actions,
            rewards=each.rewards,
            terminations=each.terminations,
            truncations=each.truncations,
        )
        for each in opened.iterate_episodes()
    )
    minari.create_dataset_from_buffers(
        "copy-v0",
        buffers,
        observation_space=opened.observation_space,
        action_space=opened.action_space,
        data_format="hdf5",
        jpeg_encoding=False,
    )
    return int(opened.total_steps + opened.total_episodes)


def h5py_copies(source: Path, target: Path, _given: argparse.Namespace) -> int:
    """h5py reads every array whole and writes it again, in chunks of the same shape, with gzip level 1."""
    import h5py

    target.parent.mkdir(exist_ok=True)
    with h5py.File(source) as read, h5py.File(target, "w") as written:
        for name, each in read.items():
            written.create_dataset(name, data=each[()], chunks=each.chunks, compression="gzip", compression_opts=1)
        ends = int((read["terminals"][()] | read["timeouts"][()]).sum())
        return len(read["terminals"]) + ends


def numpy_copies(source: Path, target: Path, _given: argparse.Namespace) -> int:
    """NumPy reads every array of an archive and writes it again, compressed."""
    import numpy as np

    with np.load(source) as read:
        arrays = {name: read[name] for name in read.files}
    np.savez_compressed(target.with_suffix(".npz"), **arrays)
    return len(arrays["terminals"]) + int((arrays["terminals"] | arrays["timeouts"]).sum())


def envlogger_copies(source: Path, target: Path, _given: argparse.Namespace) -> int:
    """EnvLogger reads its own dataset step by step and writes it again."""
    import numpy as np

    np.unicode_ = np.str_  # type: ignore[attr-defined]  # noqa: NPY201  EnvLogger 1.2 is older than NumPy 2
    import envlogger
    from envlogger.backends import riegeli_backend_writer

    target.mkdir()
    steps = 0
    with envlogger.Reader(data_directory=str(source)) as read:
        writer = riegeli_backend_writer.RiegeliBackendWriter(data_directory=str(target), metadata=read.metadata())
        for episode, about in zip(read.episodes, read.episode_metadata(), strict=True):
            for number, step in enumerate(episode):
                writer.record_step(step, is_new_episode=not number)
                steps += 1
            if about is not None:
                writer.set_episode_metadata(about)
        writer.close()
    return steps


def lerobot_copies(source: Path, target: Path, _given: argparse.Namespace) -> int:
    """LeRobot reads its own dataset frame by frame and writes it again."""
    import numpy as np
    from lerobot.datasets.lerobot_dataset import LeRobotDataset
    from lerobot.datasets.utils import DEFAULT_FEATURES

    read = LeRobotDataset("rlds/benchmark", root=source)
    features = {name: each for name, each in read.meta.features.items() if name not in DEFAULT_FEATURES}
    written = LeRobotDataset.create("rlds/copy", read.fps, features, root=target, use_videos=False)
    before = 0
    for number in range(len(read)):
        frame = read[number]
        if int(frame["episode_index"]) != before:
            written.save_episode()
            before += 1
        values = {  # it returns all numbers as float32
            name: np.asarray(frame[name], each["dtype"]).reshape(each["shape"]) for name, each in features.items()
        }
        written.add_frame({**values, "task": frame["task"]})
    written.save_episode()
    written.finalize()
    return len(read)


WAYS: Final[dict[str, Callable[[Path, Path, argparse.Namespace], int]]] = {
    "convert": convert,
    "tfds": tfds_reads,
    "minari": minari_copies,
    "h5py": h5py_copies,
    "numpy": numpy_copies,
    "envlogger": envlogger_copies,
    "lerobot": lerobot_copies,
}
PACKAGES: Final = {
    "convert": "rlds_kit",
    "tfds": "tensorflow-datasets",
    "minari": "minari",
    "h5py": "h5py",
    "numpy": "numpy",
    "envlogger": "envlogger",
    "lerobot": "lerobot",
}
MODULES: Final = {
    "convert": ("rlds_kit.convert.conversion", "h5py", "pyarrow.parquet"),
    "tfds": ("tensorflow", "tensorflow_datasets"),
    "minari": ("minari",),
    "h5py": ("h5py",),
    "numpy": ("numpy",),
    "envlogger": (),
    "lerobot": ("lerobot.datasets.lerobot_dataset",),
}
"""What is imported before the clock starts."""


def main() -> None:
    """Does it once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("path", type=Path)
    parser.add_argument("--source")
    parser.add_argument("--to")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where the result shall stay")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help="a checkout of rlds_kit")
    given = parser.parse_args()
    sys.path.insert(0, str(given.root))
    for module in MODULES[given.way]:
        importlib.import_module(module)
    temporary = Path(tempfile.mkdtemp(prefix="convert-", dir=given.path.parent))
    memory, cpu, began = Memory(), _cpu_seconds(), time.perf_counter()
    try:
        steps = WAYS[given.way](given.path, given.keep or temporary / "made-v0", given)
        seconds, cpu = time.perf_counter() - began, _cpu_seconds() - cpu
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    result: dict[str, Any] = {"steps": steps, "seconds": seconds, "cpu_s": cpu}
    result |= {"cores": result["cpu_s"] / seconds, "peak_mib": memory.end() / 2**20}
    print(json.dumps({**result, "versions": f"{PACKAGES[given.way]} {_version(PACKAGES[given.way])}"}))


def _cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def _version(package: str) -> str:
    if package == "rlds_kit":
        from rlds_kit import __version__

        return __version__
    return metadata.version(package)


if __name__ == "__main__":
    main()

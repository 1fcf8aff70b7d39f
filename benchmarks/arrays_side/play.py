"""Writes a million steps from arrays once, with one system; prints seconds, CPU seconds and bytes as JSON."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
warnings.simplefilter("ignore")

Arrays = dict[str, np.ndarray]
EPISODE: Final = 1000


def load(folder: Path) -> Arrays:
    """The arrays, in memory."""
    return {path.stem: np.load(path) for path in sorted(folder.glob("*.npy"))}


def rlds_kit_writes(arrays: Arrays, target: Path) -> int:
    """One line, which also syncs what it wrote."""
    from rlds_kit import logger

    return len(logger.write_arrays(target, arrays).steps)


def rlds_kit_appends(arrays: Arrays, target: Path) -> int:
    """Step by step: how it was done before."""
    from rlds_kit import logger

    ends = arrays["terminals"] | arrays["timeouts"]
    observations, actions, rewards = (arrays[name] for name in ("observations", "actions", "rewards"))
    count = 0
    with logger.EpisodeWriter(target, record_time=False) as writer:
        begin = 0
        for end in (np.flatnonzero(ends) + 1).tolist():
            with writer.episode() as episode:
                episode.start(observations[begin])
                for row in range(begin, end - 1):
                    episode.step(actions[row], rewards[row], observations[row + 1])
                episode.step(actions[end - 1], rewards[end - 1], truncated=True)
                count += episode.rows
            begin = end
    return count


def h5py_writes(arrays: Arrays, target: Path) -> int:
    """Gzip level 1, and h5py's own choice of chunks; nothing is synced."""
    import h5py

    with h5py.File(target, "w") as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values, compression="gzip", compression_opts=1)
    return len(arrays["actions"])


def minari_writes(arrays: Arrays, target: Path) -> int:
    """Parquet, its smallest storage of vectors; nothing is synced. It needs final observations: zeros here."""
    import gymnasium
    import minari
    from minari.data_collector import EpisodeBuffer

    os.environ["MINARI_DATASETS_PATH"] = str(target)
    box = gymnasium.spaces.Box
    observations, actions = arrays["observations"], arrays["actions"]
    buffers = [
        EpisodeBuffer(
            id=number,
            observations=np.concatenate([observations[row : row + EPISODE], np.zeros_like(observations[:1])]),
            actions=actions[row : row + EPISODE],
            rewards=arrays["rewards"][row : row + EPISODE],
            terminations=arrays["terminals"][row : row + EPISODE],
            truncations=arrays["timeouts"][row : row + EPISODE],
        )
        for number, row in enumerate(range(0, len(actions), EPISODE))
    ]
    minari.create_dataset_from_buffers(
        "copy-v0",
        buffers,
        observation_space=box(-np.inf, np.inf, observations.shape[1:], observations.dtype),
        action_space=box(-np.inf, np.inf, actions.shape[1:], actions.dtype),
        data_format="parquet",
    )
    return len(actions)


WAYS: Final[dict[str, Callable[[Arrays, Path], int]]] = {
    "rlds_kit": rlds_kit_writes,
    "rlds_kit-steps": rlds_kit_appends,
    "h5py": h5py_writes,
    "minari": minari_writes,
}
PACKAGES: Final = {"rlds_kit": "rlds-kit", "rlds_kit-steps": "rlds-kit", "h5py": "h5py", "minari": "minari"}


def main() -> None:
    """Does it once; imports come first, because no peer should pay for them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    arrays = load(given.folder)
    import h5py
    import minari

    import rlds_kit.logger

    del h5py, minari, rlds_kit
    temporary = Path(tempfile.mkdtemp(prefix="write-", dir=given.folder.parent))
    try:
        began, cpu = time.perf_counter(), time.process_time()
        steps = WAYS[given.way](arrays, temporary / "made")
        result: dict[str, Any] = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
        size = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    name = PACKAGES[given.way]
    print(json.dumps({**result, "steps": steps, "bytes": size, "versions": f"{name} {metadata.version(name)}"}))


if __name__ == "__main__":
    main()

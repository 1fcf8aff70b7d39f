"""LeRobot datasets for tests: the golden one, which its own package wrote, and episodes of ours of many kinds."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter

ROOT: Final = Path(__file__).parents[1] / "data" / "lerobot"
GOLDEN: Final = ROOT / "arm"


def truth() -> list[dict[str, Any]]:
    """What LeRobot was given for the golden dataset: for each episode, columns by feature, and tasks."""
    episodes: list[dict[str, Any]] = [{}, {}, {}]
    with np.load(ROOT / "arm.truth.npz") as arrays:
        found = dict(arrays) | json.loads((ROOT / "arm.truth.json").read_text("utf-8"))
    for name, values in found.items():
        number, _, feature = name.partition("/")
        episodes[int(number)][feature] = values
    return episodes


def copy(directory: Path) -> Path:
    """A copy of the golden dataset that a test may break."""
    shutil.copytree(GOLDEN, directory)
    return directory


def edit_info(directory: Path, **changes: Any) -> None:
    """Changes what `meta/info.json` says."""
    path = directory / "meta" / "info.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


OBSERVATION: Final = specs.Dict(
    {
        "screen": specs.Array((16, 12, 3), np.uint8),
        "gray": specs.Array((9, 10), np.uint8),
        "mask": specs.Array((8, 8, 1), np.uint8),
        "alpha": specs.Array((8, 9, 4), np.uint8),
        "pair": specs.Tuple((specs.Array((), np.int16), specs.Array((2,), np.float16))),
        "stack": specs.Array((4, 16, 16), np.uint8),
        "cube": specs.Array((2, 1, 3), np.float64),
        "big": specs.Array((2,), np.dtype(">f4")),
        "dotted.name": specs.Array((1,), np.uint64),
        "dotted": specs.Dict({"name": specs.Array((), np.bool_)}),
    }
)


def observation(number: int) -> dict[str, Any]:
    """An observation of many kinds of values."""
    chance = np.random.default_rng(number)

    def pixels(*shape: int) -> np.ndarray:
        return chance.integers(0, 256, shape, dtype=np.uint8)

    nan = np.array([0x7FC00123, 0x80000000], np.uint32).view(np.float32)
    return {
        "screen": pixels(16, 12, 3),
        "gray": pixels(9, 10),
        "mask": pixels(8, 8, 1),
        "alpha": pixels(8, 9, 4),
        "pair": (np.int16(number), np.array([number, -0.0], np.float16)),
        "stack": pixels(4, 16, 16),
        "cube": chance.normal(size=(2, 1, 3)),
        "big": nan.astype(">f4") if number % 2 else np.array([number, -0.0], ">f4"),
        "dotted.name": np.array([2**63 - 1 - number], np.uint64),
        "dotted": {"name": np.bool_(number % 2)},
    }


def record(path: Path, *, episodes: int = 3, steps: int = 4) -> Path:
    """Episodes of ours that ended in each way; the last lacks its final observation."""
    declared = specs.Dict(
        {"observation": OBSERVATION, "action": specs.Array((), np.int64), "reward": specs.Array((), np.float64)}
    )
    with EpisodeWriter(path, declared, record_time=False, metadata={"fps": 25, "lab": {"room": 3}}) as writer:
        for number in range(episodes):
            about = {"name": f"é{number}", "scores": np.arange(number), "nested": {"none": None, "both": (1, [2.5])}}
            with writer.episode(metadata=about, seed=2**70 + number, options={"low": 0.5}) as episode:
                episode.start(observation(100 * number), info={"lives": np.int64(3), "word": "a"})
                for step in range(1, steps):
                    info = {"lives": np.int64(3 - step), "word": "é" * step}
                    last = step == steps - 1
                    following: dict[str, Any] = {"terminated": last and number == 0, "truncated": last and number == 1}
                    if not (last and number == 2):
                        following |= {"observation": observation(100 * number + step), "info": info}
                    episode.step(np.int64(step), np.float64(0.1 * step), discount=np.float64(0.5), **following)
    return path

"""Writes the golden dataset of LeRobot, `tests/data/lerobot`, with LeRobot's own code: run once, and committed.

`python tests/data/make_lerobot.py` with an interpreter that has lerobot 0.4.4. The truth is what LeRobot was given, not
what is read back. The gray of each frame of the video tells which frame it is.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset

ROOT = Path(__file__).with_name("lerobot")
LENGTHS = (4, 5, 6)
FPS = 10
FEATURES = {
    "observation.state": {"dtype": "float32", "shape": (3,), "names": ["x", "y", "grip"]},
    "observation.images.top": {"dtype": "image", "shape": (16, 20, 3), "names": ["height", "width", "channels"]},
    "observation.images.side": {"dtype": "video", "shape": (32, 48, 3), "names": ["height", "width", "channels"]},
    "action": {"dtype": "float32", "shape": (2,), "names": None},
    "next.reward": {"dtype": "float32", "shape": (1,), "names": None},
    "next.done": {"dtype": "bool", "shape": (1,), "names": None},
    "next.success": {"dtype": "bool", "shape": (1,), "names": None},
    "grid": {"dtype": "int64", "shape": (2, 2), "names": None},
    "note": {"dtype": "string", "shape": (1,), "names": None},
}


def frame(chance: np.random.Generator, episode: int, step: int) -> dict[str, object]:
    """What LeRobot is given for a step."""
    is_last = step == LENGTHS[episode] - 1
    return {
        "observation.state": chance.normal(size=3).astype(np.float32),
        "observation.images.top": chance.integers(0, 256, (16, 20, 3), dtype=np.uint8),
        "observation.images.side": np.full((32, 48, 3), 70 * episode + 10 * step + 5, np.uint8),
        "action": chance.normal(size=2).astype(np.float32),
        "next.reward": np.array([step / 4], np.float32),
        "next.done": np.array([is_last and episode != 1]),
        "next.success": np.array([is_last and episode == 0]),
        "grid": np.full((2, 2), 10 * episode + step),
        "note": f"step {step} é",
        "task": ("push", "push", "pull" if step < 2 else "lift é")[episode],
    }


def main() -> None:
    """Writes the dataset and its truth."""
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir()
    chance = np.random.default_rng(0)
    dataset = LeRobotDataset.create("rlds/arm", FPS, FEATURES, root=ROOT / "arm", robot_type="arm", vcodec="h264")
    truth: dict[str, np.ndarray] = {}
    for episode, length in enumerate(LENGTHS):
        frames = [frame(chance, episode, step) for step in range(length)]
        truth |= {f"{episode}/{name}": np.stack([np.asarray(each[name]) for each in frames]) for name in frames[0]}
        for each in frames:
            dataset.add_frame(dict(each))
        dataset.save_episode()
    dataset.finalize()
    shutil.rmtree(ROOT / "arm" / "images", ignore_errors=True)
    texts = {name: each.tolist() for name, each in truth.items() if each.dtype.kind == "U"}
    arrays: dict[str, Any] = {name: each for name, each in truth.items() if name not in texts}
    np.savez_compressed(ROOT / "arm.truth.npz", **arrays)
    (ROOT / "arm.truth.json").write_text(json.dumps(texts, indent=1), "utf-8")


if __name__ == "__main__":
    main()

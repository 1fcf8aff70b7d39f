"""Reads a dataset with LeRobot's own package: run by an interpreter that has it."""

import sys
from typing import Any

import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset


def main(root: str, output: str) -> None:
    """Saves every feature of every frame as LeRobot returns it, and its statistics of the actions."""
    dataset = LeRobotDataset("rlds/test", root=root)
    frames = [dataset[number] for number in range(len(dataset))]
    found: dict[str, Any] = {name: np.stack([np.asarray(each[name]) for each in frames]) for name in frames[0]}
    action = dataset.meta.stats["action"]
    stats = np.stack([action[name] for name in ("min", "max", "mean")], axis=1)
    np.savez(output, stats=stats, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])

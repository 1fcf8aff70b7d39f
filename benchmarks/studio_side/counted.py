"""What is counted in Space Invaders while it is played, and whether the recordings say the same."""

import json
from pathlib import Path
from typing import Final

import rlds_kit
from rlds_kit.crowd.collectors import LiveCounts, collector
from rlds_kit.crowd.incentives import session_values

FPS: Final = 60.0
SEAT: Final = "player"
NAMES: Final = ("score", "time_played", "accuracy", "row_by_row")
"""The last two read the console's memory."""


def counter() -> LiveCounts:
    """Counts of a session that begins."""
    return LiveCounts({SEAT: [collector(name) for name in NAMES]}, FPS)


def agreeing(directory: Path) -> int:
    """Of how many sessions the values at the end are those of the recording, bit for bit.

    Args:
      directory: of a server that has ended.

    Raises:
      ValueError: nothing was counted in a session.
    """
    dataset = rlds_kit.open(directory / "counted")
    found = 0
    for file in directory.glob("counted-*.json"):
        live = json.loads(file.read_text(encoding="utf-8"))[SEAT]
        if not live["time_played"]:
            raise ValueError(f"{file.stem}: expected time that was counted, got none")
        played = [(each, SEAT) for each in dataset.episodes if each.metadata["session"] == file.stem]
        found += session_values(played, [collector(name) for name in NAMES], fps=FPS) == live
    return found

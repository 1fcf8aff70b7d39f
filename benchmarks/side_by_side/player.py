"""The command line that the player of every system has: record, read or check a trace; one line of JSON comes out."""

import argparse
import json
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Protocol

from side_by_side.fidelity import ReadEpisode, compare
from side_by_side.stopwatch import bytes_on_disk, scan
from side_by_side.trace import Trace


class System(Protocol):
    """What a player knows of its system."""

    packages: tuple[str, ...]
    """Whose versions to print."""

    def record(self, trace: Trace, rows: int, out: Path) -> dict[str, float]:
        """Records and measures."""

    def full_scan(self, out: Path) -> tuple[int, int]:
        """Reads everything into NumPy; rows and checksum of observations."""

    def rewards(self, out: Path) -> tuple[int, int]:
        """Reads all rewards; rows and a checksum."""

    def episodes(self, out: Path) -> Iterable[ReadEpisode]:
        """Everything, for comparison with the trace."""


def main(make: Callable[[argparse.Namespace], System]) -> None:
    """Runs one verb and prints its result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("record", "read", "check"))
    parser.add_argument("trace", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--variant", default="")
    parser.add_argument("--memory-limit", type=int, default=0)
    arguments = parser.parse_args()
    system = make(arguments)
    out: Path = arguments.out
    if arguments.verb == "record":
        out.mkdir(parents=True)
        result = dict(system.record(Trace(arguments.trace), arguments.rows, out))
        result["bytes"] = bytes_on_disk(out) / arguments.rows
        result["versions"] = " ".join(f"{name} {metadata.version(name)}" for name in system.packages)
    elif arguments.verb == "read":
        result = {"scan": scan(lambda: system.full_scan(out)), "rewards": scan(lambda: system.rewards(out))}
    else:
        result = compare(Trace(arguments.trace), arguments.rows, system.episodes(out))
    print(json.dumps(result))

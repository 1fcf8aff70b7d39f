"""Measures how long a million steps of D4RL's shape take from arrays to the disk, and how many bytes they are there.

    python benchmarks/write_arrays.py              all of it, some minutes
    python benchmarks/write_arrays.py --quick      a look at a tenth of it

Observations are 17 float32 that move smoothly, as the joints of a simulated robot; actions are 6 float32, rewards
float32, episodes have 1,000 steps. Systems take turns, in reversed order in every other round, and ratios are of
numbers of the same round. rlds_kit syncs what it wrote and hashes it; the peers do neither.
"""

import argparse
import json
import os
import platform
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from arrays_side.play import EPISODE
from side_by_side import machine, page
from side_by_side.command_line import note, parser_of
from side_by_side.script import last_line
from side_by_side.tables import row, spread

HERE: Final = Path(__file__).parent
BEGIN: Final = "<!-- begin: benchmarks/write_arrays.py -->"
END: Final = "<!-- end: benchmarks/write_arrays.py -->"
SYSTEMS: Final = {
    "rlds_kit": "rlds_kit, write_arrays",
    "h5py": "h5py, gzip level 1",
    "minari": "Minari, Parquet",
    "rlds_kit-steps": "rlds_kit, step by step",
}

Rounds = dict[str, list[dict[str, Any]]]


def make(folder: Path, steps: int) -> Path:
    """Makes the arrays, unless they are there."""
    if folder.is_dir():
        return folder
    rng = np.random.default_rng(0)
    episodes = steps // EPISODE
    state, observations = rng.normal(size=(episodes, 17)), np.empty((episodes, EPISODE, 17), np.float32)
    for step in range(EPISODE):
        observations[:, step] = state
        state = 0.98 * state + 0.1 * rng.normal(size=state.shape)
    arrays = {
        "observations": observations.reshape(steps, 17),
        "actions": rng.uniform(-1, 1, (steps, 6)).astype(np.float32),
        "rewards": rng.normal(size=steps).astype(np.float32),
        "terminals": np.zeros(steps, np.bool_),
        "timeouts": np.arange(steps) % EPISODE == EPISODE - 1,
    }
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    for name, values in arrays.items():
        np.save(partial / f"{name}.npy", values)
    partial.rename(folder)
    return folder


def main() -> None:
    """Measures, and prints Markdown or JSON; what it is doing goes to standard error."""
    arguments = _arguments()
    steps = 100_000 if arguments.quick else 1_000_000
    folder = make(arguments.workdir.expanduser() / f"d4rl-{steps}", steps)
    rounds: Rounds = {name: [] for name in SYSTEMS}
    for number in range(arguments.rounds):
        for name in list(SYSTEMS)[:: 1 if number % 2 == 0 else -1]:
            result = json.loads(last_line(HERE / "arrays_side" / "play.py", name, folder))
            note(f"round {number + 1}: {name}: {result['seconds']:.2f} s")
            rounds[name].append(result)
    report = "\n".join(_report(rounds, steps, arguments.rounds))
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(json.dumps(rounds) if arguments.json else report)


def _report(rounds: Rounds, steps: int, count: int) -> Iterator[str]:
    yield f"- machine: {machine.describe()}"
    yield f"- python: {platform.python_version()}"
    yield "- versions: " + "; ".join(sorted({one["versions"] for each in rounds.values() for one in each}))
    yield f"- rounds: {count}; load average at the end: {os.getloadavg()[0]:.1f}"
    yield ""
    yield row((f"{steps:,} steps", "seconds", "CPU seconds", "bytes a step"))
    yield row(["---"] * 4)
    for name, title in SYSTEMS.items():
        each = rounds[name]
        sizes = [one["bytes"] / steps for one in each]
        yield row([title, *(spread([one[key] for one in each]) for key in ("seconds", "cpu")), spread(sizes)])
    yield ""
    for peer, goal in (
        ("h5py", "time: goal at most 2"),
        ("minari", "bytes: goal at most 1"),
        ("rlds_kit-steps", "time"),
    ):
        key = "bytes" if peer == "minari" else "seconds"
        ratios = [a[key] / b[key] for a, b in zip(rounds["rlds_kit"], rounds[peer], strict=True)]
        found = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        yield f"- rlds_kit against {SYSTEMS[peer]}, {goal}: {found}"


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "inputs, which are made once")
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()

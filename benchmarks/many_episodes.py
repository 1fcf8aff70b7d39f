"""Measures how fast a dataset of very many short episodes opens, and how much memory that takes.

    python benchmarks/many_episodes.py
    python benchmarks/many_episodes.py --against ../rlds_kit-0.1    # in turn with another checkout

Recorded once, below `--workdir`: a million episodes of two steps with two numbers as metadata. Every task runs in a new
process, with the files in the page cache; its time is that of the task alone, without `import rlds_kit` (and without
`import tensorflow_datasets` for the builder). Each version reads a recording of its own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from side_by_side.memory import peak_mib

ROOT: Final = Path(__file__).parents[1]
GOALS: Final = {
    "open, len(episodes): s": 0.5,
    "open, first batch of transitions, in order: s": 2.0,
    "open, first batch of transitions, shuffled: s": 2.0,
    "open, first batch: peak MiB": 300.0,
    "builder_from_directory: s": 5.0,
}


def record(folder: Path, episodes: int) -> None:
    """Records the episodes."""
    from rlds_kit import logger

    with logger.EpisodeWriter(folder) as writer:
        for number in range(episodes):
            with writer.episode(metadata={"level": number % 7, "score": float(number)}) as episode:
                episode.start(number)
                episode.step(1, 0.5, number + 1, terminated=True)


def opened(folder: Path) -> float:
    """Seconds until the number of episodes is known."""
    import rlds_kit

    begin = time.perf_counter()
    len(rlds_kit.open(folder).episodes)
    return time.perf_counter() - begin


def in_order(folder: Path) -> float:
    """Seconds until the first batch."""
    return _first_batch(folder, None)


def shuffled(folder: Path) -> float:
    """Seconds until the first batch of a global shuffle."""
    return _first_batch(folder, "global")


def memory(folder: Path) -> float:
    """Peak memory of the process in MiB."""
    _first_batch(folder, "global")
    return peak_mib()


def builder(folder: Path) -> float:
    """Seconds until a builder of TFDS has its features and splits."""
    from rlds_kit import tfds_builders

    begin = time.perf_counter()
    found = tfds_builders.builder_from_directory(folder)
    assert found.info.splits["train"].num_examples, "no episodes"  # noqa: S101  part of the task
    return time.perf_counter() - begin


TASKS: Final[dict[str, Callable[[Path], float]]] = dict(
    zip(GOALS, (opened, in_order, shuffled, memory, builder), strict=True)
)


def _first_batch(folder: Path, shuffle: str | None) -> float:
    import rlds_kit

    begin = time.perf_counter()
    next(iter(rlds_kit.open(folder).transitions().batches(256, shuffle=shuffle, seed=0)))
    return time.perf_counter() - begin


def main() -> None:
    """Measures and prints a table."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "rlds_kit-benchmarks"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path, default=cache, help=f"for the recordings; {cache}")
    parser.add_argument("--episodes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path, help="another checkout, for instance of the version before")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task == "record":
        record(arguments.folder, arguments.episodes)
    elif arguments.task:
        print(json.dumps(TASKS[arguments.task](arguments.folder)))
    else:
        checkouts = [ROOT, *([arguments.against.resolve()] if arguments.against else [])]
        folders = [_recorded(each, arguments.workdir.expanduser(), arguments.episodes) for each in checkouts]
        _report(list(zip(checkouts, folders, strict=True)), arguments.rounds)


def _recorded(checkout: Path, workdir: Path, episodes: int) -> Path:
    folder = workdir / "many_episodes" / f"{checkout.name}-{episodes}"
    if not folder.exists():
        print(f"recording {episodes:,} episodes into {folder}", file=sys.stderr, flush=True)
        partial = folder.with_suffix(".partial")
        _run(checkout, "record", partial, "--episodes", str(episodes))
        partial.rename(folder)
    return folder


def _report(versions: Sequence[tuple[Path, Path]], rounds: int) -> None:
    names = [checkout.name for checkout, _ in versions]
    print(f"| work | goal | {' | '.join(f'{name}: median (lowest to highest)' for name in names)} |")
    print("|---|---|" + "---|" * len(names))
    for task, goal in GOALS.items():
        found: list[list[float]] = [[] for _ in versions]
        for _ in range(rounds):
            for (checkout, folder), values in zip(versions, found, strict=True):
                values.append(float(json.loads(_run(checkout, task, folder))))
        shown = [f"{statistics.median(each):.3g} ({min(each):.3g} to {max(each):.3g})" for each in found]
        print(f"| {task} | <= {goal:g} | {' | '.join(shown)} |", flush=True)


def _run(checkout: Path, task: str, folder: Path, *options: str) -> str:
    """Runs a task in a new process with the package of a checkout."""
    command = [sys.executable, __file__, "--task", task, "--folder", str(folder), *options]
    env = {**os.environ, "PYTHONPATH": str(checkout), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()

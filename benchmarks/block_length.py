"""Measures what the length of a block costs and brings, and draws docs/images/performance_block_length.png.

    python benchmarks/block_length.py

Longer blocks compress better; shorter ones make less to decode for a window of a few steps. Recorded are four Atari
games, every block of exactly so many steps; read are batches of 32 random windows of 8 observations.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from side_by_side import make_traces  # noqa: E402
from side_by_side.null_gymnasium import NullGymnasium  # noqa: E402
from side_by_side.stopwatch import bytes_on_disk  # noqa: E402
from side_by_side.trace import Trace  # noqa: E402

import rlds_kit  # noqa: E402
from rlds_kit import logger  # noqa: E402

LENGTHS: Final = (8, 16, 32, 64, 128, 256)
WINDOWS: Final = 32
STEPS: Final = 8
BATCHES: Final = 10
REPEATS: Final = 3
CYCLES: Final = 4
"""Every trace is played so often: a shard ends on a multiple of 64 KiB, which a short one would be charged for."""
UNLIMITED: Final = 1 << 30
PICTURE: Final = ROOT / "docs" / "images" / "performance_block_length.png"
COLORS: Final = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0")


def main() -> None:
    """Measures, prints a table and draws it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "rlds_kit-benchmarks"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path, default=cache, help=f"holds the traces; {cache}")
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to draw")
    arguments = parser.parse_args()
    found = {}
    print("| game | steps in a block | bytes/step | windows/s of CPU |\n|---|---|---|---|")
    for game in make_traces.GAMES:
        trace = Trace(make_traces.make(game, arguments.workdir.expanduser() / "traces"))
        for length in LENGTHS:
            found[game, length] = size, windows = measure(trace, length)
            print(f"| {game} | {length} | {size:.0f} | {windows:,.0f} |", flush=True)
    draw(found, arguments.output)


def measure(trace: Trace, length: int) -> tuple[float, float]:
    """Bytes per step, and windows per second of CPU time (wall time would measure what else the machine does)."""
    policy = logger.FlushPolicy(block_rows=length, block_bytes=UNLIMITED, interval=None)
    with tempfile.TemporaryDirectory() as folder:
        env = logger.GymnasiumLogger(NullGymnasium(trace), folder, policy=policy, draw_seeds=False)
        for row in itertools.chain(*[range(len(trace))] * CYCLES):
            if trace.first[row]:
                env.reset()
            else:
                env.step(trace.action[row])
        env.close()
        size = bytes_on_disk(Path(folder)) / len(trace) / CYCLES
        return size, statistics.median(read_windows(Path(folder), seed) for seed in range(REPEATS))


def read_windows(folder: Path, seed: int) -> float:
    """Windows per second of a dataset that was just opened."""
    rng = np.random.default_rng(seed)
    episodes = rlds_kit.open(folder).episodes
    lengths = np.array([len(episode) for episode in episodes])
    begin = time.process_time()
    for _ in range(BATCHES):
        chosen = rng.choice(len(lengths), WINDOWS, p=lengths / lengths.sum())
        starts = rng.integers(0, lengths[chosen] - STEPS)
        windows = [episodes[int(e)][s : s + STEPS]["observation"] for e, s in zip(chosen, starts.tolist(), strict=True)]
        np.stack(windows)
    return BATCHES * WINDOWS / (time.process_time() - begin)


def draw(found: dict[tuple[str, int], tuple[float, float]], path: Path) -> None:
    """Two curves a game."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    titles = ("bytes per step", f"windows of {STEPS} steps per second of CPU")
    for pane, title, which in zip(panes, titles, (0, 1), strict=True):
        for game, color in zip(make_traces.GAMES, COLORS, strict=True):
            values = [found[game, length][which] for length in LENGTHS]
            pane.plot(LENGTHS, values, marker="o", color=color, label=game)
        pane.set_xscale("log", base=2)
        pane.set_xticks(LENGTHS, [str(length) for length in LENGTHS])
        pane.set_ylim(bottom=0)
        pane.set_title(title, loc="left")
        pane.set_xlabel("steps in a block")
        pane.spines[["top", "right"]].set_visible(False)
        pane.grid(axis="y", alpha=0.3)
    panes[0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()

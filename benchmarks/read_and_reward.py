"""Measures what rewards from manuals are worth to A2C: many seeds, with and without them; and draws learning curves.

    python benchmarks/read_and_reward.py --run Breakout        # adds the runs that are not yet in the results
    python benchmarks/read_and_reward.py --run Breakout --arms manual none --seeds 0 1 --steps 50000
    python benchmarks/read_and_reward.py --write               # the table and the figure of docs/manuals.md

All runs are in benchmarks/results/read_and_reward.csv: a row for each twentieth of a training, and one for the trained
agent, which plays 8 episodes. Several processes may run at a time.
"""

import argparse
import csv
import fcntl
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "examples"))

from read_and_reward import MANUAL_WEIGHT, make_agent, mean  # noqa: E402  an example beside this folder

from rlds_kit.shaping.manuals import InteractionTable, read_manual, shipped_manual  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "read_and_reward.csv"
PAGE, FIGURE = ROOT / "docs" / "manuals.md", ROOT / "docs" / "images" / "read_and_reward.png"
BEGIN, END = "<!-- begin: benchmarks/read_and_reward.py -->", "<!-- end: benchmarks/read_and_reward.py -->"
STEPS = {"Breakout": 30_000, "Pong": 60_000, "Tennis": 100_000}
SEEDS = range(5)
PARTS, TEST_EPISODES = 20, 8
TEST = "test"


class Arm(NamedTuple):
    """How a run differs.

    Attributes:
      title: for readers.
      weight: of the rewards by the manual.
      table: changes what was read.
    """

    title: str
    weight: float
    table: Callable[[InteractionTable], InteractionTable] = lambda table: table


def reversed_verdicts(table: InteractionTable) -> InteractionTable:
    """What is good is bad: a reader that errs always."""
    opposite = {"yes": "no", "no": "yes", "abstain": "abstain"}
    return replace(
        table,
        interactions=tuple(replace(each, verdict=opposite[each.verdict]) for each in table.interactions),  # type: ignore[arg-type]  # literals
    )


ARMS = {
    "manual": Arm("with the manual", MANUAL_WEIGHT),
    "none": Arm("without", 0.0),
    "reversed": Arm("verdicts reversed", MANUAL_WEIGHT, reversed_verdicts),
}


class Row(NamedTuple):
    """A line of the results.

    Attributes:
      game: its name.
      arm: key of `ARMS`.
      seed: of the run.
      steps: of the whole training.
      part: from 1 to `PARTS`, or "test": the trained agent.
      episodes: that ended in this part.
      score: mean of the game's score.
      manual: mean of the rewards by the manual, learned from or not.
      length: mean, in actions.
      cpu: seconds since the run began.
    """

    game: str
    arm: str
    seed: int
    steps: int
    part: str
    episodes: int
    score: float
    manual: float
    length: float
    cpu: float


def measure(game: str, arm: str, seed: int, steps: int) -> Iterator[Row]:
    """One run."""
    torch.set_num_threads(1)
    start = time.process_time()
    table = ARMS[arm].table(read_manual(shipped_manual(game)))
    agent = make_agent(table, ARMS[arm].weight, seed)

    def row(part: str, episodes: list[Any]) -> Row:
        return Row(game, arm, seed, steps, part, len(episodes), *mean(episodes), time.process_time() - start)

    part, known = 1, 0
    for step in agent.train(steps):
        while step >= part * steps / PARTS:
            yield row(str(part), agent.episodes[known:])
            part, known = part + 1, len(agent.episodes)
    yield row(TEST, agent.play(TEST_EPISODES))


def stored() -> list[Row]:
    """All rows of the results."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return [
            Row(*(kind(value) for kind, value in zip(Row.__annotations__.values(), row, strict=True)))
            for row in list(csv.reader(file))[1:]
        ]


def store(rows: list[Row]) -> None:
    """Appends a run; of two processes one waits."""
    with RESULTS.open("a", encoding="utf-8", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0, 2)
        writer = csv.writer(file, lineterminator="\n")
        if not file.tell():
            writer.writerow(Row._fields)
        writer.writerows([*row[:6], *(f"{each:.2f}" for each in row[6:9]), f"{row.cpu:.0f}"] for row in rows)


def run(game: str, arms: list[str], seeds: list[int], steps: int) -> None:
    """Measures the runs that are not yet stored."""
    for seed in seeds:
        for arm in arms:
            known = {(row.game, row.arm, row.seed, row.steps) for row in stored()}
            if (game, arm, seed, steps) not in known:
                rows = list(measure(game, arm, seed, steps))
                store(rows)
                print(*rows[-1], sep="\t", flush=True)


def tests(rows: list[Row], game: str, arm: str) -> dict[int, Row]:
    """The last row of each run of `STEPS` and `SEEDS`, by seed."""
    wanted = (game, arm, TEST, STEPS[game])
    return {row.seed: row for row in rows if (row.game, row.arm, row.part, row.steps) == wanted and row.seed in SEEDS}


def curve(rows: list[Row], game: str, arm: str) -> np.ndarray:
    """`[seeds, parts]` scores; a part in which no episode ended has that of the part before."""
    wanted = (game, arm, STEPS[game])
    found = {(row.seed, row.part): row.score for row in rows if (row.game, row.arm, row.steps) == wanted}
    scores = np.array([[found[seed, str(part)] for part in range(1, PARTS + 1)] for seed in tests(rows, game, arm)])
    for part in range(1, PARTS):
        scores[:, part] = np.where(np.isnan(scores[:, part]), scores[:, part - 1], scores[:, part])
    return scores


def error(values: np.ndarray) -> np.ndarray:
    """The standard error of the mean over the first axis."""
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))


def table_of(rows: list[Row]) -> list[str]:
    """The table of the page, in Markdown."""
    lines = [
        "| game | agent | seeds | actions | CPU-s a run | score | rewards by the manual |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for game in STEPS:
        for arm, settings in ARMS.items():
            found = list(tests(rows, game, arm).values())
            if len(found) > 1:
                score, manual = (np.array([getattr(each, name) for each in found]) for name in ("score", "manual"))
                cpu = np.mean([each.cpu for each in found])
                numbers = f"{len(found)} | {found[0].steps:,} | {cpu:.0f}"
                values = " | ".join(f"{each.mean():.1f} ± {error(each):.1f}" for each in (score, manual))
                lines.append(f"| {game} | {settings.title} | {numbers} | {values} |")
    return [*lines, "", *differences(rows)]


def differences(rows: list[Row]) -> list[str]:
    """How far the agents with and without the manual are apart, in standard errors of the difference."""
    lines = []
    for game in STEPS:
        both = [np.array([row.score for row in tests(rows, game, arm).values()]) for arm in ("manual", "none")]
        if min(map(len, both)) > 1:
            apart = both[0].mean() - both[1].mean()
            errors = apart / max(float(np.hypot(*map(error, both))), 1e-9)
            shown = "shown" if errors > 2 else "NOT SHOWN"
            lines.append(f"- {game}: {apart:+.1f}, {errors:+.1f} standard errors: {shown}.")
    return lines


def draw(rows: list[Row]) -> None:
    """Draws the mean of the seeds, and two standard errors, for each part of the trainings."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    games = [game for game in STEPS if len(tests(rows, game, "manual")) > 1]
    figure, plots = plt.subplots(1, len(games), figsize=(4.2 * len(games), 3.6), layout="constrained", squeeze=False)
    for game, plot in zip(games, plots[0], strict=True):
        for arm, settings in ARMS.items():
            if len(tests(rows, game, arm)) > 1:
                values = curve(rows, game, arm)
                steps = np.arange(1, PARTS + 1) / PARTS * STEPS[game] / 1000
                middle = values.mean(axis=0)
                (line,) = plot.plot(steps, middle, label=settings.title)
                plot.fill_between(
                    steps, middle - 2 * error(values), middle + 2 * error(values), alpha=0.2, color=line.get_color()
                )
        plot.set(xlabel="thousand actions", ylabel="score", title=game)
    plots[0, 0].legend(fontsize="small")
    figure.savefig(FIGURE, dpi=110)


def main() -> None:
    """Measures, or writes what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", choices=sorted(STEPS), help="the game")
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=["manual", "none"])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--steps", type=int, help="actions of a training")
    parser.add_argument("--write", action="store_true", help="write the table and the figure of the page")
    options = parser.parse_args()
    if options.run:
        run(options.run, options.arms, options.seeds, options.steps or STEPS[options.run])
    rows = stored()
    table = "\n".join(table_of(rows))
    print(table)
    if options.write:
        before, _, after = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after.partition(END)[2]}", "utf-8")
        draw(rows)


if __name__ == "__main__":
    main()

"""Measures what agents learn from simulated trainers, on 20 seeds, and draws their learning curves.

    python benchmarks/training_by_hand.py --write      # the table and the figure of docs/training_by_hand.md

Mountain Car: ten games of at most 1,000 steps; good is a seed whose agent, alone, takes at most 150 steps on the mean
of 20 starts. Tetris: four games of at most 300 pieces. Trainers and agents are those of `rlds_kit.shaping.learners`.
The result follows from the seeds; on another machine exponential functions may differ in the last bit, and so may a
seed.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from rlds_kit.shaping.credit import GammaDelay, NextStep, UniformWindow, aggregate_labels
from rlds_kit.shaping.environments import PlacementTetris
from rlds_kit.shaping.learners import (
    Tamer,
    mountain_car_tamer,
    mountain_car_trainer,
    tetris_tamer,
    tetris_trainer,
    train,
)

DOCS = Path(__file__).parent.parent / "docs"
PAGE, FIGURE = DOCS / "training_by_hand.md", DOCS / "images" / "training_by_hand.png"
BEGIN, END = "<!-- begin: benchmarks/training_by_hand.py -->", "<!-- end: benchmarks/training_by_hand.py -->"
SEEDS = range(20)
STARTS = range(10_000, 10_020)
GOOD = 150
CAR = {
    "uniform window 0.2 to 0.6 s, per step": (UniformWindow(0.2, 0.6), {}),
    "gamma density (2, 0.28 s), per step": (GammaDelay(2.0, 0.28), {}),
    "uniform window, aggregate": (UniformWindow(0.2, 0.6), {"labelling": aggregate_labels}),
    "none: the step that is shown": (NextStep(), {}),
    "uniform window 0.2 to 4 s: too wide": (UniformWindow(0.2, 4.0), {}),
    "no feedback": (NextStep(), {}),
}
TETRIS = {"with an intercept": 3.0, "without an intercept": 0.0}


def drive(name: str, seed: int) -> tuple[list[float], float]:
    """Trains one agent; returns the steps of its games, and of the agent alone."""
    assigner, options = CAR[name]
    tamer = mountain_car_tamer(assigner, **options)
    trainer = None if name == "no feedback" else mountain_car_trainer()
    env = gymnasium.make("MountainCar-v0", max_episode_steps=1000)
    lengths = [float(len(game.steps)) for game in train(env, tamer, trainer, n_games=10, seed=seed)]
    return lengths, float(np.mean([alone(env, tamer, start) for start in STARTS]))


def alone(env: gymnasium.Env[Any, Any], tamer: Tamer, start: int) -> int:
    """Steps of an agent alone from a start."""
    observation, _ = env.reset(seed=start)
    is_over, length = False, 0
    while not is_over:
        observation, _, terminated, truncated, _ = env.step(tamer.act(observation))
        is_over, length = terminated or truncated, length + 1
    return length


def place(name: str, seed: int) -> list[float]:
    """Trains one agent; returns the lines of its games."""
    tamer = tetris_tamer(seed=seed, intercept=TETRIS[name])
    env = PlacementTetris(max_pieces=300)
    return [game.total for game in train(env, tamer, tetris_trainer(), n_games=4, seed=seed)]


def main() -> None:
    """Measures; prints the table, and writes it with the figure if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table and the figure of the page")
    options = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        cars = {name: list(pool.map(drive, [name] * len(SEEDS), SEEDS)) for name in CAR}
        games = {name: list(pool.map(place, [name] * len(SEEDS), SEEDS)) for name in TETRIS}
    table = "\n".join([*car_table(cars), "", *tetris_table(games)])
    print(table)
    if options.write:
        text = PAGE.read_text("utf-8")
        before, _, after = text.partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after.partition(END)[2]}", "utf-8")
        draw(cars, games)


def car_table(cars: dict[str, list[tuple[list[float], float]]]) -> list[str]:
    """Of Mountain Car, in Markdown."""
    rows = []
    for name, runs in cars.items():
        tests = [test for _, test in runs]
        third = np.mean([lengths[2] for lengths, _ in runs])
        good = sum(each <= GOOD for each in tests)
        rows.append(f"| {name} | {third:.0f} | {np.mean(tests):.0f} | {good} of {len(runs)} |")
    return ["| Mountain Car: credit | steps, game 3 | steps alone | good seeds |", "|---|--:|--:|--:|", *rows]


def tetris_table(games: dict[str, list[list[float]]]) -> list[str]:
    """Of Tetris, in Markdown."""
    rows = [
        f"| {name} | {' | '.join(f'{each:.1f}' for each in np.mean(runs, axis=0))} |" for name, runs in games.items()
    ]
    return ["| Tetris: lines, mean of 20 seeds | game 1 | game 2 | game 3 | game 4 |", "|---|--:|--:|--:|--:|", *rows]


def draw(cars: dict[str, list[tuple[list[float], float]]], games: dict[str, list[list[float]]]) -> None:
    """Draws the mean of seeds for each game."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for name, runs in cars.items():
        if name != "no feedback":
            left.plot(range(1, 11), np.median([lengths for lengths, _ in runs], axis=0), marker=".", label=name)
    left.set(xlabel="game", ylabel="steps to the goal, median of seeds", yscale="log", title="Mountain Car")
    left.legend(fontsize="small")
    for name, tetris in games.items():
        right.plot(range(1, 5), np.mean(tetris, axis=0), marker=".", label=name)
    right.set(xlabel="game", ylabel="lines, mean of seeds", xticks=range(1, 5), title="Tetris")
    right.legend(fontsize="small")
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()

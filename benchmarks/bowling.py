"""Deep TAMER learns Atari's Bowling from pixels, with a simulated trainer; then a model of the trainer takes over.

The agent acts four times a second: noop, fire, up or down. It sees principal components of two small frames (an
autoencoder without hidden layers) that were made from random play. The trainer sees the positions of bowler and ball in
the memory of the game. It gives feedback for 30 % of the actions, 0.2 to 0.6 seconds late: 1 for moving towards the
middle of the lane, for throwing there, and for letting the ball roll straight; -1 for anything else. It knows that such
throws fell 8 of the 10 pins in two throws. After 6 games it stops, and a model of it gives feedback for 3 more games.

While it learns, the agent does 15 % of its actions at random, and 5 % in tests, as agents of Atari games are usually
tested: without them it can repeat two wrong moves for ever, and never throws.

Each seed is a few rows of a CSV file, which is written after each game. A seed whose rows are complete is not done
again; one that was interrupted begins anew.

    python benchmarks/bowling.py --out benchmarks/results/bowling.csv --plot docs/images/bowling.png
"""

import argparse
import csv
import heapq
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from ale_py import ALEInterface, LoggerMode, roms

from rlds_kit.shaping import deep

ACTIONS: Final = (0, 1, 2, 5)  # noop, fire, up, down
NOOP, FIRE, UP, DOWN = range(4)
STEP, FRAMES, MOST = 0.25, 15, 1200
WINDOW: Final = (0.2, 0.6)
TRAINED, TAKEN_OVER, TESTED, RANDOM = 6, 3, 5, 20
COMPONENTS: Final = 48
PATIENCE: Final = 5.0
EXPLORED, TESTED_AT_RANDOM = 0.15, 0.05
LAST: Final = "test after"
"""The last phase of a seed."""


class Game:
    """Bowling, in steps of a quarter of a second."""

    def __init__(self) -> None:
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._ale = ALEInterface()
        self._ale.setInt("random_seed", 0)
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._ale.loadROM(Path(str(roms.get_rom_path("bowling"))))

    def reset(self, seed: int) -> None:
        """Begins a game, after up to half a second."""
        self._ale.reset_game()
        self.steps = 0
        for _ in range(60 + int(np.random.default_rng(seed).integers(30))):
            self._ale.act(0)
        self._before = self._seen = self._screen()

    def step(self, action: int) -> float:
        """Does an action; returns the reward."""
        reward = sum(self._ale.act(ACTIONS[action]) for _ in range(FRAMES))
        self._before, self._seen, self.steps = self._seen, self._screen(), self.steps + 1
        return float(reward)

    @property
    def is_over(self) -> bool:
        """Whether the game is over, or takes too long."""
        return bool(self._ale.game_over()) or self.steps >= MOST

    @property
    def pixels(self) -> np.ndarray:
        """`[1680]` of this frame, and of the one a step before."""
        return np.concatenate([self._seen, self._before])

    @property
    def positions(self) -> tuple[int, int]:
        """The column of the ball, and the height of the bowler, in the memory of the game."""
        memory = self._ale.getRAM()
        return int(memory[30]), int(memory[40])

    def _screen(self) -> np.ndarray:
        """The lane in gray: 21 x 40 means of 4 x 4 pixels."""
        lane = self._ale.getScreenGrayscale()[96:180].astype(np.float32) / 255
        return np.asarray(lane.reshape(21, 4, 40, 4).mean(axis=(1, 3)).ravel())


class Features:
    """Principal components of frames of random play, with a deviation of 1."""

    def __init__(self, game: Game, seed: int) -> None:
        random, frames = np.random.default_rng(seed), list[np.ndarray]()
        for number in range(2):
            game.reset(seed + number)
            while not game.is_over:
                game.step(int(random.integers(len(ACTIONS))))
                frames.append(game.pixels)
        seen = np.stack(frames)
        self._mean = seen.mean(axis=0)
        _, scale, self._parts = np.linalg.svd(seen - self._mean, full_matrices=False)
        self._parts = self._parts[:COMPONENTS] / (scale[:COMPONENTS, None] / np.sqrt(len(seen)))

    def of(self, game: Game) -> np.ndarray:
        """`[48]` float32."""
        return np.asarray(self._parts @ (game.pixels - self._mean), np.float32)


class Trainer:
    """Judges actions by the positions of bowler and ball, and is late."""

    def __init__(self, seed: int) -> None:
        self._random, self._events = np.random.default_rng(seed), list[tuple[float, float]]()

    def watch(self, positions: tuple[int, int], action: int, time: float) -> None:
        """Sees an action, and decides at some moment of it."""
        if self._random.random() < 0.3:
            value = 1.0 if action == self.best(positions) else -1.0
            decided = time + self._random.uniform(0, STEP)
            heapq.heappush(self._events, (decided + self._random.uniform(*WINDOW), value))

    def given(self, until: float) -> list[tuple[float, float]]:
        """The events that arrived."""
        found = []
        while self._events and self._events[0][0] <= until:
            found.append(heapq.heappop(self._events))
        return found

    @staticmethod
    def best(positions: tuple[int, int]) -> int:
        """The right action."""
        ball, bowler = positions
        if ball != 15:
            return NOOP
        return UP if bowler < 13 else DOWN if bowler > 17 else FIRE


def play(game: Game, seed: int, act: Any) -> float:
    """The return of a game."""
    game.reset(seed)
    total = 0.0
    while not game.is_over:
        total += game.step(act())
    return total


class Run:
    """A training with one seed."""

    def __init__(self, seed: int) -> None:
        self.seed, self.game, self.time = seed, Game(), 0.0
        self.features = Features(self.game, 1000 * seed)
        network = deep.perceptron(COMPONENTS, 64, len(ACTIONS), seed=seed)
        self.agent = deep.DeepTamer(network, window=WINDOW, learning_rate=1e-3, seed=seed)
        own = deep.perceptron(COMPONENTS, 64, len(ACTIONS), seed=seed + 1)
        self.model = deep.TrainerModel(own, patience=PATIENCE, learning_rate=1e-3, seed=seed)
        self.trainer, self.events = Trainer(seed), 0
        self._random = np.random.default_rng(100 + seed)

    def act(self, state: np.ndarray, at_random: float) -> int:
        """The agent's action, or at random with some probability."""
        return int(self._random.integers(len(ACTIONS))) if self._random.random() < at_random else self.agent.act(state)

    def train(self, number: int, *, is_watched: bool) -> float:
        """One game, with feedback of the trainer, or of the model once it has taken over; returns its return."""
        self.game.reset(10_000 * self.seed + number)
        total = 0.0
        while not self.game.is_over:
            state = self.features.of(self.game)
            action = self.act(state, EXPLORED)
            if is_watched:
                self.trainer.watch(self.game.positions, action, self.time)
            total += self.game.step(action)
            self.agent.stepped(state, action, self.time, self.time + STEP)
            self.time += STEP
            self._learn(state, action)
        return total

    def _learn(self, state: np.ndarray, action: int) -> None:
        for when, value in self.trainer.given(self.time):
            self.events += 1
            for sample in self.agent.feedback(value, when):
                self.model.saw(sample.state, sample.action, sample.value, when, sample.weight)
        if self.model.has_taken_over(self.time):
            value = float(np.clip(self.model.feedback(state, action), -1, 1))
            self.agent.samples.append(deep.Sample(state, action, value, 1.0))
        for _ in range(2):
            self.agent.replay()

    def test(self) -> list[float]:
        """Returns of games without learning, from other beginnings."""
        return [
            play(self.game, 77_000 + number, lambda: self.act(self.features.of(self.game), TESTED_AT_RANDOM))
            for number in range(TESTED)
        ]


def run(seed: int, out: Path, others: list[dict[str, Any]]) -> None:
    """Adds the rows of a seed to a file, after each game or test."""
    one, rows = Run(seed), list[dict[str, Any]]()

    def add(phase: str, returns: list[float]) -> None:
        for value in returns:
            number = sum(row["phase"] == phase for row in rows)
            rows.append({"seed": seed, "phase": phase, "game": number, "return": value, "feedback": one.events})
        print(seed, phase, returns, one.events, flush=True)
        write(out, others + rows)

    random = np.random.default_rng(seed)
    add("random", [play(one.game, 55_000 + n, lambda: int(random.integers(4))) for n in range(RANDOM // 5)])
    for number in range(TRAINED):
        add("trained", [one.train(number, is_watched=True)])
    add("test", one.test())
    one.model.learn(3000)
    for number in range(TAKEN_OVER):
        add("taken over", [one.train(TRAINED + number, is_watched=False)])
    add(LAST, one.test())


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of the seeds that are complete."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    complete = {row["seed"] for row in rows if row["phase"] == LAST}
    return [row for row in rows if row["seed"] in complete]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Replaces the file."""
    new = path.with_suffix(".new")
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    new.replace(path)


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draws the return of each game, in the order of the games, for each seed."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for seed in dict.fromkeys(row["seed"] for row in rows):
        axes.plot([float(row["return"]) for row in rows if row["seed"] == seed], ".-", lw=0.8, label=f"seed {seed}")
    first = [row["phase"] for row in rows if row["seed"] == rows[0]["seed"]]
    for number, phase in enumerate(dict.fromkeys(first)):
        begin = first.index(phase)
        axes.axvspan(begin - 0.5, begin + first.count(phase) - 0.5, color="0.9" if number % 2 else "1", zorder=0)
        axes.text(begin - 0.4, 122, phase, va="top", fontsize=8)
    axes.set(
        xlabel="game", ylabel="return", ylim=(0, 125), title="Bowling: random play, feedback, model of the trainer"
    )
    axes.legend(fontsize=7, loc="lower right")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Runs the seeds that the file does not have."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10, 15)))
    parser.add_argument("--out", type=Path, required=True, help="CSV file")
    parser.add_argument("--plot", type=Path, help="also draw the games: PNG file")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for seed in given.seeds:
        rows = read(given.out)
        if str(seed) not in {row["seed"] for row in rows}:
            run(seed, given.out, rows)
    if given.plot:
        plot(read(given.out), given.plot)


if __name__ == "__main__":
    main()

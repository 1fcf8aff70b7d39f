"""Trainings by simulated trainers, whose results are measured."""

import gymnasium
import numpy as np

from rlds_kit.shaping.environments import PlacementTetris
from rlds_kit.shaping.learners import SimulatedTrainer, Tamer, mountain_car_trainer, tetris_trainer, train

GOOD = 150
"""Mean number of steps to the goal of Mountain Car, over 20 starts, of a well-trained agent."""
DRIVING, PLACING = mountain_car_trainer(), tetris_trainer()


def driven(tamer: Tamer, seed: int, *, n_games: int = 10, trainer: SimulatedTrainer | None = DRIVING) -> list[int]:
    """Trains an agent for Mountain Car; returns the steps of each game."""
    env = gymnasium.make("MountainCar-v0", max_episode_steps=1000)
    return [len(game.steps) for game in train(env, tamer, trainer, n_games=n_games, seed=seed)]


def mean_steps(tamer: Tamer, *, n_starts: int = 20) -> float:
    """Of the agent alone, from listed starts."""
    env, lengths = gymnasium.make("MountainCar-v0", max_episode_steps=1000), []
    for start in range(n_starts):
        observation, _ = env.reset(seed=10_000 + start)
        is_over, length = False, 0
        while not is_over:
            observation, _, terminated, truncated, _ = env.step(tamer.act(observation))
            is_over, length = terminated or truncated, length + 1
        lengths.append(length)
    return float(np.mean(lengths))


def placed(tamer: Tamer, seed: int, *, n_games: int = 3) -> list[float]:
    """Trains an agent for the placement Tetris; returns the lines of each game, of at most 300 pieces."""
    env = PlacementTetris(max_pieces=300)
    return [game.total for game in train(env, tamer, PLACING, n_games=n_games, seed=seed)]

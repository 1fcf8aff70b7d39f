"""Trainings by simulated trainers, whose results are measured."""

import gymnasium
import numpy as np

from rlds_kit.shaping.credit import Assigner, Labelling, NextStep, UniformWindow, per_step_labels
from rlds_kit.shaping.environments import PlacementTetris, TetrisFeatures, mountain_car_judge, tetris_judge
from rlds_kit.shaping.learners import (
    NormalisedLinearModel,
    PerAction,
    RadialBasis,
    Replay,
    SimulatedTrainer,
    Tamer,
    train,
)

GOOD = 150
"""Steps to the goal of Mountain Car, on the mean of 20 starts, of an agent that is trained well."""
DRIVING = SimulatedTrainer(judge=mountain_car_judge, share=0.3, flipped=0.05, delay=(0.2, 0.6), step_seconds=0.15)
PLACING = SimulatedTrainer(judge=tetris_judge, delay=(1.0, 1.0), step_seconds=1.0)


def driver(assigner: Assigner | None = None, labelling: Labelling = per_step_labels) -> Tamer:
    """An agent for Mountain Car."""
    basis = RadialBasis([-1.2, -0.07], [0.6, 0.07], per_dimension=12)
    features = PerAction(basis, basis.size, n_actions=3)
    model = NormalisedLinearModel(features.size, step_size=0.2)
    return Tamer(features, model, UniformWindow(0.2, 0.6) if assigner is None else assigner, labelling=labelling)


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


def placer(seed: int, *, intercept: float = 3.0) -> Tamer:
    """An agent for the placement Tetris."""
    features = TetrisFeatures(intercept=intercept)
    model = NormalisedLinearModel(features.size, step_size=0.2)
    return Tamer(features, model, NextStep(lag=1), replay=Replay(repeats=15, seed=seed))


def placed(tamer: Tamer, seed: int, *, n_games: int = 3) -> list[float]:
    """Trains an agent for the placement Tetris; returns the lines of each game, of at most 300 pieces."""
    env = PlacementTetris(max_pieces=300)
    return [game.total for game in train(env, tamer, PLACING, n_games=n_games, seed=seed)]

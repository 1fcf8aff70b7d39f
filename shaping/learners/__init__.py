"""Learners that people train: models of their feedback, TAMER, and its combinations with Sarsa."""

from rlds_kit.shaping.learners.combinations import (
    ActionBiasing,
    Combination,
    ControlSharing,
    RewardShaping,
    SarsaWithFeedback,
)
from rlds_kit.shaping.learners.conversion import tamer_of
from rlds_kit.shaping.learners.features import ActionFeatures, Normaliser, PerAction, RadialBasis
from rlds_kit.shaping.learners.general import general_tamer
from rlds_kit.shaping.learners.learning_thread import LearningThread
from rlds_kit.shaping.learners.linear_model import LinearModel, NormalisedLinearModel
from rlds_kit.shaping.learners.presets import (
    mountain_car_tamer,
    mountain_car_trainer,
    tetris_tamer,
    tetris_trainer,
)
from rlds_kit.shaping.learners.recorded import learn_again
from rlds_kit.shaping.learners.replay import Replay
from rlds_kit.shaping.learners.sarsa import LinearSarsa, SarsaConfig
from rlds_kit.shaping.learners.saved_state import load_state, save_state
from rlds_kit.shaping.learners.simulated_trainer import Game, SimulatedTrainer, train
from rlds_kit.shaping.learners.tamer import Model, Tamer

__all__ = [
    "ActionBiasing",
    "ActionFeatures",
    "Combination",
    "ControlSharing",
    "Game",
    "LearningThread",
    "LinearModel",
    "LinearSarsa",
    "Model",
    "NormalisedLinearModel",
    "Normaliser",
    "PerAction",
    "RadialBasis",
    "Replay",
    "RewardShaping",
    "SarsaConfig",
    "SarsaWithFeedback",
    "SimulatedTrainer",
    "Tamer",
    "general_tamer",
    "learn_again",
    "load_state",
    "mountain_car_tamer",
    "mountain_car_trainer",
    "save_state",
    "tamer_of",
    "tetris_tamer",
    "tetris_trainer",
    "train",
]

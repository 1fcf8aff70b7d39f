"""Deep learners from feedback: Deep TAMER, COACH, and a model of the trainer that takes over. They need PyTorch."""

from rlds_kit.shaping.deep.coach import Coach
from rlds_kit.shaping.deep.deep_tamer import DeepTamer, Sample, uniform_weight
from rlds_kit.shaping.deep.networks import perceptron
from rlds_kit.shaping.deep.trainer_model import TrainerModel

__all__ = ["Coach", "DeepTamer", "Sample", "TrainerModel", "perceptron", "uniform_weight"]

"""Deep learners: Deep TAMER, COACH and a model of the trainer, from feedback; A2C, from rewards. They need PyTorch."""

from rlds_kit.shaping.deep.a2c import A2C, A2CSettings, PlayedEpisode
from rlds_kit.shaping.deep.coach import Coach
from rlds_kit.shaping.deep.deep_tamer import DeepTamer, Sample, uniform_weight
from rlds_kit.shaping.deep.networks import perceptron
from rlds_kit.shaping.deep.trainer_model import TrainerModel

__all__ = [
    "A2C",
    "A2CSettings",
    "Coach",
    "DeepTamer",
    "PlayedEpisode",
    "Sample",
    "TrainerModel",
    "perceptron",
    "uniform_weight",
]

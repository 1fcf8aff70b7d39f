"""Reward models: trained from preferences or credit, stored with a hash, used in datasets, environments and trials.

Training needs PyTorch, files of models need safetensors: both are in the extra `torch`.
"""

from rlds_kit.shaping.rewards.comparisons import Pair, pairs
from rlds_kit.shaping.rewards.davidson import probabilities
from rlds_kit.shaping.rewards.inputs import Inputs, segment_vectors
from rlds_kit.shaping.rewards.model import RewardModel
from rlds_kit.shaping.rewards.model_file import digest, load, save
from rlds_kit.shaping.rewards.sources import ModelReward, RewardJudge, annotate_rewards, scores
from rlds_kit.shaping.rewards.training import Training, fit_credit, fit_preferences

__all__ = [
    "Inputs",
    "ModelReward",
    "Pair",
    "RewardJudge",
    "RewardModel",
    "Training",
    "annotate_rewards",
    "digest",
    "fit_credit",
    "fit_preferences",
    "load",
    "pairs",
    "probabilities",
    "save",
    "scores",
    "segment_vectors",
]

"""Pipelines of tf.data over episodes and steps: every name of `rlds.transformations`, and more."""

from rlds_kit.field_statistics import FieldStatistics
from rlds_kit.running_statistics import EpisodeStatistics
from rlds_kit.transformations import tensorflow_extra as _tensorflow_extra  # noqa: F401  raises where there is none
from rlds_kit.transformations.absorbing import add_absorbing_states
from rlds_kit.transformations.alignment import to_alignment
from rlds_kit.transformations.atari import atari_preprocessing
from rlds_kit.transformations.dense import from_dense, to_dense
from rlds_kit.transformations.downsample import downsample, first_action, only_action
from rlds_kit.transformations.episode_statistics import episode_statistics
from rlds_kit.transformations.frame_stack import frame_stack
from rlds_kit.transformations.interleave import interleave
from rlds_kit.transformations.normalize import denormalize, denormalize_from_bounds, normalize, normalize_to_bounds
from rlds_kit.transformations.pad import pad_episodes
from rlds_kit.transformations.relabel import relabel
from rlds_kit.transformations.returns import returns, returns_to_go
from rlds_kit.transformations.split import split
from rlds_kit.transformations.transitions import transitions
from rlds_kit.transformations.truncate import truncate
from rlds_kit.transformations.windows import chunks, windows

__all__ = [
    "EpisodeStatistics",
    "FieldStatistics",
    "add_absorbing_states",
    "atari_preprocessing",
    "chunks",
    "denormalize",
    "denormalize_from_bounds",
    "downsample",
    "episode_statistics",
    "first_action",
    "frame_stack",
    "from_dense",
    "interleave",
    "normalize",
    "normalize_to_bounds",
    "only_action",
    "pad_episodes",
    "relabel",
    "returns",
    "returns_to_go",
    "split",
    "to_alignment",
    "to_dense",
    "transitions",
    "truncate",
    "windows",
]

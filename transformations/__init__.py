"""Pipelines of tf.data over episodes and steps: every name of `rlds.transformations`, and more."""

from rlds_kit.base.field_statistics import FieldStatistics
from rlds_kit.base.running_statistics import EpisodeStatistics
from rlds_kit.transformations import tensorflow_extra as _tensorflow_extra  # noqa: F401  raises if it is missing
from rlds_kit.transformations.absorbing import add_absorbing_states
from rlds_kit.transformations.alignment import AlignmentType, add_alignment_to_step, to_alignment
from rlds_kit.transformations.atari import atari_preprocessing
from rlds_kit.transformations.auto_batch import BATCH_AUTO_TUNE
from rlds_kit.transformations.concatenation import concat_if_terminal, concatenate
from rlds_kit.transformations.dense import from_dense, to_dense
from rlds_kit.transformations.downsample import downsample, first_action, only_action
from rlds_kit.transformations.episode_statistics import episode_statistics
from rlds_kit.transformations.frame_stack import frame_stack
from rlds_kit.transformations.from_spec import step_spec, uniform_from_spec, zero_dataset_like, zeros_from_spec
from rlds_kit.transformations.interleave import interleave
from rlds_kit.transformations.last_step import episode_length, final_step
from rlds_kit.transformations.moments import mean_and_std, sar_fields_mask
from rlds_kit.transformations.normalize import denormalize, denormalize_from_bounds, normalize, normalize_to_bounds
from rlds_kit.transformations.pad import pad_episodes
from rlds_kit.transformations.pattern import (
    PatternConfig,
    PatternNode,
    create_config,
    create_reference_step,
    pattern_from_transform,
)
from rlds_kit.transformations.pattern_condition import Condition
from rlds_kit.transformations.pattern_dataset import pattern_map, pattern_map_from_transform
from rlds_kit.transformations.pattern_steps import PatternDataset, infer_signature
from rlds_kit.transformations.relabel import relabel
from rlds_kit.transformations.returns import returns, returns_to_go
from rlds_kit.transformations.shift import shift_keys
from rlds_kit.transformations.sliding_batch import batch
from rlds_kit.transformations.split import split
from rlds_kit.transformations.step_map import apply_nested_steps, map_nested_steps, map_steps
from rlds_kit.transformations.sums import sum_dataset, sum_nested_steps
from rlds_kit.transformations.transitions import transitions
from rlds_kit.transformations.truncate import truncate, truncate_after_condition
from rlds_kit.transformations.windows import chunks, windows

__all__ = [
    "BATCH_AUTO_TUNE",
    "AlignmentType",
    "Condition",
    "EpisodeStatistics",
    "FieldStatistics",
    "PatternConfig",
    "PatternDataset",
    "PatternNode",
    "add_absorbing_states",
    "add_alignment_to_step",
    "apply_nested_steps",
    "atari_preprocessing",
    "batch",
    "chunks",
    "concat_if_terminal",
    "concatenate",
    "create_config",
    "create_reference_step",
    "denormalize",
    "denormalize_from_bounds",
    "downsample",
    "episode_length",
    "episode_statistics",
    "final_step",
    "first_action",
    "frame_stack",
    "from_dense",
    "infer_signature",
    "interleave",
    "map_nested_steps",
    "map_steps",
    "mean_and_std",
    "normalize",
    "normalize_to_bounds",
    "only_action",
    "pad_episodes",
    "pattern_from_transform",
    "pattern_map",
    "pattern_map_from_transform",
    "relabel",
    "returns",
    "returns_to_go",
    "sar_fields_mask",
    "shift_keys",
    "split",
    "step_spec",
    "sum_dataset",
    "sum_nested_steps",
    "to_alignment",
    "to_dense",
    "transitions",
    "truncate",
    "truncate_after_condition",
    "uniform_from_spec",
    "windows",
    "zero_dataset_like",
    "zeros_from_spec",
]

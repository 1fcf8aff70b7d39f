"""The names of `rlds.rlds_types`."""

from rlds_kit.base.rlds_types import *

__all__ = [
    "ACTION",
    "ALIGNMENT",
    "CORE_STEP_FIELDS",
    "DISCOUNT",
    "IS_FIRST",
    "IS_LAST",
    "IS_TERMINAL",
    "MANDATORY_STEP_FIELDS",
    "OBSERVATION",
    "REWARD",
    "STEPS",
    "BatchedEpisode",
    "BatchedStep",
    "Episode",
    "EpisodeFilterFn",
    "Step",
    "StepFilterFn",
    "StepMapFn",
    "StepsToStepsFn",
    "build_episode",
    "build_step",
    "is_valid_rlds_dataset",
]

"""The names and types of RLDS, and functions that build and check a step, an episode and a dataset.

The names are those of RLDS (https://github.com/google-research/rlds#dataset-format). Nothing here needs TensorFlow:
where a `tf.data.Dataset` is meant the type is `Any`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rlds_kit.base.step import ACTION, DISCOUNT, IS_FIRST, IS_LAST, IS_TERMINAL, OBSERVATION, REWARD

__all__ = [
    "ACTION",
    "AGENT_ID",
    "ALIGNMENT",
    "CORE_STEP_FIELDS",
    "DISCOUNT",
    "ENVIRONMENT_CONFIG",
    "EPISODE_ID",
    "EXPERIMENT_ID",
    "INVALID",
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

MANDATORY_STEP_FIELDS: Final = frozenset([IS_FIRST, IS_LAST])
"""The mandatory fields of a step."""
CORE_STEP_FIELDS: Final = frozenset([OBSERVATION, ACTION, REWARD, DISCOUNT, IS_FIRST, IS_LAST, IS_TERMINAL])
"""The fields of a step that RLDS names. All but the mandatory ones are optional."""
ALIGNMENT: Final = "alignment"
"""Optional field of a step: how observation, action and reward belong together. See `transformations.AlignmentType`."""

STEPS: Final = "steps"
"""The one mandatory field of an episode: the dataset of its steps."""

EPISODE_ID: Final = "episode_id"
"""Episode metadata: unique in the dataset, and very probably among all datasets."""
AGENT_ID: Final = "agent_id"
"""Episode metadata: who acted. With N agents a tensor `[N, 2]` of names in the environment and ids."""
ENVIRONMENT_CONFIG: Final = "environment_config"
"""Episode metadata: text, often JSON, that describes how the environment was made."""
EXPERIMENT_ID: Final = "experiment_id"
"""Episode metadata: the experiment that the episode was recorded in."""
INVALID: Final = "invalid"
"""Episode metadata: true for an episode that readers should leave out, such as one cut off by a crash."""

Step: TypeAlias = dict[str, Any]
"""The fields of a step, by name."""
Episode: TypeAlias = dict[str, Any]
"""The steps of an episode, by the name `steps`, and its metadata."""
BatchedStep: TypeAlias = dict[str, Any]
"""The fields of several steps, each with a leading dimension."""
BatchedEpisode: TypeAlias = dict[str, Any]
"""Several episodes, each field with a leading dimension."""

StepFilterFn: TypeAlias = Callable[[Step], bool]
EpisodeFilterFn: TypeAlias = Callable[[Episode], bool]
StepsToStepsFn: TypeAlias = Callable[[Any], Any]
"""A function from a `tf.data.Dataset` of steps to another."""
StepMapFn: TypeAlias = Callable[[Step], Step]


def build_step(
    observation: Any | None,
    action: Any | None,
    reward: Any | None,
    discount: Any | None,
    is_terminal: Any | None,
    is_first: Any,
    is_last: Any,
    metadata: Mapping[str, Any] | None = None,
) -> Step:
    """Puts the fields of a step, or of a batch of steps, into a dict. Fields that are None are left out.

    Args:
      observation: of the agent.
      action: in response to the observation; undefined on the last step.
      reward: for the action; undefined on the last step.
      discount: of the value that follows; undefined on the last step.
      is_terminal: bool, whether the observation is of a terminal state.
      is_first: bool, whether the episode begins here.
      is_last: bool, whether the episode ends here.
      metadata: further fields.

    Raises:
      ValueError: a further field has the name of one that RLDS defines, whether that one is None or not.

    >>> build_step(0.5, 1, None, None, None, is_first=True, is_last=False, metadata={"score": 7})
    {'is_first': True, 'is_last': False, 'observation': 0.5, 'action': 1, 'score': 7}
    """
    metadata = metadata or {}
    if taken := sorted(CORE_STEP_FIELDS & metadata.keys()):
        raise ValueError(
            f"Invalid Step Metadata: {taken} are fields of a step. Give them by their arguments, or rename."
        )
    optional = {OBSERVATION: observation, ACTION: action, REWARD: reward, DISCOUNT: discount, IS_TERMINAL: is_terminal}
    present = {name: value for name, value in optional.items() if value is not None}
    return {IS_FIRST: is_first, IS_LAST: is_last, **present, **metadata}


def build_episode(steps: Any, metadata: Mapping[str, Any]) -> Episode:
    """Puts the steps and the metadata of an episode, or of a batch of episodes, into a dict.

    Args:
      steps: `tf.data.Dataset` of steps, or a list of them.
      metadata: fields of the episode; may be empty.

    Raises:
      ValueError: the metadata has a field `steps`.

    >>> build_episode([{"is_first": True, "is_last": True}], {"episode_id": "e0"})
    {'steps': [{'is_first': True, 'is_last': True}], 'episode_id': 'e0'}
    """
    if STEPS in metadata:
        raise ValueError(f"Invalid Episode Metadata: {STEPS!r} is the field of the steps. Rename the field.")
    return {STEPS: steps, **metadata}


def is_valid_rlds_dataset(dataset: Any) -> bool:
    """Returns whether a `tf.data.Dataset` has the structure of RLDS.

    That is a dataset of episodes, which are dicts with a dataset `steps`, of dicts that have at least `is_first` and
    `is_last`. Only the structure is checked, so no data is read and the dataset may be empty.

    Raises:
      TypeError: `dataset` is not a `tf.data.Dataset`.
    """
    try:
        episode = dataset.element_spec
    except AttributeError as error:
        raise TypeError(f"expected a tf.data.Dataset of episodes, got {type(dataset).__qualname__}") from error
    steps = episode.get(STEPS) if isinstance(episode, Mapping) else None
    step = getattr(steps, "element_spec", None)
    return isinstance(step, Mapping) and step.keys() >= MANDATORY_STEP_FIELDS

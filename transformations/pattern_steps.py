"""Applies patterns to a flat dataset of steps, and infers specs: Reverb's `PatternDataset` and `infer_signature`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from rlds_kit.base import rlds_types
from rlds_kit.transformations.pattern import PatternConfig, PatternNode
from rlds_kit.transformations.pattern_dataset import config_specs, pattern_map
from rlds_kit.transformations.pattern_path import Path

_STEP = "step"


def PatternDataset(  # noqa: N802  the name that programs use
    input_dataset: tf.data.Dataset,
    configs: Sequence[PatternConfig],
    respect_episode_boundaries: bool,
    is_end_of_episode: Callable[[Any], Any],
) -> tf.data.Dataset:
    """Applies patterns to a flat dataset of steps.

    Args:
      input_dataset: dataset of steps, of one episode after the other.
      configs: as for `pattern_map`.
      respect_episode_boundaries: as for `pattern_map`.
      is_end_of_episode: from a step to a boolean, whether it is the last of its episode.

    Returns:
      A flat dataset of elements in the structure of the pattern.

    Raises:
      ValueError: as for `pattern_map`.

    >>> from rlds_kit.transformations import create_config, pattern_from_transform
    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0, 4.0, 8.0], "end": [False, True, False, True]})
    >>> config = create_config(pattern_from_transform(steps.element_spec, lambda step: step["reward"][-2:]))
    >>> pairs = PatternDataset(steps, [config], True, lambda step: step["end"])
    >>> [rewards.tolist() for rewards in pairs.as_numpy_iterator()]
    [[1.0, 2.0], [4.0, 8.0]]
    """
    config_specs(configs, input_dataset.element_spec)  # errors name the paths that the caller knows

    # A field `is_last` of the step is not the flag that ends an episode.
    def marked(*step: Any) -> Any:
        return {rlds_types.IS_LAST: is_end_of_episode(*step), _STEP: step[0] if len(step) == 1 else step}

    episode = tf.data.Dataset.from_tensors({rlds_types.STEPS: input_dataset.map(marked)})
    return pattern_map(episode, [_below_step(config) for config in configs], respect_episode_boundaries)


def infer_signature(configs: Sequence[PatternConfig], step_spec: Any) -> Any:
    """The spec of the results of patterns.

    Args:
      configs: of one structure and with fitting dtypes.
      step_spec: of a step, as `step_spec` gives it.

    Returns:
      A nest of `tf.TensorSpec` in the structure of the pattern, named by their place; a dimension in which configs
      differ is None.

    Raises:
      ValueError: a pattern names a field that the steps lack, the patterns do not fit together, or they are for several
        tables.

    >>> from rlds_kit.transformations import create_config, pattern_from_transform
    >>> spec = {"reward": tf.TensorSpec([], tf.float32)}
    >>> last_two = pattern_from_transform(spec, lambda step: {"rewards": step["reward"][-2:]})
    >>> infer_signature([create_config(last_two)], spec)
    {'rewards': TensorSpec(shape=(2,), dtype=tf.float32, name='rewards')}
    """
    if len(tables := sorted({config.table for config in configs})) > 1:
        raise ValueError(f"infer_signature: expected configs for one table, got {', '.join(map(repr, tables))}")
    first, *others = config_specs(configs, step_spec)
    for other in others:
        first = tf.nest.map_structure(_merged, first, other)
    return _named(first, "")


def _merged(one: tf.TensorSpec, other: tf.TensorSpec) -> tf.TensorSpec:
    return one.most_specific_common_supertype([other])


def _named(spec: Any, place: str) -> Any:
    if isinstance(spec, dict):
        return {key: _named(inner, f"{place}/{key}" if place else str(key)) for key, inner in spec.items()}
    if isinstance(spec, tuple):
        items = [_named(inner, f"{place}/{index}" if place else str(index)) for index, inner in enumerate(spec)]
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    return tf.TensorSpec(spec.shape, spec.dtype, place or None)


def _below_step(config: PatternConfig) -> PatternConfig:
    def below(path: Path) -> Path:
        return (_STEP, *path)

    def of_node(node: PatternNode) -> PatternNode:
        return replace(node, path=below(node.path))

    conditions = [
        replace(condition, quantity=replace(condition.quantity, path=below(condition.quantity.path)))
        if condition.quantity.kind == "data"
        else condition
        for condition in config.conditions
    ]
    return replace(config, pattern=tf.nest.map_structure(of_node, config.pattern), conditions=tuple(conditions))

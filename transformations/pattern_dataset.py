"""Applies patterns to the steps of episodes: transitions, trajectories, or any other selection of recent steps.

Steps are read in blocks, not one by one. The steps before a block remain as far as patterns refer to them.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import tensorflow as tf

from rlds_kit.base import rlds_types
from rlds_kit.transformations.auto_batch import element_bytes
from rlds_kit.transformations.from_spec import step_spec
from rlds_kit.transformations.pattern import (
    PatternConfig,
    PatternNode,
    create_config,
    create_reference_step,
    pattern_from_transform,
)
from rlds_kit.transformations.pattern_block import IS_LAST, Columns, State, apply_to_block, initial_state
from rlds_kit.transformations.pattern_condition import Condition
from rlds_kit.transformations.pattern_path import Path, leaves, place_of

_BLOCK_BYTES: Final = 4_000_000  # of results
_BLOCK_STEPS: Final = (16, 1024)
_LARGE: Final = 20_000  # bytes: copying larger fields into a block takes longer than a call for each step


def pattern_map(
    episodes_dataset: tf.data.Dataset, configs: Sequence[PatternConfig], respect_episode_boundaries: bool = True
) -> tf.data.Dataset:
    """Applies patterns to the steps of episodes, as Reverb does, without Reverb.

    As each step arrives, every config whose pattern is complete and whose conditions hold gives one element. Those that
    wait for the end of the episode come after the others, otherwise they come in the order of `configs`.

    Args:
      episodes_dataset: dataset of episodes.
      configs: from `create_config`; their patterns have one structure and fitting dtypes. If they take different
        numbers of steps, that dimension has no static size, and the elements cannot be batched.
      respect_episode_boundaries: whether no element may have steps of two episodes. An episode ends at a step with
        `is_last`, and where its dataset of steps ends.

    Returns:
      A flat dataset of elements in the structure of the pattern: `[-1]` gives a field as it is, a slice adds a leading
      dimension.

    Raises:
      ValueError: a pattern names a field that the steps lack, or patterns do not fit together.
      TypeError: the elements are no episodes, or a condition uses a field that is no scalar number.

    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0, 4.0], "is_last": [False, False, True]})
    >>> episodes = tf.data.Dataset.from_tensors({"steps": steps})
    >>> config = create_config(pattern_from_transform(step_spec(episodes), lambda step: step["reward"][-2:]))
    >>> [rewards.tolist() for rewards in pattern_map(episodes, [config]).as_numpy_iterator()]
    [[1.0, 2.0], [2.0, 4.0]]
    """
    specs = config_specs(configs, step_spec(episodes_dataset))
    configs = sorted(configs, key=_waits_for_end)

    blocks = _blocks(episodes_dataset, _paths(configs), _block_size(specs))

    def apply(state: State, block: tuple[tf.Tensor, Columns]) -> tuple[State, Any]:
        return apply_to_block(configs, state, *block, respect_boundaries=respect_episode_boundaries)

    results = blocks.scan(initial_state(blocks.element_spec[1], len(configs)), apply)
    if len(configs) == 1:
        return results.map(lambda only: only[0]).unbatch()
    if all(other == specs[0] for other in specs):
        return results.map(_merged).unbatch()
    return results.flat_map(_one_by_one)


def pattern_map_from_transform(
    episodes_dataset: tf.data.Dataset,
    transform_fn: Callable[[Any], Any],
    conditions: Sequence[Condition] | None = None,
    respect_episode_boundaries: bool = True,
) -> tf.data.Dataset:
    """Applies one pattern, given as a function of a reference step, to the steps of episodes.

    Args:
      episodes_dataset: dataset of episodes.
      transform_fn: from a reference step to a nest of the results of indexing its leaves. It selects; it does not
        compute.
      conditions: all must be true. None: whenever the pattern is complete.
      respect_episode_boundaries: whether no element may have steps of two episodes.

    Returns:
      A flat dataset of elements in the structure that `transform_fn` gives: see `pattern_map`.

    >>> steps = tf.data.Dataset.from_tensor_slices({"observation": [0, 1, 2], "is_last": [False, False, True]})
    >>> episodes = tf.data.Dataset.from_tensors({"steps": steps})
    >>> pairs = pattern_map_from_transform(
    ...     episodes, lambda step: {"now": step["observation"][-2], "next": step["observation"][-1]}
    ... )
    >>> [(int(pair["now"]), int(pair["next"])) for pair in pairs]
    [(0, 1), (1, 2)]
    """
    pattern = pattern_from_transform(step_spec(episodes_dataset), transform_fn)
    config = create_config(pattern, conditions=conditions or ())
    return pattern_map(episodes_dataset, [config], respect_episode_boundaries)


def config_specs(configs: Sequence[PatternConfig], spec: Any) -> list[Any]:
    """The spec of the results of each config.

    Args:
      configs: from `create_config`.
      spec: of a step.

    Raises:
      ValueError: a pattern names a field that the steps lack, or patterns do not fit together.
      TypeError: a condition uses a field that is no scalar number.
    """
    specs = [_result_spec(config, spec) for config in configs]
    _check_fit(specs)
    return specs


def _result_spec(config: PatternConfig, spec: Any) -> Any:
    """The spec of a config's results. Checks that the steps have all its fields."""
    for condition in config.conditions:
        if condition.quantity.kind == "data":
            _check_scalar(condition, _field(condition.quantity.path, spec))

    def of_node(node: PatternNode) -> tf.TensorSpec:
        field = _field(node.path, spec)
        leading = [] if node.length is None else [node.length]
        return tf.TensorSpec(tf.TensorShape(leading).concatenate(field.shape), field.dtype)

    return tf.nest.map_structure(of_node, config.pattern)


def _field(path: Path, spec: Any) -> tf.TensorSpec:
    for key in path:
        inside = key in spec if isinstance(spec, dict) else isinstance(spec, tuple) and key in range(len(spec))
        spec = spec[key] if inside else None
    tensor = spec if isinstance(spec, tf.TensorSpec) else None
    if tensor is None:
        raise ValueError(
            f"pattern_map: the steps have no tensor {place_of(path)}. Make the pattern from their own spec"
        )
    return tensor


def _check_scalar(condition: Condition, field: tf.TensorSpec) -> None:
    is_number = field.dtype.is_bool or field.dtype.is_floating or (field.dtype.is_integer and field.dtype != tf.uint64)
    if field.shape.num_elements() != 1 or not is_number:
        place = place_of(condition.quantity.path)
        raise TypeError(
            f"pattern_map: expected a scalar number (no uint64) or boolean to compare, but {place} is {field}"
        )


def _check_fit(specs: Sequence[Any]) -> None:
    if not specs:
        raise ValueError("pattern_map: expected at least one config")
    for spec in specs[1:]:
        try:
            tf.nest.map_structure(_check_leaf, specs[0], spec)
        except (TypeError, ValueError) as error:
            raise ValueError(f"pattern_map: expected configs of one structure, got {specs[0]} and {spec}") from error


def _check_leaf(one: tf.TensorSpec, other: tf.TensorSpec) -> None:
    if one.dtype != other.dtype or one.shape.rank != other.shape.rank:
        raise ValueError(f"{one} and {other} do not fit together")


def _waits_for_end(config: PatternConfig) -> bool:
    return any(condition.quantity.kind == "is_end_episode" for condition in config.conditions)


def _block_size(specs: Sequence[Any]) -> int:
    """The number of steps to read together: 1 if their shapes are unknown, because they may differ."""
    result = sum(map(element_bytes, specs))
    low, high = _BLOCK_STEPS
    return 1 if math.isinf(result) else min(high, max(low, int(_BLOCK_BYTES // max(1, result))))


def _paths(configs: Sequence[PatternConfig]) -> dict[str, Path]:
    """The fields that configs use, by their expressions."""
    nodes = [node.path for config in configs for node in leaves(config.pattern)]
    quantities = [condition.quantity for config in configs for condition in config.conditions]
    return {place_of(path): path for path in [*nodes, *(one.path for one in quantities if one.kind == "data")]}


def _blocks(episodes: tf.data.Dataset, paths: dict[str, Path], size: int) -> tf.data.Dataset:
    """The steps of all episodes in blocks: their numbers, from 0 in each episode, and the columns that are used."""
    spec = step_spec(episodes)
    if rlds_types.IS_LAST in spec:
        paths = {**paths, IS_LAST: (rlds_types.IS_LAST,)}
    unused = [leaf.path for leaf in leaves(create_reference_step(spec)) if leaf.path not in paths.values()]
    early = any(element_bytes(_at(spec, path)) > _LARGE for path in unused)

    def columns_of(step: Any) -> Columns:
        return {place: _at(step, path) for place, path in paths.items()}

    def numbered(episode: rlds_types.Episode) -> tf.data.Dataset:
        steps = episode[rlds_types.STEPS]
        # Unlike `enumerate`, this takes no millisecond for each episode.
        return tf.data.Dataset.zip((tf.data.Dataset.range(tf.int64.max), steps.map(columns_of) if early else steps))

    def block(numbers: tf.Tensor, steps: Any) -> tuple[tf.Tensor, Columns]:
        return numbers, {IS_LAST: tf.zeros_like(numbers, tf.bool)} | (steps if early else columns_of(steps))

    return episodes.flat_map(numbered).batch(size).map(block)


def _at(structure: Any, path: Path) -> Any:
    return functools.reduce(lambda inner, key: inner[key], path, structure)


def _merged(*results: tuple[Any, tf.Tensor]) -> Any:
    """Results of several configs in one order: by step, then by config."""
    order = tf.argsort(_keys(results))
    return tf.nest.map_structure(lambda *parts: tf.gather(tf.concat(parts, 0), order), *(rows for rows, _ in results))


def _one_by_one(*results: tuple[Any, tf.Tensor]) -> tf.data.Dataset:
    """Sorts results whose shapes differ, one by one, because they do not fit into one tensor."""
    order = tf.argsort(_keys(results))
    which = tf.concat([tf.fill(tf.shape(positions), index) for index, (_, positions) in enumerate(results)], 0)
    row = tf.concat([tf.range(tf.size(positions)) for _, positions in results], 0)
    places = tf.data.Dataset.from_tensor_slices((tf.gather(which, order), tf.gather(row, order)))

    def pick(which: tf.Tensor, row: tf.Tensor) -> Any:
        def of(rows: Any) -> Any:
            return tf.nest.map_structure(lambda column: column[row], rows)

        return tf.switch_case(which, [functools.partial(of, rows) for rows, _ in results])

    return places.map(pick)


def _keys(results: Sequence[tuple[Any, tf.Tensor]]) -> tf.Tensor:
    return tf.concat([positions * len(results) + index for index, (_, positions) in enumerate(results)], 0)

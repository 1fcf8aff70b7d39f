"""Applies patterns and their conditions to a block of consecutive steps."""

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import tensorflow as tf

from rlds_kit.transformations.pattern import PatternConfig, PatternNode
from rlds_kit.transformations.pattern_condition import Condition
from rlds_kit.transformations.pattern_path import place_of

Columns: TypeAlias = dict[str, tf.Tensor]
"""Fields of many steps `[steps, ...]`, by the expression that leads to them."""
State: TypeAlias = dict[str, Any]
"""What a block leaves to the next: `columns` that patterns reach back to, `step_index` and `is_last` of the last step,
and `since`, for each config the number of steps since it was applied."""

IS_LAST: Final = "is_last"
"""The column that ends an episode. It is made up of False where the steps have none."""

_COMPARE: Final[Mapping[str, Callable[..., tf.Tensor]]] = {
    "==": tf.equal,
    "!=": tf.not_equal,
    "<": tf.less,
    "<=": tf.less_equal,
    ">": tf.greater,
    ">=": tf.greater_equal,
}


def initial_state(specs: Mapping[str, tf.TensorSpec], configs: int) -> State:
    """Creates the state before the first block.

    Args:
      specs: of the columns.
      configs: number of configs.
    """
    nothing = {
        place: tf.zeros([0, *(1 if size is None else size for size in spec.shape)], spec.dtype)
        for place, spec in specs.items()
    }
    zero = tf.constant(0, tf.int64)
    return {"columns": nothing, "step_index": zero, IS_LAST: True, "since": tf.zeros([configs], tf.int64)}


def apply_to_block(
    configs: Sequence[PatternConfig], state: State, numbers: tf.Tensor, columns: Columns, *, respect_boundaries: bool
) -> tuple[State, tuple[Any, ...]]:
    """Applies configs to each step of a block.

    Args:
      configs: the patterns and their conditions.
      state: that after the previous block.
      numbers: int64 `[steps]`, the number of each step in its dataset.
      columns: of the block's steps.
      respect_boundaries: whether patterns must not include steps of the previous episode.

    Returns:
      The state for the next block; and for each config its results, with a leading dimension, and the positions
    `[results]` in the block of their newest steps.
    """
    block = _situation(state, numbers, columns, respect_boundaries=respect_boundaries)
    results, since = [], []
    for index, config in enumerate(configs):
        applied, steps_since = _applied(config, block, state["since"][index])
        positions = tf.where(applied)[:, 0]
        results.append((_gather(config.pattern, block, positions), positions))
        since.append(steps_since)
    history = max(config.history for config in configs) - 1
    earlier = {place: rows[tf.maximum(0, tf.shape(rows)[0] - history) :] for place, rows in block.columns.items()}
    last = {"step_index": block.step_index[-1], IS_LAST: columns[IS_LAST][-1]}
    return {"columns": earlier, "since": tf.stack(since), **last}, tuple(results)


@dataclasses.dataclass(frozen=True)
class _Block:
    columns: Columns
    """The columns of the earlier steps, then of the block's."""
    before: tf.Tensor
    """The number of earlier steps."""
    step_index: tf.Tensor
    """The numbers of the block's steps in their episodes."""
    available: tf.Tensor
    """How many steps a pattern may use, up to and including each of the block's."""

    def newest(self, place: str) -> tf.Tensor:
        """A column of the block's own steps."""
        return self.columns[place][self.before :]


def _situation(state: State, numbers: tf.Tensor, columns: Columns, *, respect_boundaries: bool) -> _Block:
    steps = tf.range(tf.size(numbers, tf.int64))
    is_start = (numbers == 0) | tf.concat([[state[IS_LAST]], columns[IS_LAST][:-1]], 0)
    # Where the episode of each step started, counted from the start of the block; negative if before it.
    starts = tf.concat([[-1 - state["step_index"]], tf.where(is_start)[:, 0]], 0)
    step_index = steps - tf.gather(starts, tf.cumsum(tf.cast(is_start, tf.int64)))

    before = tf.shape(state["columns"][IS_LAST], tf.int64)[0]
    if respect_boundaries:
        before = tf.where(is_start[0], tf.constant(0, tf.int64), before)
    rows = {place: _joined(state["columns"][place], column, before) for place, column in columns.items()}
    available = step_index + 1 if respect_boundaries else before + steps + 1
    return _Block(rows, before, step_index, available)


def _joined(earlier: tf.Tensor, column: tf.Tensor, before: tf.Tensor) -> tf.Tensor:
    # A start removes all earlier steps, so their shapes do not matter.
    earlier = tf.cond(before > 0, lambda: earlier, lambda: column[:0])
    return tf.concat([earlier, column], 0)


def _applied(config: PatternConfig, block: _Block, since: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The steps at which a config is applied, and how many steps ago that was after the last step."""
    waiting = [condition for condition in config.conditions if condition.quantity.kind == "steps_since_applied"]
    others = [condition for condition in config.conditions if condition not in waiting]
    ready = functools.reduce(
        operator.and_, (_is_true(condition, block) for condition in others), block.available >= config.history
    )
    if not waiting:
        return ready, since

    # Whether it is applied here depends on where it was applied before, so this goes step by step.
    def arrive(state: tuple[tf.Tensor, tf.Tensor], is_ready: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        steps = state[0] + 1
        apply = functools.reduce(operator.and_, (_compare(steps, condition) for condition in waiting), is_ready)
        return tf.where(apply, tf.constant(0, tf.int64), steps), apply

    steps, applied = tf.scan(arrive, ready, initializer=(since, tf.constant(False)))
    return applied, steps[-1]


def _is_true(condition: Condition, block: _Block) -> tf.Tensor:
    """The steps at which a condition on only the newest step is true."""
    kind = condition.quantity.kind
    if kind == "step_index":
        return _compare(block.step_index, condition)
    place = IS_LAST if kind == "is_end_episode" else place_of(condition.quantity.path)
    return _compare(tf.reshape(block.newest(place), [-1]), condition)


def _compare(values: tf.Tensor, condition: Condition) -> tf.Tensor:
    fractional = values.dtype.is_floating or isinstance(condition.value, float)
    values = tf.cast(values, tf.float64 if fractional else tf.int64)
    if condition.quantity.modulus is not None:
        values = tf.math.floormod(values, tf.constant(condition.quantity.modulus, values.dtype))
    return _COMPARE[condition.comparison](values, tf.constant(condition.value, values.dtype))


def _gather(pattern: Any, block: _Block, positions: tf.Tensor) -> Any:
    newest = positions + block.before

    def of_node(node: PatternNode) -> tf.Tensor:
        offsets = tf.constant(list(node.offsets), tf.int64)
        indices = newest + offsets if node.length is None else newest[:, tf.newaxis] + offsets
        return tf.gather(block.columns[place_of(node.path)], indices)

    return tf.nest.map_structure(of_node, pattern)

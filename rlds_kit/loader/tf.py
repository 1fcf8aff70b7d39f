"""Episodes and batches as `tf.data.Dataset`.

TensorFlow calls Python once for a stretch of many steps or for a whole batch: a call for every step would take thirty
times as long. TensorFlow has no types, so tensors, their specs and datasets are `Any` here.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.extras import needs
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.loader.aligned import is_little_lent
from rlds_kit.loader.columns import Column, plain_batch, without_lists
from rlds_kit.loader.nests import map_arrays
from rlds_kit.loader.read_ahead import Batch
from rlds_kit.loader.step_arrays import StepArrays

PREFETCHED_BATCHES: Final = 2
SMALL_EPISODES_AT_ONCE: Final = 2
"""Episodes of one stretch each."""
LARGE_EPISODES_AHEAD: Final = 1
STRETCHES_AT_ONCE: Final = 2
STRETCHES_AHEAD: Final = 1
"""Number of prefetched stretches of a large episode: consumers take steps in batches, and wait for all of a batch."""
READ_AHEAD_SHARE: Final = 0.5
"""Share of the memory limit for prefetched first stretches; the rest is for stretches whose steps are in use."""
FRAME_BYTES: Final = 1 << 14
"""Minimum bytes of a value for which avoiding a copy of each is worth the extra work for a stretch."""


def episodes(arrays: StepArrays, *, numbers: Any = None) -> Any:
    """Episodes as RLDS shapes them, each with a dataset of its steps.

    Each is read stretch by stretch. Threads read the first stretch together with the episode, so that it is available
    when the previous episode ends. While much memory is in use, as with a shuffle buffer of episodes, the first stretch
    is read later, too.

    Args:
      arrays: of their steps.
      numbers: a dataset of int64: the numbers of the episodes, in order; None: all in the order of their table.

    Returns:
      A dataset of `{"steps": dataset of steps, "episode_id": text, "end": text, ...}`; both have a known cardinality.

    """
    with needs("tf"):
        import tensorflow as tf
    reader = _Reader(arrays)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def small_episode(number: Any) -> dict[str, Any]:
        bounds, facts = reader.head(number)
        return {STEPS: _counted(reader.one_by_one(reader.stretches(number, bounds)), bounds[-1]), **facts}

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def large_episode(number: Any) -> dict[str, Any]:
        bounds, facts = reader.head(number)
        stretches = reader.stretches(number, bounds, at_once=STRETCHES_AT_ONCE).prefetch(STRETCHES_AHEAD)
        return {STEPS: _counted(reader.one_by_one(stretches), bounds[-1]), **facts}

    if reader.is_small:
        return _numbers(arrays, numbers).map(small_episode, num_parallel_calls=SMALL_EPISODES_AT_ONCE)
    return _numbers(arrays, numbers).map(large_episode, num_parallel_calls=LARGE_EPISODES_AHEAD)


def dense_episodes(arrays: StepArrays, *, numbers: Any = None, parallel_calls: int | None = None) -> Any:
    """Episodes whose steps are tensors `[T, ...]`, read by several threads.

    Args:
      arrays: of their steps.
      numbers: as for `episodes`.
      parallel_calls: episodes that are read at once; None lets TensorFlow decide.

    Returns:
      A dataset of `{"steps": {field: tensor, ...}, "episode_id": text, "end": text, ...}` of known cardinality.

    Raises:
      SpecError: a field cannot become a tensor `[T, ...]`.
    """
    with needs("tf"):
        import tensorflow as tf
    reader = _Reader(arrays)
    for path in arrays.ragged:
        raise SpecError(
            f"{arrays.table.source.name}: the shape of {path} changes from step to step, so no tensor [T, ...] holds "
            "it; take the steps one by one with `as_tf_dataset`, or leave the field out with `select`"
        )

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def episode(number: Any) -> dict[str, Any]:
        bounds, facts = reader.head(number)
        return {STEPS: reader.stretch(number, 0, bounds[-1]).rows, **facts}

    calls = tf.data.AUTOTUNE if parallel_calls is None else parallel_calls
    return _numbers(arrays, numbers).map(episode, num_parallel_calls=calls)


def batches(loader: Iterable[Batch], example: Batch, size: int | None) -> Any:
    """The batches of a loader as tensors, in the same order; every iteration is the loader's next loop.

    Args:
      loader: of the batches.
      example: a batch without samples, for dtypes and shapes.
      size: samples in a batch; None where the last one may have fewer.
    """
    with needs("tf"):
        import tensorflow as tf

    def element(array: np.ndarray) -> Any:
        return tf.TensorSpec([size, *array.shape[1:]], tf.as_dtype(array.dtype))

    signature = without_lists(map_arrays(element, example))
    made = tf.data.Dataset.from_generator(lambda: map(plain_batch, loader), output_signature=signature)
    return made.prefetch(PREFETCHED_BATCHES)


def _counted(steps: Any, count: Any) -> Any:
    """A dataset of known cardinality."""
    import tensorflow as tf

    return steps.apply(tf.data.experimental.assert_cardinality(count))


def _numbers(arrays: StepArrays, chosen: Any) -> Any:
    import tensorflow as tf

    return tf.data.Dataset.range(len(arrays.table)) if chosen is None else chosen


class _Reader:
    """Passes stretches of episodes, and in advance their specs, to TensorFlow."""

    def __init__(self, arrays: StepArrays) -> None:
        self.arrays = arrays
        self.is_small = arrays.table.are_small
        leaves = [leaf for found in arrays.table.layouts.values() for leaf in found]
        # Converted values are not in tracked memory, so it would not be known how much of it is in use.
        is_lent = all(leaf.spec is not None and not leaf.is_cast and leaf.dtype.isnative for leaf in leaves)
        self._reads_ahead = self.is_small or is_lent
        columns = arrays.columns.values()
        self._has_empty_values = any(0 in each.shape for each in columns)
        self._gives_datasets = self._has_empty_values or any(each.row_bytes >= FRAME_BYTES for each in columns)

    def head(self, number: Any) -> tuple[Any, dict[str, Any]]:
        """Bounds of stretches, `[n + 1]` int64, and the facts of an episode.

        Stretches between the bounds are read when their steps are accessed; steps before the first bound, if any, are
        read with the episode.
        """
        import tensorflow as tf

        examples = self.arrays.table.fact_columns
        dtypes = [tf.int64, *(tf.as_dtype(example.dtype) for example in examples.values())]
        bounds, *facts = tf.numpy_function(self._head, [number], dtypes, stateful=False)
        shaped = [tf.ensure_shape(fact, each.shape[1:]) for fact, each in zip(facts, examples.values(), strict=True)]
        return tf.ensure_shape(bounds, [None]), dict(zip(examples, shaped, strict=True))

    def _head(self, number: np.int64) -> list[np.ndarray]:
        bounds, *facts = self.arrays.head(int(number))
        reads_ahead = self._reads_ahead and len(bounds) > 1 and is_little_lent(READ_AHEAD_SHARE)
        return [bounds[1:] if reads_ahead else bounds, *facts]

    def stretches(self, number: Any, bounds: Any, *, at_once: int | None = None) -> Any:
        """A dataset of the stretches of an episode; those between `bounds` are read when they are accessed."""
        import tensorflow as tf

        first = tf.data.Dataset.from_tensors(self._apart(self.stretch(number, 0, bounds[0])))
        others = tf.data.Dataset.from_tensor_slices((bounds[:-1], bounds[1:]))
        return first.concatenate(
            others.map(lambda begin, end: self._apart(self.stretch(number, begin, end)), num_parallel_calls=at_once)
        )

    def stretch(self, number: Any, begin: Any, end: Any) -> "_Stretch":
        """The steps `[begin, end)` of an episode."""
        import tensorflow as tf

        columns = self.arrays.columns.values()
        dtypes = [tf.as_dtype(dtype) for each in columns for dtype in each.dtypes]
        dtypes = [tf.bool, *dtypes, *(tf.bool for _ in self.arrays.own)]
        outputs = iter(tf.numpy_function(self._stretch, [number, begin, end], dtypes, stateful=False))
        may_be_views = tf.ensure_shape(next(outputs), [])
        tensors = {each.path: _tensors(each, outputs) for each in columns}
        fields = {name: map_arrays(lambda each: tensors[each.path], nest) for name, nest in self.arrays.nests.items()}
        own = {name: tf.ensure_shape(next(outputs), [None]) for name in self.arrays.own}
        return _Stretch(may_be_views, fields | own)

    def _stretch(self, number: np.int64, begin: np.int64, end: np.int64) -> list[Any]:
        return [np.bool_(is_little_lent()), *self.arrays.flat(int(number), range(int(begin), int(end)))]

    def _apart(self, stretch: "_Stretch") -> Any:
        """The steps of a stretch: a dataset if `_gives_datasets`, as some values are large or empty, else tensors.

        A step in a shuffle buffer must not keep its whole stretch in memory: `unbatch` copies each. If one of its
        fields is large, all fields are views of the stretch as long as few stretches are in use. The thread that reads
        the stretch decides this, so that consumers of steps do not wait for it.
        """
        import tensorflow as tf

        if not self._gives_datasets:
            return stretch.rows
        views = tf.data.Dataset.from_tensor_slices(stretch.rows)
        if self._has_empty_values:  # `unbatch` crashes
            return views
        copies = tf.data.Dataset.from_tensors(stretch.rows).unbatch()
        to_variant = tf.data.experimental.to_variant
        chosen = tf.cond(stretch.may_be_views, lambda: to_variant(views), lambda: to_variant(copies))
        return tf.data.experimental.from_variant(chosen, views.element_spec)

    def one_by_one(self, stretches: Any) -> Any:
        """Converts a dataset of stretches to a dataset of single steps."""
        if self._gives_datasets:
            return self.in_shape(stretches.flat_map(lambda steps: steps))
        return self.in_shape(stretches.unbatch())

    def in_shape(self, steps: Any) -> Any:
        """The steps, with ragged values in their shapes."""
        return steps.map(self._in_shape) if self.arrays.ragged else steps

    def _in_shape(self, step: dict[str, Any]) -> dict[str, Any]:
        return step | {name: map_arrays(_in_shape, nest, step[name]) for name, nest in self.arrays.nests.items()}


class _Stretch(NamedTuple):
    """Consecutive steps: nests of tensors with a leading dimension of steps, and whether steps may be views of them."""

    may_be_views: Any
    rows: dict[str, Any]


class _RaggedRow(NamedTuple):
    """A value of unknown shape: its elements, `[n]`, and its shape, `[rank]`."""

    elements: Any
    shape: Any


def _tensors(described: Column, outputs: Iterator[Any]) -> Any:
    """The values of many steps, from the flat tensors that TensorFlow has."""
    import tensorflow as tf

    values = next(outputs)
    if not described.is_ragged:
        return tf.ensure_shape(values, [None, *described.shape])
    values, shapes = tf.ensure_shape(values, [None]), tf.ensure_shape(next(outputs), [None, len(described.shape)])
    return _RaggedRow(tf.RaggedTensor.from_row_lengths(values, tf.reduce_prod(shapes, 1), validate=False), shapes)


def _in_shape(described: Column, value: Any) -> Any:
    """A value, in its shape if it is a ragged one."""
    import tensorflow as tf

    if not described.is_ragged:
        return value
    return tf.ensure_shape(tf.reshape(value.elements, value.shape), described.shape)

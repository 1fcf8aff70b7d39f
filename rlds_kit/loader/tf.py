"""Episodes and batches as `tf.data.Dataset`.

TensorFlow calls Python once for a stretch of many steps or for a whole batch: a call for every step would take thirty
times as long. TensorFlow has no types, so tensors, their specs and datasets are `Any` here.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.extras import needs
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.loader.columns import Column, plain_batch, without_lists
from rlds_kit.loader.memory import is_little_lent
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

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def light_episode(number: Any) -> dict[str, Any]:
        is_read, facts, rows = reader.whole(number, reads_ahead=True)
        return {STEPS: reader.one_by_one_if(is_read, rows, lambda: small_episode(number)[STEPS]), **facts}

    if reader.is_small:
        made = light_episode if reader.is_light else small_episode
        return _numbers(arrays, numbers).map(made, num_parallel_calls=SMALL_EPISODES_AT_ONCE)
    return _numbers(arrays, numbers).map(large_episode, num_parallel_calls=LARGE_EPISODES_AHEAD)


def are_light(arrays: StepArrays) -> bool:
    """Whether `episodes` read each episode completely before its steps are accessed, unless much memory is in use.

    Then a cache of these episodes is one of their steps.
    """
    return _Reader(arrays).is_light


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
        _, facts, rows = reader.whole(number)
        return {STEPS: rows, **facts}

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
        self.is_light = self.is_small and not self._gives_datasets and not arrays.ragged

    def head(self, number: Any) -> tuple[Any, dict[str, Any]]:
        """Bounds of stretches, `[n + 1]` int64, and the facts of an episode.

        Stretches between the bounds are read when their steps are accessed; steps before the first bound, if any, are
        read with the episode.
        """
        import tensorflow as tf

        dtypes = [tf.int64, *self._fact_dtypes()]
        bounds, *facts = tf.numpy_function(self._head, [number], dtypes, stateful=False)
        return tf.ensure_shape(bounds, [None]), self._facts(iter(facts))

    def _head(self, number: np.int64) -> list[np.ndarray]:
        bounds = self.arrays.table.bounds(int(number))
        reads_ahead = self._reads_ahead and len(bounds) > 1 and is_little_lent(READ_AHEAD_SHARE)
        return [bounds[1:] if reads_ahead else bounds, *self.arrays.facts(int(number))]

    def whole(self, number: Any, *, reads_ahead: bool = False) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """All of an episode with one call of Python: whether its steps were read, its facts, and its steps.

        Args:
          number: of the episode.
          reads_ahead: whether the steps are read before they are accessed: then not while much memory is in use.
        """
        import tensorflow as tf

        dtypes = [tf.bool, *self._fact_dtypes(), *self._row_dtypes()]
        read = functools.partial(self._whole, reads_ahead=reads_ahead)
        outputs = iter(tf.numpy_function(read, [number], dtypes, stateful=False))
        return tf.ensure_shape(next(outputs), []), self._facts(outputs), self._rows(outputs)

    def _whole(self, number: np.int64, *, reads_ahead: bool) -> list[Any]:
        is_read = not reads_ahead or is_little_lent(READ_AHEAD_SHARE)
        rows = range(int(self.arrays.table.source.lengths[number]) if is_read else 0)
        return [np.bool_(is_read), *self.arrays.facts(int(number)), *self.arrays.flat(int(number), rows)]

    def _fact_dtypes(self) -> list[Any]:
        import tensorflow as tf

        return [tf.as_dtype(example.dtype) for example in self.arrays.table.fact_columns.values()]

    def _facts(self, outputs: Iterator[Any]) -> dict[str, Any]:
        import tensorflow as tf

        examples = self.arrays.table.fact_columns
        return {name: tf.ensure_shape(next(outputs), each.shape[1:]) for name, each in examples.items()}

    def _row_dtypes(self) -> list[Any]:
        import tensorflow as tf

        dtypes = [tf.as_dtype(dtype) for each in self.arrays.columns.values() for dtype in each.dtypes]
        return [*dtypes, *(tf.bool for _ in self.arrays.own)]

    def _rows(self, outputs: Iterator[Any]) -> dict[str, Any]:
        import tensorflow as tf

        tensors = {each.path: _tensors(each, outputs) for each in self.arrays.columns.values()}
        fields = {name: map_arrays(lambda each: tensors[each.path], nest) for name, nest in self.arrays.nests.items()}
        return fields | {name: tf.ensure_shape(next(outputs), [None]) for name in self.arrays.own}

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

        dtypes = [tf.bool, *self._row_dtypes()]
        outputs = iter(tf.numpy_function(self._stretch, [number, begin, end], dtypes, stateful=False))
        return _Stretch(tf.ensure_shape(next(outputs), []), self._rows(outputs))

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

    def one_by_one_if(self, is_read: Any, rows: dict[str, Any], others: Callable[[], Any]) -> Any:
        """Single steps of an episode that is light: of its rows if they were read, else those that `others` makes.

        Each layer of datasets costs time for every step, so this has only one: `unbatch` knows its cardinality.
        """
        import tensorflow as tf

        copies, to_variant = tf.data.Dataset.from_tensors(rows).unbatch(), tf.data.experimental.to_variant
        chosen = tf.cond(is_read, lambda: to_variant(copies), lambda: to_variant(others()))
        return tf.data.experimental.from_variant(chosen, copies.element_spec)

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

"""Episodes and batches as `tf.data.Dataset`.

TensorFlow calls Python once for a stretch of many steps or for a whole batch: a call for every step takes thirty times
as long. TensorFlow has no types, so tensors, their specs and datasets are `Any` here.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.errors import SpecError
from rlds_kit.feed.columns import Column, column, plain, plain_batch, without_lists
from rlds_kit.feed.episodes import Stretch, WholeEpisodes
from rlds_kit.feed.extras import needs
from rlds_kit.loader.layout import Leaf, nested
from rlds_kit.loader.nests import map_arrays
from rlds_kit.loader.read_ahead import Batch
from rlds_kit.rlds_types import STEPS
from rlds_kit.step import FLAGS, OBSERVATION, STEP_INDEX

OBSERVATION_VALID: Final = "observation_valid"
"""Whether a step has an observation; a field of steps of data in which final ones may be missing."""
PREFETCHED_BATCHES: Final = 2


def episodes(table: WholeEpisodes, *, observation_valid: bool) -> Any:
    """Episodes as RLDS shapes them, each with a dataset of its steps, which are read stretch by stretch.

    Args:
      table: the episodes.
      observation_valid: whether steps have that field.

    Returns:
      A dataset of `{"steps": dataset of steps, "episode_id": text, "end": text, ...}`; both have a known cardinality.

    Raises:
      SpecError: a field holds what is no tensor.
    """
    with needs("tf"):
        import tensorflow as tf
    reader = _Reader(table, observation_valid=observation_valid)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def episode(number: Any) -> dict[str, Any]:
        bounds, facts = reader.head(number)
        stretches = tf.data.Dataset.from_tensor_slices((bounds[:-1], bounds[1:]))
        steps = reader.one_by_one(stretches.map(lambda begin, end: reader.rows(number, begin, end)))
        return {STEPS: steps.apply(tf.data.experimental.assert_cardinality(bounds[-1])), **facts}

    return tf.data.Dataset.range(len(table)).map(episode)


def dense_episodes(table: WholeEpisodes, *, observation_valid: bool) -> Any:
    """Episodes whose steps are tensors `[T, ...]`, read by several threads.

    Args:
      table: the episodes.
      observation_valid: whether steps have that field.

    Returns:
      A dataset of `{"steps": {field: tensor, ...}, "episode_id": text, "end": text, ...}` of known cardinality.

    Raises:
      SpecError: a field holds what is no tensor, or not one `[T, ...]`.
    """
    with needs("tf"):
        import tensorflow as tf
    reader = _Reader(table, observation_valid=observation_valid)
    for path in reader.ragged:
        raise SpecError(
            f"{table.source.name}: the shape of {path} changes from step to step, so no tensor [T, ...] holds it; take "
            "the steps one by one with `as_tf_dataset`, or leave the field out with `select`"
        )

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def episode(number: Any) -> dict[str, Any]:
        bounds, facts = reader.head(number)
        return {STEPS: reader.rows(number, bounds[0], bounds[-1]), **facts}

    return tf.data.Dataset.range(len(table)).map(episode, num_parallel_calls=tf.data.AUTOTUNE)


def batches(loader: Iterable[Batch], example: Batch, size: int | None) -> Any:
    """The batches of a loader as tensors, in the same order; every iteration is the loader's next loop.

    Args:
      loader: gives them.
      example: a batch of no samples, which says dtypes and shapes.
      size: samples in a batch; None where the last one may have fewer.
    """
    with needs("tf"):
        import tensorflow as tf

    def element(array: np.ndarray) -> Any:
        return tf.TensorSpec([size, *array.shape[1:]], tf.as_dtype(array.dtype))

    signature = without_lists(map_arrays(element, example))
    made = tf.data.Dataset.from_generator(lambda: map(plain_batch, loader), output_signature=signature)
    return made.prefetch(PREFETCHED_BATCHES)


class _Reader:
    """Gives stretches of episodes to TensorFlow, and tells it in advance what they are made of."""

    def __init__(self, table: WholeEpisodes, *, observation_valid: bool) -> None:
        self._table = table
        source, layouts = table.source, table.layouts
        self._columns = {leaf: column(source.name, source.spec, leaf) for found in layouts.values() for leaf in found}
        self._nests = {name: without_lists(nested(each, self._columns.__getitem__)) for name, each in layouts.items()}
        self._index = layouts.get(STEP_INDEX, ())
        self._own = (*FLAGS, OBSERVATION_VALID) if observation_valid and OBSERVATION in layouts else FLAGS
        if taken := sorted(layouts.keys() & {*self._own}):
            raise SpecError(f"{source.name} has a field {taken[0]!r} of its own; leave it out with `select`")

    @property
    def ragged(self) -> list[str]:
        """The paths of arrays whose shapes change from step to step."""
        return [each.path for each in self._columns.values() if each.is_ragged]

    def head(self, number: Any) -> tuple[Any, dict[str, Any]]:
        """Where an episode may be cut into stretches, `[n + 1]` int64, and what is said of all of it."""
        import tensorflow as tf

        examples = self._table.fact_columns
        dtypes = [tf.int64, *(tf.as_dtype(example.dtype) for example in examples.values())]
        bounds, *facts = tf.numpy_function(self._head, [number], dtypes, stateful=False)
        shaped = [tf.ensure_shape(fact, each.shape[1:]) for fact, each in zip(facts, examples.values(), strict=True)]
        return tf.ensure_shape(bounds, [None]), dict(zip(examples, shaped, strict=True))

    def _head(self, number: np.int64) -> list[np.ndarray]:
        facts = self._table.facts(int(number))
        columns = {name: np.array(fact, self._table.fact_columns[name].dtype) for name, fact in facts.items()}
        return [self._table.bounds(int(number)), *(plain(array, name) for name, array in columns.items())]

    def rows(self, number: Any, begin: Any, end: Any) -> dict[str, Any]:
        """The steps `[begin, end)` of an episode: nests of what has a leading dimension of steps."""
        import tensorflow as tf

        dtypes = [tf.as_dtype(dtype) for each in self._columns.values() for dtype in each.dtypes]
        dtypes += [tf.bool] * len(self._own)
        outputs = iter(tf.numpy_function(self._rows, [number, begin, end], dtypes, stateful=False))
        tensors = {each.path: _tensors(each, outputs) for each in self._columns.values()}
        fields = {name: map_arrays(lambda each: tensors[each.path], nest) for name, nest in self._nests.items()}
        return fields | {name: tf.ensure_shape(next(outputs), [None]) for name in self._own}

    def one_by_one(self, stretches: Any) -> Any:
        """A dataset of single steps, made of one of stretches as `rows` gives them."""
        import tensorflow as tf

        if any(0 in each.shape for each in self._columns.values()):  # of values without elements `unbatch` crashes
            steps = stretches.flat_map(tf.data.Dataset.from_tensor_slices)
        else:
            steps = stretches.unbatch()
        return steps.map(self._in_shape) if self.ragged else steps

    def _in_shape(self, step: dict[str, Any]) -> dict[str, Any]:
        return step | {name: map_arrays(_in_shape, nest, step[name]) for name, nest in self._nests.items()}

    def _rows(self, number: np.int64, begin: np.int64, end: np.int64) -> list[np.ndarray]:
        rows = range(int(begin), int(end))
        stretch = self._table.stretch(int(number), rows)
        stretch |= {leaf: self._numbered(int(number), rows, leaf, stretch) for leaf in self._index}
        own = self._table.flags(int(number), rows) | {OBSERVATION_VALID: self._observed(int(number), stretch, rows)}
        arrays = [array for leaf, each in self._columns.items() for array in each.arrays(*stretch[leaf])]
        return arrays + [own[name] for name in self._own]

    def _numbered(self, number: int, rows: range, leaf: Leaf, stretch: Stretch) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of steps, also where none was recorded: no gap is there, so the step before is numbered one less."""
        indices, defined = stretch[leaf]
        before = rows.start - 1
        if rows.start and not defined[0]:
            (index,), (is_there,) = self._table.stretch(number, range(before, rows.start))[leaf]
            before = int(index) if is_there else before
        for at in np.flatnonzero(~defined).tolist():
            indices[at] = (indices[at - 1] if at else before) + 1
        return indices, np.ones(len(rows), np.bool_)

    def _observed(self, number: int, stretch: Stretch, rows: range) -> np.ndarray:
        """`[rows]` bool, which steps have an observation."""
        masks = [stretch[leaf][1] for leaf in self._table.layouts.get(OBSERVATION, ())]
        observed: np.ndarray = np.any(masks, axis=0) if masks else np.ones(len(rows), np.bool_)
        if OBSERVATION_VALID not in self._own and not observed.all():
            raise SpecError(
                f"{self._table.source.name}: episode {number} has no observation at step "
                f"{rows[int(np.argmin(observed))]}, as data may lack the last one; with `observation_valid=True` steps "
                "have a field of that name, which says so"
            )
        return observed


class _RaggedRow(NamedTuple):
    """A value whose shape is not known in advance: its elements, `[n]`, and its shape, `[rank]`."""

    elements: Any
    shape: Any


def _tensors(described: Column, outputs: Iterator[Any]) -> Any:
    """The values of many steps, from what TensorFlow was given of them."""
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

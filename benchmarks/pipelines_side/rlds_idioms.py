"""Transitions as users of rlds 0.1.8 make them, from the tutorial's way to the fastest that we found."""

from typing import Any, Final

import tensorflow as tf

from pipelines_side import fields, import_rlds

rlds: Final = import_rlds.transformations()
_TOGETHER: Final = 4
"""Episodes that are read at once: with more, or with fewer, it is slower on two CPUs."""
_PART: Final = 64


def tutorial(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Each pair of steps is mapped to a transition, then they are batched."""
    return episodes.flat_map(_pairs).map(_of_pair).batch(fields.BATCH)


def best_ordering(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Pairs are batched first, so that one call of the map serves a batch."""
    return episodes.flat_map(_pairs).batch(fields.BATCH).map(_of_batch)


def best_ordering_parallel(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """The same from several episodes at once, for what costs something to decode."""
    return _interleaved(episodes, lambda episode: _pairs(episode).batch(_PART).map(_of_batch)).rebatch(fields.BATCH)


def best_ordering_shuffled(episodes: tf.data.Dataset, size: int) -> tf.data.Dataset:
    """The same with a buffer of `size` transitions to shuffle: it has to hold single ones."""
    pairs = _interleaved(episodes, _pairs).shuffle(size)
    return pairs.batch(fields.BATCH).map(_of_batch, num_parallel_calls=tf.data.AUTOTUNE)


def windows(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Batches of windows of 8 steps."""
    return episodes.flat_map(lambda episode: _windows(episode, fields.WINDOW)).batch(fields.WINDOWS)


def _interleaved(episodes: tf.data.Dataset, function: Any) -> tf.data.Dataset:
    return episodes.interleave(
        function, cycle_length=_TOGETHER, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False
    )


def _windows(episode: Any, size: int) -> tf.data.Dataset:
    return rlds.batch(episode["steps"], size=size, shift=1, drop_remainder=True)


def _pairs(episode: Any) -> tf.data.Dataset:
    return _windows(episode, 2)


def _of_pair(pair: Any) -> Any:
    return fields.transition(*({name: field[index] for name, field in pair.items()} for index in (0, 1)))


def _of_batch(pairs: Any) -> Any:
    return fields.transition(*({name: field[:, index] for name, field in pairs.items()} for index in (0, 1)))

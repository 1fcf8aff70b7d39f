"""Splits of a dataset into parts, such as for training and for testing."""

import itertools
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from rlds_kit.base.rlds_types import EPISODE_ID
from rlds_kit.base.split import BUCKETS, ends_of, key_of


def split(
    episodes: tf.data.Dataset, fractions: Mapping[str, float], key: str = EPISODE_ID, seed: int = 0
) -> dict[str, tf.data.Dataset]:
    """Splits episodes into parts by their ids.

    The part of an episode depends only on its id, the fractions and the seed: not on the machine, the order, the shards
    or the other episodes. So parts stay disjoint when episodes are added or datasets are merged.
    `rlds_kit.base.split.part_of` computes the same without TensorFlow. The parts have the given sizes on average; each
    is read by going through all episodes.

    Args:
      episodes: in RLDS form, with steps in either form.
      fractions: of each part, by name; they sum to 1.
      key: metadata field that distinguishes episodes: a scalar of text or whole numbers. Episodes with equal values
        stay together, so with the id of a person or a task none is in two parts.
      seed: selects the split.

    Returns:
      The episodes of each part, in their order.

    Raises:
      TypeError: the key is not text or a whole number.
      ValueError: episodes have no such key, or the fractions are invalid.

    >>> episodes = tf.data.Dataset.range(1000).map(lambda number: {"episode_id": tf.strings.as_string(number)})
    >>> parts = split(episodes, {"train": 0.9, "test": 0.1})
    >>> [len(list(part)) for part in parts.values()]
    [885, 115]
    """
    ends = ends_of(fractions)
    _check_key(episodes.element_spec, key)
    hash_key = list(key_of(seed))

    def part(begin: int, end: int) -> tf.data.Dataset:
        def is_inside(episode: Mapping[str, Any]) -> tf.Tensor:
            name = episode[key]
            text = name if name.dtype == tf.string else tf.strings.as_string(name)
            bucket = tf.strings.to_hash_bucket_strong(text, BUCKETS, hash_key)
            return (bucket >= begin) & (bucket < end)

        return episodes.filter(is_inside)

    ranges = itertools.pairwise([0, *ends])
    return {name: part(begin, end) for name, (begin, end) in zip(fractions, ranges, strict=True)}


def _check_key(spec: Any, key: str) -> None:
    fields = sorted(spec) if isinstance(spec, Mapping) else []
    if key not in fields:
        raise ValueError(
            f"episodes have no field {key!r} to split by, only {', '.join(fields) or spec}. Name another with "
            "`key=...`, or add one that stays with an episode for ever, such as its id or file and number"
        )
    one = spec[key]
    if (
        not isinstance(one, tf.TensorSpec)
        or one.shape.rank != 0
        or not (one.dtype == tf.string or one.dtype.is_integer)
    ):
        raise TypeError(f"expected a scalar of text or whole numbers in {key!r}, got {one}")

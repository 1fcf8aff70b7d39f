"""Selected episodes as a `tf.data.Dataset`, with the options of a `tfds.ReadConfig`."""

from typing import Any, Final

import numpy as np

from rlds_kit.base.rlds_types import EPISODE_ID
from rlds_kit.loader import tf as feed
from rlds_kit.tfds_builders.episode_table import Chosen

TFDS_ID: Final = "tfds_id"
"""The name that TFDS gives to the id of an example."""
CACHE_BYTES: Final = 250 << 20
"""TFDS keeps a split in memory if it is smaller than this."""


def read(chosen: Chosen, numbers: np.ndarray, config: Any, *, is_dense: bool, shuffle: bool) -> Any:  # tf.data.Dataset
    """Episodes, in their order or shuffled.

    Args:
      chosen: the data to read.
      numbers: of the episodes in its table.
      config: a `tfds.ReadConfig`.
      is_dense: whether the steps of an episode are one dict of tensors `[T, ...]`.
      shuffle: whether to shuffle all episodes; the shuffle buffer has only their numbers.

    Raises:
      ValueError: the config names something that does not exist.
    """
    order = _order(numbers, config, shuffle=shuffle)
    if is_dense:
        calls = config.num_parallel_calls_for_decode
        episodes = feed.dense_episodes(chosen.arrays, numbers=order, parallel_calls=calls)
    else:
        episodes = feed.episodes(chosen.arrays, numbers=order)
    episodes = _with_ids(episodes, chosen.features, add_tfds_id=config.add_tfds_id).with_options(config.options)
    has_steps = is_dense or feed.are_light(chosen.arrays)  # else a cache would not include the steps
    return episodes.cache() if has_steps and _fits_memory(chosen, numbers, config, shuffle=shuffle) else episodes


def _order(numbers: np.ndarray, config: Any, *, shuffle: bool) -> Any:
    import tensorflow as tf

    if config.experimental_interleave_sort_fn is not None or config.file_format is not None:
        raise ValueError(
            "expected a ReadConfig without `experimental_interleave_sort_fn` and `file_format`: episodes are read one "
            "by one from files of one format; `shuffle_files=True` shuffles the episodes"
        )
    order = tf.data.Dataset.from_tensor_slices(numbers)
    if config.input_context is not None:
        count, index = config.input_context.num_input_pipelines, config.input_context.input_pipeline_id
        if len(numbers) < count:
            raise ValueError(f"expected an episode or more for each of {count} input pipelines, got {len(numbers)}")
        order = order.shard(count, index)
    if shuffle:
        again = config.shuffle_reshuffle_each_iteration
        order = order.shuffle(len(numbers), seed=config.shuffle_seed, reshuffle_each_iteration=again)
    return order.repeat() if config.repeat_filenames else order


def _with_ids(episodes: Any, features: Any, *, add_tfds_id: bool) -> Any:
    """The episodes with only the values in the features."""
    names = [name for name in episodes.element_spec if name in features]
    if len(names) == len(episodes.element_spec) and not add_tfds_id:
        return episodes

    def with_id(episode: dict[str, Any]) -> dict[str, Any]:
        own = {TFDS_ID: episode[EPISODE_ID]} if add_tfds_id else {}
        return {name: episode[name] for name in names} | own

    return episodes.map(with_id)


def _fits_memory(chosen: Chosen, numbers: np.ndarray, config: Any, *, shuffle: bool) -> bool:
    """Whether to cache the data, as TFDS does for small data in the same order every time."""
    if not config.try_autocache or config.repeat_filenames:
        return False
    if shuffle and config.shuffle_reshuffle_each_iteration is not False:
        return False
    return bool(chosen.row_bytes * chosen.arrays.table.source.lengths[numbers].sum() < CACHE_BYTES)

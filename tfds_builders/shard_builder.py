"""The reading part of a builder: a `tfds.core.DatasetBuilder` that reads shards of episodes directly."""

import abc
import functools
from typing import Any

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.tfds_builders.choice import choice
from rlds_kit.tfds_builders.data_source import EpisodeDataSource
from rlds_kit.tfds_builders.episode_table import EpisodeTable
from rlds_kit.tfds_builders.shard_splits import numbers_of, split_infos
from rlds_kit.tfds_builders.tfds_extra import tfds


class ShardInfo(tfds.core.DatasetInfo):  # type: ignore[misc]  # TFDS has no types
    """The info of a dataset, whose features and splits are read from its shards on access."""

    def __init__(self, *, builder: "ShardBuilder", **about: Any) -> None:
        super().__init__(builder=builder, **about)
        self._shards = builder

    @property
    def features(self) -> Any:  # tfds.features.FeaturesDict
        """The features of an episode; None if there are no shards yet."""
        table = self._shards.table
        return None if table is None else table.features

    @property
    def splits(self) -> Any:  # tfds.core.SplitDict
        """The splits; none as long as there are no shards."""
        return self._shards.split_dict

    @property
    def homepage(self) -> str:
        """The home page; empty if unknown, because TFDS would name a page of its catalogue that does not exist."""
        urls = self.as_proto.location.urls
        return str(urls[0]) if urls else ""

    def write_to_directory(self, dataset_info_dir: Any, all_metadata: bool = True) -> None:
        """Writes nothing: with its own files in the folder, TFDS would try to read the data itself."""

    def initialize_from_bucket(self) -> None:
        """Does nothing: TFDS does not prepare such datasets."""


class ShardBuilder(tfds.core.DatasetBuilder, skip_registration=True):  # type: ignore[call-arg,misc]
    """Reads splits from shards of episodes, with the options of TFDS's `as_dataset` and `as_data_source`.

    `shuffle_files` shuffles the episodes, not files. The settings of `tfds.ReadConfig` for interleaving and
    buffering files are ignored: `interleave_cycle_length`, `interleave_block_length`,
    `num_parallel_calls_for_interleave_files`, `override_buffer_size`, `enable_ordering_guard`, `assert_cardinality`.
    """

    @property
    @abc.abstractmethod
    def table(self) -> EpisodeTable | None:
        """The table of all episodes; None if there are no shards yet."""

    @property
    def split_dict(self) -> Any:  # tfds.core.SplitDict
        """The splits; none as long as there are no shards."""
        return _splits(self.table)

    def as_dataset(
        self, split: Any = None, *, batch_size: int | None = None, decoders: Any = None, **options: Any
    ) -> Any:
        """The episodes as `tf.data.Dataset`, read from the shards.

        Args:
          split: as in TFDS: a name, "train[:10%]", "train+test", a list or dict of these; None: all splits.
          batch_size: of batches padded with zeros; needs dense steps.
          decoders: `{"steps": tfds.decode.SkipDecoding()}` returns steps as one dict of tensors `[T, ...]`, several
            times faster; `tfds.decode.PartialDecoding` reads only the fields that it names.
          **options: `shuffle_files`, `read_config`, `as_supervised`, as in TFDS.

        Raises:
          ValueError: there is no such split, or an argument is not supported; the message explains what to do.
        """
        table = self.table
        if batch_size and table is not None and not choice(table.features, decoders).is_dense:
            raise ValueError(
                "batch_size: expected dense steps, because TensorFlow makes no batches of datasets; add "
                f'decoders={{"{STEPS}": tfds.decode.SkipDecoding()}}, or batch the steps of `flat_map`'
            )
        return super().as_dataset(split=split, batch_size=batch_size, decoders=decoders, **options)

    def _as_dataset(
        self, split: Any, decoders: Any = None, read_config: Any = None, shuffle_files: bool = False
    ) -> Any:
        from rlds_kit.tfds_builders.read_tf import read

        table = self._ready()
        decoding = choice(table.features, decoders)
        chosen = table.choose(decoding.features)
        if decoding.is_dense and chosen.arrays.ragged:
            raise SpecError(
                f"{self.name}: the shapes of {chosen.arrays.ragged} change from step to step, so no tensor [T, ...] "
                f'holds them; leave them out with `PartialDecoding`, or take steps one by one: no decoder of "{STEPS}"'
            )
        return read(
            chosen,
            self._numbers(table, split),
            read_config or tfds.ReadConfig(),
            is_dense=decoding.is_dense,
            shuffle=shuffle_files,
        )

    def as_data_source(
        self,
        split: Any = None,
        *,
        decoders: Any = None,
        deserialize_method: Any = tfds.decode.DeserializeMethod.DESERIALIZE_AND_DECODE,
        file_format: Any = None,
    ) -> Any:
        """The episodes by number, without TensorFlow: sequences for PyTorch, Grain or a loop.

        An episode is a dict; `episode["steps"]` is a sequence whose steps are read on access.

        Args:
          split: as for `as_dataset`.
          decoders: as for `as_dataset`.
          deserialize_method: only the default: there are no serialized examples.
          file_format: only None: there is no other format.

        Returns:
          An `EpisodeDataSource`; a list or dict of them if `split` is one.

        Raises:
          ValueError: there is no such split, or an argument is not supported.
        """
        is_decoded = deserialize_method is tfds.decode.DeserializeMethod.DESERIALIZE_AND_DECODE
        if not is_decoded or file_format is not None:
            raise ValueError(
                f"expected neither `deserialize_method` nor `file_format`, got {deserialize_method} and {file_format}: "
                "episodes are read from files that hold no serialized examples"
            )
        table = self._ready()
        decoding = choice(table.features, decoders)
        chosen = table.choose(decoding.features)

        def source(each: Any) -> EpisodeDataSource:
            name = f"{self.info.full_name} {each}, digest {table.source.digest}"
            return EpisodeDataSource(chosen, self._numbers(table, each), is_dense=decoding.is_dense, name=name)

        return _mapped(source, dict.fromkeys(table.splits) if split is None else split)

    def _ready(self) -> EpisodeTable:
        table = self.table
        if table is None:
            raise AssertionError(
                f"{self.name}: there are no episodes in {self.data_dir}; call `download_and_prepare()`, or leave "
                "download=True in `tfds.load`"
            )
        return table

    def _numbers(self, table: EpisodeTable, split: Any) -> np.ndarray:
        return numbers_of(table, dict(self.split_dict), split)

    def _should_cache_ds(self, split: Any, shuffle_files: bool, read_config: Any) -> bool:
        del split, shuffle_files, read_config
        return False  # TFDS uses the size of files; `read` uses the size in memory


@functools.lru_cache(maxsize=8)
def _splits(table: EpisodeTable | None) -> Any:
    return tfds.core.SplitDict([] if table is None else split_infos(table))


def _mapped(function: Any, split: Any) -> Any:
    if isinstance(split, dict):
        return {key: _mapped(function, item if item is not None else key) for key, item in split.items()}
    if isinstance(split, list | tuple):
        return type(split)(_mapped(function, item) for item in split)
    return function(split)

"""The base of builders that publish recorded episodes in TFDS's own formats: tfrecord and array_record."""

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rlds_kit.base.errors import SpecError
from rlds_kit.base.rlds_types import IS_FIRST, STEPS
from rlds_kit.loader.last_step import TEXTS, LastStep
from rlds_kit.storage import whole_directory
from rlds_kit.tfds_builders.beam_examples import examples_of, examples_on_beam, with_local_runner
from rlds_kit.tfds_builders.encodings import warn_of_strings
from rlds_kit.tfds_builders.episode_source import EpisodeSource
from rlds_kit.tfds_builders.example_digest import leaf_keys, value_at
from rlds_kit.tfds_builders.folders import Folders, common_features, sources_of
from rlds_kit.tfds_builders.proof import prove, source_digests, written_digests
from rlds_kit.tfds_builders.tfds_extra import tfds

MODULE_ENDING = "_dataset_builder"
"""The suffix of modules beside which TFDS searches README.md, CITATIONS.bib and TAGS.txt."""


@dataclasses.dataclass
class EpisodesConfig(tfds.core.BuilderConfig):  # type: ignore[misc]  # TFDS has no types
    """The config of one of several datasets of a builder.

    Attributes:
      folders: the data of each split, as in `EpisodesBuilder.FOLDERS`.
    """

    folders: Folders = dataclasses.field(default_factory=dict)


class EpisodesBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg,misc]
    """Publishes recorded episodes with `tfds build` or `download_and_prepare`.

    The name of a subclass is that of the dataset, as usual in TFDS. It defines the data in `FOLDERS`, in
    `EpisodesConfig`s, or by overriding `folders`. Features, splits, metadata and statistics are computed from the data.

    One episode is in memory at a time. After writing, all episodes are read back and compared with the source; if one
    is missing or differs, the build fails and its files are removed. A killed build starts again from the beginning.
    The number of steps of each split is in `info.metadata["steps"]`.

    Attributes:
      FOLDERS: the data of each split: directories of recorded datasets; directories with recordings of EnvLogger in
        them or below them (also releases of RLDS Creator and robosuite); open datasets, for instance the parts of
        `Dataset.split`; or sources. Paths are relative to the working directory.
      LAST_STEP: the action of each last step, "zeros", "repeat" or "drop", as for
        `Dataset.as_tf_dataset`.
      COMPRESS: fields, or paths into them, whose arrays are stored compressed, as for `episode_features`.
      DESCRIPTION, CITATION, HOMEPAGE, LICENCE: of the dataset. README.md and CITATIONS.bib beside a module called
        `<name>_dataset_builder.py` have precedence over the first two.

    >>> class PublishedPong(EpisodesBuilder):
    ...     VERSION = tfds.core.Version("1.0.0")
    ...     FOLDERS = {"train": "data/pong", "test": ["data/pong_2", "data/pong_3"]}
    >>> PublishedPong(data_dir="data/tfds").download_and_prepare()  # doctest: +SKIP
    >>> tfds.load("published_pong", data_dir="data/tfds")  # doctest: +SKIP
    """

    FOLDERS: ClassVar[Folders] = {}
    LAST_STEP: ClassVar[LastStep] = "zeros"
    COMPRESS: ClassVar[Sequence[str]] = ()
    DESCRIPTION: ClassVar[str] = ""
    CITATION: ClassVar[str] = ""
    HOMEPAGE: ClassVar[str] = ""
    LICENCE: ClassVar[str] = ""

    def folders(self, dl_manager: Any) -> Folders:  # tfds.download.DownloadManager
        """Returns the folder with the data of each split. Override it for data that are downloaded or copied by hand.

        Args:
          dl_manager: of TFDS; `dl_manager.manual_dir`, `dl_manager.download_and_extract(url)`.

        Returns:
          The data of each split, as in `FOLDERS`.
        """
        del dl_manager
        config = self.builder_config
        return config.folders if isinstance(config, EpisodesConfig) else self.FOLDERS

    def _info(self) -> Any:  # tfds.core.DatasetInfo
        """The info without the data; TFDS reads the features of a prepared dataset itself."""
        arguments = {
            "description": f"{self.DESCRIPTION or self.__doc__ or ''}\n\n{TEXTS[self.LAST_STEP]}".strip(),
            "citation": self.CITATION,
            "homepage": self.HOMEPAGE,
            "license": self.LICENCE,
        }
        if type(self).__module__.endswith(MODULE_ENDING):
            return self.dataset_info_from_configs(**arguments)
        return tfds.core.DatasetInfo(builder=self, **arguments)

    def _download_and_prepare(self, dl_manager: Any, download_config: Any) -> None:
        with under_way(self.data_dir):
            self._sources = self._opened(dl_manager)
            self._learn_features()
            download_config, self._on_beam = with_local_runner(download_config)
            super()._download_and_prepare(dl_manager, download_config)
            self._prove(download_config.max_examples_per_split)

    def _opened(self, dl_manager: Any) -> dict[str, list[EpisodeSource]]:
        """The sources of each split."""
        options: dict[str, Any] = {"last_step": self.LAST_STEP, "compress": self.COMPRESS}
        splits = {split: sources_of(folders, **options) for split, folders in self.folders(dl_manager).items()}
        if not splits:
            raise ValueError(
                f"{type(self).__name__}: expected a folder for every split, got none; set FOLDERS, for instance to "
                '{"train": "data/pong"}, or override `folders`'
            )
        for split, sources in splits.items():
            if not any(len(source.keys) for source in sources):
                places = ", ".join(source.name for source in sources)
                raise ValueError(f"split {split!r}: expected episodes, there is none in {places}; leave the split out")
        return splits

    def _learn_features(self) -> None:
        """Sets the features of `info`, as TFDS does for a prepared dataset."""
        features = common_features([source for sources in self._sources.values() for source in sources])
        if self.info.file_format == tfds.core.FileFormat.ARRAY_RECORD:
            _require_readable_as_data_source(features[STEPS].feature)
        warn_of_strings(self.name, features)
        features.save_config(self.data_dir)
        self.info.write_to_directory(self.data_dir)
        self.info.read_from_directory(self.data_dir)

    def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
        """Returns a generator of examples, or a `beam.PTransform`, for each split."""
        if not hasattr(self, "_sources"):  # `tfds build --download_only`
            self._sources, self._on_beam = self._opened(dl_manager), False
        return {split: self._generate_examples(sources) for split, sources in self._sources.items()}

    def _generate_examples(self, sources: Sequence[EpisodeSource]) -> Any:
        return examples_on_beam(sources) if self._on_beam else _examples(sources)

    def _prove(self, limit: int | None) -> None:
        """Compares the written episodes with the sources, and stores the numbers of steps.

        Raises:
          ProofError: they differ.
        """
        features, lengths = self.info.features, {}
        for split, sources in self._sources.items():
            found = _Counted(_examples(sources))
            prove(split, source_digests(found, features), written_digests(self, split), limit)
            lengths[split] = found.steps
        if limit is None:
            self.info.metadata["steps"] = lengths


def _require_readable_as_data_source(steps: Any) -> None:
    """Rejects steps with two unknown lengths in ArrayRecord, which TFDS reads without TensorFlow, and wrongly."""
    for keys in leaf_keys(steps):
        shape = value_at(steps, keys).get_tensor_info().shape
        if shape.count(None) > 1:
            raise SpecError(
                f"steps/{'/'.join(keys)} has the shape {shape}: TFDS reads several unknown lengths from tfrecord only; "
                "build that, leave the field out with `select`, or publish the recording itself"
            )


class _Counted:
    """Counts the steps of examples and passes them on."""

    def __init__(self, examples: Iterable[tuple[str, dict[str, Any]]]) -> None:
        self._examples = examples
        self.steps = 0

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for key, example in self._examples:
            self.steps += len(example[STEPS][IS_FIRST])
            yield key, example


def _examples(sources: Sequence[EpisodeSource]) -> Iterator[tuple[str, dict[str, Any]]]:
    for source in sources:
        for part in source.parts:
            yield from examples_of(source, part)


@contextlib.contextmanager
def under_way(directory: str | os.PathLike[str]) -> Iterator[None]:
    """A context for a build in `directory`; it removes the directories of killed builds beside it.

    TFDS writes into `incomplete.<random>_<version>` and renames it. It removes the directory after an exception, but
    after `kill -9` the directory would remain.

    Args:
      directory: TFDS's temporary one. If it is not local, nothing is removed.
    """
    path = Path(directory)
    if not path.is_dir():
        yield
        return
    version = path.name.partition("_")[2]
    whole_directory.remove_abandoned(path.parent.glob(f"incomplete.??????_{version}"))
    with whole_directory.under_way(path):
        yield
    (path / whole_directory.LOCK).unlink(missing_ok=True)

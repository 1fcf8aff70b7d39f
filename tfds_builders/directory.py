"""Recorded datasets for `tfds.load`, read directly: no second copy, no conversion."""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import rlds_kit
from rlds_kit import Dataset
from rlds_kit.base.errors import NotADatasetError
from rlds_kit.loader.last_step import LastStep
from rlds_kit.storage import directory as directories
from rlds_kit.tfds_builders.episode_table import EpisodeTable, table_of
from rlds_kit.tfds_builders.preparing import only_one
from rlds_kit.tfds_builders.shard_builder import ShardBuilder, ShardInfo
from rlds_kit.tfds_builders.tfds_extra import tfds

Place = str | os.PathLike[str] | Dataset
"""Where episodes are: a directory, or a dataset that was opened, perhaps a view of some episodes and fields."""
TRAIN = "train"


def builder_from_directory(
    path: Place | Mapping[str, Place],
    split: str = TRAIN,
    *,
    metadata: Sequence[str] | None = None,
    observation_valid: bool = False,
    last_step: LastStep = "zeros",
    **about: Any,
) -> "FixedBuilder":
    """Returns a builder that reads a recorded dataset directly, without a copy.

    Args:
      path: a directory, or a `Dataset`: `where` and `select` choose episodes and fields. Or several of these by the
        name of their split; `Dataset.split` makes such a dict of parts by a hash of each episode's id.
      split: the name of the split, if there is one.
      metadata: keys of episode metadata to include beside "steps"; None: all.
      observation_valid: whether steps have a field of that name. Required for data that lack final observations.
      last_step: as for `as_tf_dataset`.
      **about: `name`, `version`, `description`, `citation`, `license`, `homepage` and `supervised_keys` of `info`, in
        place of those in dataset.json.

    Raises:
      NotADatasetError: there is no dataset.
      SpecError: TFDS cannot store a field or a key of metadata exactly; the message names it and explains what to do.
      ValueError: there is no split.

    >>> builder = builder_from_directory("data/pong")  # doctest: +SKIP
    >>> episodes = builder.as_dataset(split="train[:90%]")  # doctest: +SKIP
    """
    places = {name: _fixed(each) for name, each in path.items()} if isinstance(path, Mapping) else {split: _fixed(path)}
    if not places:
        raise ValueError("expected a directory or a dataset for each split, got none")
    reading: dict[str, Any] = {
        "metadata": metadata,
        "observation_valid": observation_valid,
        "last_step": last_step,
    }
    return FixedBuilder(datasets=places, about=about, **reading)


class FixedBuilder(ShardBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
    """Reads given datasets; made by `builder_from_directory`. Picklable."""

    def __init__(
        self,
        *,
        datasets: Mapping[str, Place],
        metadata: Sequence[str] | None,
        observation_valid: bool,
        last_step: LastStep = "zeros",
        about: dict[str, Any],
    ) -> None:
        opened = {name: _opened(place) for name, place in datasets.items()}
        first = next(iter(opened.values()))
        reading: dict[str, Any] = {
            "metadata": metadata,
            "observation_valid": observation_valid,
            "last_step": last_step,
        }
        self._table = table_of(opened, **reading)
        self._about = _about(first) | about
        self.name = _tfds_name(self._about.pop("name", "") or first.path.name)
        self.VERSION = tfds.core.Version(self._about.pop("version", "1.0.0"))
        super().__init__(data_dir=first.path)
        self._original_state = {"datasets": datasets, "about": about, **reading}

    @property
    def table(self) -> EpisodeTable:
        """The table of all episodes."""
        return self._table

    def download_and_prepare(self, **options: Any) -> None:
        """Does nothing: the episodes exist already."""

    def _build_data_dir(self, data_dir: str | None) -> tuple[str, str]:
        return str(data_dir), str(data_dir)

    def _info(self) -> ShardInfo:
        return ShardInfo(builder=self, **self._about)

    def _download_and_prepare(self, dl_manager: Any, download_config: Any = None) -> None:
        del dl_manager, download_config  # never called: the episodes exist already


@dataclasses.dataclass(eq=False, kw_only=True)
class DirectoryConfig(tfds.core.BuilderConfig):  # type: ignore[misc]  # TFDS has no types
    """A config of a `DirectoryBuilder`.

    Attributes:
      directories: of the episodes, by split; None if the builder makes them.
      fields: to include; None: all declared ones.
      metadata: keys of episode metadata to include beside "steps"; None: all.
      observation_valid: whether steps have that field.
      last_step: as for `as_tf_dataset`.
    """

    directories: Mapping[str, str | os.PathLike[str]] | None = None
    fields: Sequence[str] | None = None
    metadata: Sequence[str] | None = None
    observation_valid: bool = False
    last_step: LastStep = "zeros"


class DirectoryBuilder(ShardBuilder, skip_registration=True):  # type: ignore[call-arg]
    """A dataset that `tfds.load` knows by name and reads from shards directly. Subclass it.

    The episodes either exist in the config's `directories`; or `make_episodes` makes them once, when the dataset is
    first loaded. A process that is killed meanwhile leaves no incomplete dataset, and of two processes one makes the
    episodes while the other waits.

    >>> class Catch(DirectoryBuilder, skip_registration=True):
    ...     VERSION = tfds.core.Version("1.0.0")
    ...     BUILDER_CONFIGS = [DirectoryConfig(name="random", description="A random policy.")]
    ...
    ...     def make_episodes(self, directory, downloads):
    ...         record_catch(directory / "train", policy=self.builder_config.name)
    >>> Catch.name
    'catch'
    """

    VERSION = tfds.core.Version("1.0.0")
    CONFIG: ClassVar[DirectoryConfig] = DirectoryConfig(name="default")
    """What holds where a subclass has no configs."""
    ABOUT: ClassVar[Mapping[str, Any]] = {}
    """`description`, `citation`, `license`, `homepage`, `supervised_keys`; files of TFDS beside the module go first."""

    def __init__(self, *, file_format: Any = None, **options: Any) -> None:
        del file_format  # `tfds.data_source` requires array_record, but our shards can be read by number, too
        super().__init__(**options)

    def make_episodes(self, directory: Path, downloads: Any) -> None:
        """Records, copies or fetches the episodes.

        Args:
          directory: empty; each split becomes a dataset in the folder of its name, `directory / "train"`.
          downloads: a `tfds.download.DownloadManager`, which has `download`, `extract` and `manual_dir`.
        """
        raise NotImplementedError(
            f"{type(self).__name__}: expected `make_episodes`, or a config with `directories` that hold the episodes"
        )

    @property
    def settings(self) -> DirectoryConfig:
        """The config."""
        return self.builder_config if isinstance(self.builder_config, DirectoryConfig) else self.CONFIG

    @property
    def table(self) -> EpisodeTable | None:
        """The table of all episodes; None as long as there are none."""
        found = self._found()
        if not found:
            return None
        if self._opened_from != found:
            self._opened_from, self._table = found, self._open(found)
        return self._table

    _opened_from: dict[str, Path] | None = None
    _table: EpisodeTable | None = None

    def _found(self) -> dict[str, Path]:
        if self.settings.directories is not None:
            return {name: Path(path).absolute() for name, path in self.settings.directories.items()}
        folders = sorted(Path(self.data_dir).glob("*/"))
        return {folder.name: folder for folder in folders if directories.is_dataset(folder)}

    def _open(self, found: Mapping[str, Path]) -> EpisodeTable:
        settings = self.settings
        opened = {name: rlds_kit.open(path) for name, path in found.items()}
        if settings.fields is not None:
            opened = {name: dataset.select(*settings.fields) for name, dataset in opened.items()}
        return table_of(
            opened,
            metadata=settings.metadata,
            observation_valid=settings.observation_valid,
            last_step=settings.last_step,
        )

    def download_and_prepare(self, **options: Any) -> None:
        """Makes the episodes, unless they exist.

        Args:
          **options: those of TFDS; `file_format` is ignored.
        """
        if self.settings.directories is None:
            with only_one(Path(self.data_dir)):
                super().download_and_prepare(**{**options, "file_format": None})

    def is_prepared(self) -> bool:
        """Whether the episodes exist."""
        return self.table is not None

    def _download_and_prepare(self, dl_manager: Any, download_config: Any = None) -> None:
        del download_config
        directory = Path(self.data_dir)
        self.make_episodes(directory, dl_manager)
        if self.table is None:
            raise NotADatasetError(
                f"{self.name}: `make_episodes` left no dataset; expected one in a folder for each split, such as "
                f"{directory / TRAIN}"
            )

    def _build_data_dir(self, given_data_dir: str | None) -> tuple[str, str]:
        if self.settings.directories is not None:
            first = next(iter(self._found().values()))
            return str(first), str(first)
        root, directory = super()._build_data_dir(given_data_dir)
        return root, directory

    def _info(self) -> ShardInfo:
        about = dict(self.ABOUT)
        if "." in type(self).__module__ or self.pkg_dir_path is not None:  # a script may have no file
            files = self.get_metadata()
            about |= {key: text for key in ("description", "citation") if (text := getattr(files, key))}
        return ShardInfo(builder=self, **about)


def _fixed(place: Place) -> Place:
    """Makes a path absolute, for processes with other working directories."""
    return place if isinstance(place, Dataset) or not Path(place).is_dir() else Path(place).absolute()


def _opened(place: Place) -> Dataset:
    return place if isinstance(place, Dataset) else rlds_kit.open(place)


def _about(dataset: Dataset) -> dict[str, Any]:
    """The content of dataset.json under TFDS's names."""
    description = dataset.description
    keys = {
        "name": "name",
        "description": "description",
        "citation": "citation",
        "license": "licence",
        "homepage": "homepage",
    }
    return {key: str(description[own]) for key, own in keys.items() if description.get(own)}


def _tfds_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower() or "episodes"

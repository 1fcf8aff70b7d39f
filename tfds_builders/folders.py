"""Converts the folders of a builder to sources of episodes."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import rlds_kit
from rlds_kit import Dataset
from rlds_kit.base.errors import NotADatasetError, SpecError
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.loader.last_step import LastStep
from rlds_kit.storage.directory import is_dataset
from rlds_kit.tfds_builders.encodings import encoding_of, with_bytes
from rlds_kit.tfds_builders.envlogger_source import EnvLoggerSource, envlogger_directories
from rlds_kit.tfds_builders.episode_source import DatasetSource, EpisodeSource
from rlds_kit.tfds_builders.example_digest import leaf_keys, value_at

Folder: TypeAlias = str | os.PathLike[str] | Dataset | EpisodeSource
"""A directory, a dataset that was opened, or a source."""
Folders: TypeAlias = Mapping[str, Folder | Sequence[Folder]]
"""The folders of each split."""


def sources_of(
    folders: Folder | Sequence[Folder], *, last_step: LastStep = "zeros", compress: Collection[str] = ()
) -> list[EpisodeSource]:
    """The sources in folders.

    Args:
      folders: directories, datasets, sources. A directory is that of a recorded dataset, or any with recordings of
        EnvLogger in it or below it.
      last_step: of directories and datasets; a source has its own.
      compress: likewise.

    Raises:
      NotADatasetError: a directory has neither.
      ValueError: two folders have an episode in common.

    >>> sources_of("data/pong")[0].keys  # doctest: +SKIP
    """
    each = list(folders) if isinstance(folders, list | tuple) else [folders]
    roots = [Path(os.path.abspath(folder)) for folder in each if isinstance(folder, str | os.PathLike)]  # noqa: PTH100
    options: dict[str, Any] = {"last_step": last_step, "compress": compress}
    common = Path(os.path.commonpath(roots)) if roots else Path()
    sources = [source for folder in each for source in _opened(folder, common, options)]
    _require_distinct(sources)
    return sources


def common_features(sources: Sequence[EpisodeSource]) -> Any:  # tfds.features.FeaturesDict
    """The features of all sources; a field is stored as its bytes if one of them needs that.

    Raises:
      SpecError: they differ; the message names the field and two sources.
    """
    first, *others = sources
    kinds, changed = _kinds(first.features), set[str]()
    for other in others:
        found = _kinds(other.features)
        for path in kinds.keys() | found.keys():
            kind, own = kinds.get(path, _NONE), found.get(path, _NONE)
            if kind.text != own.text:
                raise SpecError(
                    f"{path}: expected the same features in all folders, got {kind.text} in {first.name} and "
                    f"{own.text} in {other.name}; publish them as two configs, or leave the field out with `select`"
                )
            if kind.encoding != own.encoding:
                changed.add(path)
    return with_bytes(first.features, changed) if changed else first.features


@dataclass(frozen=True, slots=True)
class _Kind:
    """A description of a field and its encoding, for messages."""

    text: str
    encoding: str


_NONE: Final = _Kind("no such field", "")


def _opened(folder: Any, common: Path, options: dict[str, Any]) -> list[EpisodeSource]:
    """The sources in one folder; keys of EnvLogger's start with the path from `common`."""
    if isinstance(folder, Dataset):
        return [DatasetSource(folder, **options)]
    if not isinstance(folder, str | os.PathLike):
        return [folder]
    path = Path(folder).absolute()
    if is_dataset(path):
        return [DatasetSource(rlds_kit.open(path), **options)]
    found = envlogger_directories(path)
    if not found:
        raise NotADatasetError(
            f"{path}: expected a dataset, or a directory in which EnvLogger wrote, but there is no episodes-*.riegeli "
            "and, at whatever depth, no metadata.riegeli; check the path"
        )
    return [EnvLoggerSource(each, key=_key(each, common), **options) for each in found]


def _key(directory: Path, common: Path) -> str:
    """A directory's path from `common`, the same on every machine; "" for `common` itself."""
    key = Path(os.path.relpath(directory, common)).as_posix()
    return "" if key == "." else key


def _require_distinct(sources: Sequence[EpisodeSource]) -> None:
    owners: dict[str, str] = {}
    for source in sources:
        for key in source.keys:
            if key in owners:
                raise ValueError(
                    f"episode {key} is in {owners[key]} and in {source.name}; give each episode once, for instance "
                    "leave out the copy"
                )
            owners[key] = source.name


def _kinds(features: Any) -> dict[str, _Kind]:
    """The description of every field, by path."""
    parts = {STEPS: features[STEPS].feature, **{name: each for name, each in features.items() if name != STEPS}}
    found = {"/".join(keys): value_at(parts, keys) for keys in leaf_keys(parts)}
    return {path: _Kind(repr(feature), encoding_of(feature)) for path, feature in found.items()}

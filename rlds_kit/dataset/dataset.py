"""Opens a dataset: an immutable snapshot of its episodes, read lazily."""

import functools
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.arguments import integer
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.split import part_of
from rlds_kit.base.step import DECLARED_FIELDS, FLAGS
from rlds_kit.dataset.annotated_dataset import AnnotatedDataset
from rlds_kit.episode.episode import Episode
from rlds_kit.episode.episodes import DatasetSteps, Episodes
from rlds_kit.layers.amended import Amended
from rlds_kit.layers.open_layers import OpenLayers
from rlds_kit.loader.episode_feeds import EpisodeFeeds
from rlds_kit.loader.sampled_dataset import SampledDataset
from rlds_kit.loader.source import Source
from rlds_kit.remote.path import as_path
from rlds_kit.riegeli.recovery import SkippedRegion
from rlds_kit.spec import value
from rlds_kit.spec.promote import promoted
from rlds_kit.storage import digest, selection
from rlds_kit.storage import directory as directories
from rlds_kit.storage.amendment import union
from rlds_kit.storage.contents import ShardContents
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import EpisodeReader
from rlds_kit.storage.metadata_spec import union_of_all
from rlds_kit.storage.open_files import OpenFiles
from rlds_kit.storage.selection import path_of
from rlds_kit.storage.snapshot import Listing, listed, read_shards

LOADER_CACHE_BYTES: Final = 1 << 20
"""Cache size of loaders: they read every block once, so only blocks that two runs share are worth caching."""


def open_dataset(path: str | os.PathLike[str], *, include_open: bool = False) -> "Dataset":
    """Opens the dataset in a directory, as a snapshot.

    Args:
      path: the directory.
      include_open: also list episodes that are being recorded; their `end` is None.

    Raises:
      NotADatasetError: there is no dataset at `path`.
      FormatError: a shard is not one of ours, or has a newer major version.
    """
    directory = as_path(path).absolute()  # absolute, so that a change of the working directory has no effect
    directories.require_dataset(directory)
    return Dataset(directory, read_shards(directory, {}), include_open=include_open)


class Dataset(EpisodeFeeds, SampledDataset, AnnotatedDataset):
    """A snapshot of the episodes in a directory. Made by `rlds_kit.open`.

    Thread-safe, and cheap to pickle: only the positions of episodes are pickled, not their data. Recording into the
    directory does not change it; `refresh` returns a snapshot with new episodes.

    Attributes:
      path: the directory.
    """

    def __init__(
        self,
        path: Path,
        shards: dict[str, ShardContents],
        *,
        include_open: bool = False,
        known: Listing | None = None,
        selected: tuple[str, ...] | None = None,
        files: OpenFiles | None = None,
    ) -> None:
        self.path = path
        self._shards, self._include_open, self._selected = shards, include_open, selected
        self._files = files or OpenFiles()
        self._open_layers = OpenLayers(path)
        self._amended: Amended | None = None
        self._declared: dict[str, specs.Dict] = {}
        self._all = listed(shards, known, include_open=include_open)
        self._order = np.arange(len(self._all))
        self._is_chosen = False

    def __repr__(self) -> str:
        return f"<Dataset {self.path}: {len(self.episodes)} episodes, {len(self.steps)} steps>"

    @property
    def episodes(self) -> "Episodes":
        """The episodes, in the order they were found."""
        return Episodes(self.episode, self._order)

    @property
    def steps(self) -> "DatasetSteps":
        """The steps of all episodes, one after the other."""
        return DatasetSteps(self.episodes, self.lengths())

    @property
    def spec(self) -> specs.Dict:
        """The spec of every field, declared or recorded."""
        parts: list[specs.Spec] = []
        for shard in self._shards.values():
            if shard.header is not None:
                parts.append(specs.from_message(shard.header.spec))
            parts += self._amendments_of(shard)[0]
        recorded = union(parts or [specs.from_json(self.description.get("spec") or {})])
        for shard in self._shards.values():
            recorded = _widened(recorded, self._amendments_of(shard)[1])
        return recorded if self._amended is None else self._amended.spec(recorded, self._all.entries)

    @property
    def deviations(self) -> dict[str, tuple[specs.Spec, ...]]:
        """The specs of values that do not match their declaration, by declared field; empty if there are none.

        The elements of a tuple or list have their names as in a path: "(0)", "[0]". `specs.NONE` represents values that
        are None, or missing.
        """
        found: dict[str, dict[specs.Spec, None]] = {}
        for shard in self._shards.values():
            for name, spec in self._amendments_of(shard)[1]:
                found.setdefault(name, {})[spec] = None
        return {name: tuple(each) for name, each in found.items()}

    def _amendments_of(self, shard: ShardContents) -> tuple[list[specs.Spec], list[tuple[str, specs.Spec]]]:
        """The specs of a shard's undeclared fields, and of deviations in its declared ones."""
        fields, deviating = list[specs.Spec](), list[tuple[str, specs.Spec]]()
        declared = specs.from_message(shard.header.spec) if shard.header is not None else None
        known = declared.fields.keys() if isinstance(declared, specs.Dict) else set[str]()
        for message in shard.amendments:
            spec = specs.from_message(message)
            items = spec.fields if isinstance(spec, specs.Dict) else {}
            deviating += [(name, each) for name, each in items.items() if name in known]
            fields.append(specs.Dict({name: each for name, each in items.items() if name not in known}))
        return fields, deviating

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the first run; `episode.run_metadata` has those of each run."""
        return self._of_first_run("metadata")

    @property
    def environment(self) -> dict[str, Any]:
        """The environment of the first run; `episode.provenance` has that of each episode."""
        return self._of_first_run("environment")

    @property
    def description(self) -> dict[str, Any]:
        """The content of dataset.json, for people; nothing depends on it."""
        return directories.description(self.path)

    @property
    def damage(self) -> dict[str, tuple[SkippedRegion, ...]]:
        """Shards in which opening skipped damaged bytes. `rlds-kit verify` reads everything and finds all damage."""
        return {name: shard.skipped for name, shard in self._shards.items() if shard.skipped}

    @property
    def content_digest(self) -> bytes:
        """The content digest, 16 bytes that are equal for datasets of equal episodes, in any order."""
        return digest.combine(episode.content_digest for episode in self.episodes)

    def where(self, predicate: Callable[[dict[str, Any]], bool]) -> "Dataset":
        """The episodes whose metadata satisfy `predicate`, which is called immediately, once for each.

        >>> ds.where(lambda metadata: metadata["score"] > 200)  # doctest: +SKIP
        """
        self._files.fetch_records(self.path, self._all[self._order])
        chosen = [
            index for index, episode in zip(self._order, self.episodes, strict=True) if predicate(episode.metadata)
        ]
        return self._view(order=np.array(chosen, np.int64))

    def take(self, indices: Iterable[int]) -> "Dataset":
        """The episodes of these numbers, in this order.

        Raises:
          IndexError: there is no such episode, or a number occurs twice.

        >>> ds.take(range(5))  # doctest: +SKIP
        >>> ds.take([number for number, episode in enumerate(ds.episodes) if episode.length > 20])  # doctest: +SKIP
        """
        numbers = [range(len(self._order))[integer("the number of an episode", index)] for index in indices]
        if len(set(numbers)) != len(numbers):
            raise IndexError("expected each episode once; `mix` repeats episodes by weights")
        return self._view(order=self._order[numbers] if numbers else self._order[:0])

    def split(self, fractions: Mapping[str, float], seed: int = 0) -> dict[str, "Dataset"]:
        """Views of disjoint parts, for instance for training and testing, by a hash of each episode's id.

        An episode's part depends on nothing else: not on the machine, the order, or later additions.
        `transformations.split` divides the episodes of `as_tf_dataset` in the same way.

        Args:
          fractions: of each part, by name; they sum to 1. The number of episodes in a part is random.
          seed: selects the split.

        Raises:
          ValueError: the fractions do not sum to 1, or the seed is out of range.

        >>> ds.split({"train": 0.9, "test": 0.1})["train"].transitions()  # doctest: +SKIP
        """
        ids = self._all.entries[self._order].ids().tolist()
        parts = np.array([part_of(uuid.UUID(bytes=each), fractions, seed) for each in ids], object)
        return {name: self._view(order=self._order[parts == name]) for name in fractions}

    def select(self, *names: str) -> "Dataset":
        """Returns the dataset with only these fields; other fields are not read.

        Args:
          *names: fields, or paths into nests: with "observation/state" an observation is a dict of `state` alone.

        Raises:
          KeyError: there is no such field.
        """
        if all(shard.header is not None for shard in self._shards.values()):  # else damage hides some
            known = specs.Dict(dict.fromkeys(FLAGS, specs.Any()) | dict(self.spec.fields))
            for name in names:
                path_of(known, name)
        return self._view(selected=names)

    @property
    def selected(self) -> tuple[str, ...] | None:
        """The fields of `select`; None if it was not called."""
        return self._selected

    def refresh(self) -> "Dataset":
        """A snapshot that also has the episodes recorded since.

        Known episodes keep their index; new ones come after them. A view of `where` has no new episodes, because the
        predicate was not called for them.
        """
        shards = read_shards(self.path, self._shards)
        fresh = Dataset(
            self.path,
            shards,
            include_open=self._include_open,
            known=self._all,
            selected=self._selected,
            files=self._files,
        )
        if self._amended is not None:
            fresh._amended = fresh._amendments(self._amended.names, self._amended.rules)
        if not self._is_chosen:
            return fresh
        # By id: if an open episode was discarded since, the numbers after it have changed.
        numbers = {key: number for number, key in enumerate(fresh._all.entries.ids().tolist())}
        chosen = self._all.entries[self._order].ids().tolist()
        found = [numbers[episode_id] for episode_id in chosen if episode_id in numbers]
        return fresh._view(order=np.array(found, np.int64))

    def make_env(self, **kwargs: Any) -> Any:  # a gymnasium.Env
        """Makes the Gymnasium environment that the first run recorded; of a vector environment, one sub-environment.

        A dataset may come from an untrusted source: only environments that are registered with Gymnasium are made, and
        only wrappers of Gymnasium and of imported modules are applied. No module that a dataset names is imported,
        except ale_py.

        Args:
          **kwargs: replace recorded keyword arguments, for instance `render_mode="human"`.

        Raises:
          NotRebuiltError: the environment is not a Gymnasium one or has no id; it or a wrapper is not known here
            (import the package that has it first); it is registered with another entry point now; or arguments of a
            wrapper were not recorded.
        """
        from rlds_kit.base.environment import make

        return make(self.environment, **kwargs)

    def source(self) -> Source:
        """The source for loaders: these episodes, with separately opened files."""
        chosen = self._all[self._order] if self._is_chosen else self._all
        is_locked = np.array([self._shards[name].is_locked for name in chosen.names], np.bool_)
        is_open = is_locked[chosen.entries.tables_of()] & (chosen.entries.column("end") == 0)
        spec = self.spec
        declared = {name for shard in self._shards for name in self._declared_in(shard).fields}
        by_default = [name for name in spec.fields if name in declared or name in DECLARED_FIELDS]
        fields = selection.selected(spec, (by_default if self._selected is None else self._selected_fields()))
        return Source(
            name=str(self.path),
            entries=chosen.entries,
            numbers=np.arange(len(chosen)) if self._is_chosen else self._order,
            ended=~is_open,
            reader=_Readers(OpenFiles(LOADER_CACHE_BYTES), self.path, chosen, self._amended),
            spec=specs.Dict({**spec.fields, **fields.fields}),
            fields=(*fields.fields, *FLAGS),
            amended=None if self._amended is None else self._amended.among(chosen.entries.ids()),
            metadata=self._metadata_of([chosen.names[shard] for shard in chosen.entries.used_tables()]),
        )

    def _metadata_of(self, names: Sequence[str]) -> specs.Spec | None:
        """The spec that the metadata of all episodes of some shards fit."""
        return union_of_all(self._shards[name].metadata for name in names)

    def _selected_of(self, declared: specs.Dict) -> specs.Dict:
        """The selected parts of declared fields."""
        if self._selected is None:
            return declared
        names = [name for name in self._selected if {name, name.partition("/")[0]} & declared.fields.keys()]
        return selection.selected(declared, names)

    def _selected_fields(self) -> list[str]:
        return [name for name in self._selected or () if name not in FLAGS]

    def lengths(self) -> list[int]:
        """The number of steps of every episode."""
        lengths: list[int] = self._all.entries[self._order].column("rows").tolist()
        return lengths

    def shards(self) -> list[Path]:
        """The file of every episode."""
        paths = [self.path / name for name in self._all.names]
        return [paths[shard] for shard in self._all.entries[self._order].tables_of().tolist()]

    def _of_first_run(self, field: str) -> dict[str, Any]:
        for name, shard in self._shards.items():
            if shard.header is not None:
                return value.decode_stored_dict(getattr(shard.header, field), f"the {field}", self.path / name)
            if shard.skipped:
                raise DamagedError(f"{self.path / name}: the shard's header, which holds the {field}, is damaged")
        described = self.description.get(field)
        return dict(described) if isinstance(described, dict) else {}

    def _declared_in(self, name: str) -> specs.Dict:
        """The declared fields of a shard."""
        if name not in self._declared:
            self._declared[name] = self._read_declared(self._shards[name])
        return self._declared[name]

    def _read_declared(self, shard: ShardContents) -> specs.Dict:
        """Reads them from its header; if that is damaged, from another shard's, or dataset.json."""
        for one in (shard, *self._shards.values()):
            if one.header is not None:
                spec = specs.from_message(one.header.spec)
                return spec if isinstance(spec, specs.Dict) else specs.Dict({})
        stored = self.description.get("spec")
        spec = specs.Dict({}) if stored is None else specs.from_json(stored)
        return spec if isinstance(spec, specs.Dict) else specs.Dict({})

    def _view(self, *, order: np.ndarray | None = None, selected: tuple[str, ...] | None = None) -> "Dataset":
        view = object.__new__(Dataset)
        view.__dict__.update(self.__dict__)
        if order is not None:
            view._order, view._is_chosen = order, True
        view._selected = self._selected if selected is None else selected
        return view

    def _with_amended(self, amended: Amended | None) -> "Dataset":
        view = object.__new__(Dataset)
        view.__dict__.update(self.__dict__)
        view._amended = amended
        return view

    def episode(self, index: int) -> Episode:
        """An episode by its number in the snapshot, including those that this view leaves out."""
        name, entry = self._all[index]
        shard = self._shards[name]
        return Episode(
            entry,
            shard.header,
            functools.partial(_reader, self._files, self.path, name, entry, self._amended),
            self._selected_of(self._declared_in(name)),
            self._selected,
            range(entry.rows),
            is_open=not entry.end and shard.is_locked,
            layers=self._open_layers,
        )


def _widened(recorded: specs.Dict, deviating: Iterable[tuple[str, specs.Spec]]) -> specs.Dict:
    """A spec that also covers deviations in its fields."""
    fields = dict(recorded.fields)
    for name, came in deviating:
        fields[name] = promoted(fields[name], came)
    return specs.Dict(fields)


def _reader(
    files: OpenFiles, directory: Path, name: str, entry: EpisodeEntry, amended: Amended | None
) -> EpisodeReader:
    recorded = files.reader(directory, name, entry)
    return recorded if amended is None else amended.reader(recorded, entry)


@dataclass(frozen=True)
class _Readers:
    """Opens episodes by their index."""

    files: OpenFiles
    directory: Path
    chosen: Listing
    amended: Amended | None

    def __call__(self, index: int) -> EpisodeReader:
        return _reader(self.files, self.directory, *self.chosen[index], self.amended)

"""A snapshot of a layer: all annotations, and the effective ones."""

import functools
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.base.step import REWARD
from rlds_kit.layers import layers_pb2 as lp
from rlds_kit.layers import message
from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.layers.combine import Rule, combined, weighted_mean
from rlds_kit.layers.folder import LAYERS
from rlds_kit.layers.layer_file import FileContents, read_file
from rlds_kit.riegeli.recovery import SkippedRegion
from rlds_kit.storage.episode_entry import EpisodeEntry

Stored: TypeAlias = tuple[lp.Annotation, lp.Annotations]
"""An annotation, and its record."""


class Annotated(Protocol):
    """The interface of an annotated episode: `rlds_kit.Episode`."""

    @property
    def id(self) -> uuid.UUID:
        """The id of the episode."""

    @property
    def content_digest(self) -> bytes:
        """The content digest of the episode; empty while it has no end."""

    @property
    def rows(self) -> range:
        """The selected steps of the episode."""


class Rewarded(Annotated, Protocol):
    """An episode whose last step is known: `rlds_kit.Episode`."""

    def is_last(self, row: int, /) -> bool:
        """Whether a row, counted from the episode's start, is its last."""


class AnnotatedEntry:
    """The interface of an episode's entry in a shard."""

    def __init__(self, entry: EpisodeEntry) -> None:
        self.id, self.content_digest = uuid.UUID(bytes=entry.episode_id), entry.content_digest
        self.rows = range(entry.rows)


class Layer:
    """A snapshot of a layer. Made by `Dataset.layer`. Thread-safe, and cheap to pickle.

    Annotations of one writer that were flushed together appear together. Damage is listed in `damage`: the remaining
    annotations are intact, but a retraction or correction of them may be lost, so `annotations` and everything that is
    computed from them raise an error; `history` does not.

    Attributes:
      dataset: the directory of the dataset.
      name: of the layer.
    """

    def __init__(self, dataset: Path, name: str, files: Mapping[str, FileContents]) -> None:
        self.dataset, self.name, self._files = dataset, name, dict(files)

    def __repr__(self) -> str:
        return f"<Layer {self.name} of {self.dataset}: {len(self)} annotations, {len(self.episodes)} episodes>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.dataset, self.name, {name: each.end for name, each in self._files.items()})

    def __len__(self) -> int:
        """The number of effective annotations: without retracted ones and retractions."""
        return sum(len(self._standing(episode)) for episode in self._by_episode)

    @property
    def damage(self) -> dict[str, tuple[SkippedRegion, ...]]:
        """The files of the layer that have damaged bytes."""
        return {name: each.skipped for name, each in self._files.items() if each.skipped}

    @property
    def episodes(self) -> list[uuid.UUID]:
        """The episodes with annotations, whether the dataset has them or not."""
        return [uuid.UUID(bytes=episode) for episode in self._by_episode]

    @property
    def fields(self) -> list[str]:
        """The fields that are amended in some episode, sorted."""
        found = {each.field for group in self._by_episode.values() for each, _ in group if each.kind == lp.FIELD}
        return sorted(found)

    @property
    def amended(self) -> frozenset[bytes]:
        """The ids of the episodes with annotations of fields, also retracted ones."""
        groups = self._by_episode.items()
        return frozenset(episode for episode, group in groups if any(each.kind == lp.FIELD for each, _ in group))

    @property
    def sources(self) -> list[str]:
        """The sources of all annotations, sorted."""
        return sorted({source for each in self._files.values() for batch in each.batches for source in batch.source})

    def annotations(self, episode: Annotated | uuid.UUID | None = None) -> tuple[Annotation, ...]:
        """The effective annotations, in order of time.

        Args:
          episode: of the annotations; for a slice (`episode[10:20]`) those of its steps; None: all episodes, whether
            the dataset has them or not.

        Raises:
          DamagedError: the layer is damaged.
          FormatError: the episode has changed since.
        """
        self.require_whole()
        chosen = self._by_episode if episode is None else [_id_of(episode)]
        found = self._decoded(each for one in chosen for each in self._standing(one))
        if episode is None or isinstance(episode, uuid.UUID):
            return tuple(found)
        for each in found:
            self._require_same(each, episode.content_digest)
        return tuple(each for each in found if each.touches(episode.rows))

    def history(self, episode: Annotated | uuid.UUID | None = None) -> tuple[Annotation, ...]:
        """Lists all intact annotations, including retractions and retracted ones, in order of time."""
        chosen = self._by_episode if episode is None else [_id_of(episode)]
        return tuple(self._decoded(each for one in chosen for each in self._all(one)))

    def tags(self, episode: Annotated | uuid.UUID) -> tuple[str, ...]:
        """The labels of an episode, or of any of its steps; sorted, each once.

        Raises:
          DamagedError: the layer is damaged.
          FormatError: the episode has changed since.
        """
        return tuple(sorted({each.value for each in self.annotations(episode) if each.kind is Kind.TAG}))

    def tagged(self, episode: Annotated, label: str) -> np.ndarray:
        """Returns `[length]` bool: True for steps with a label. A label of the whole episode applies to every step.

        Raises:
          DamagedError: the layer is damaged.
          FormatError: the episode has changed since.
        """
        rows = episode.rows
        found = np.zeros(rows.stop, np.bool_)
        for each in self.annotations(episode):
            if each.kind is Kind.TAG and each.value == label:
                found[slice(None) if each.steps is None else slice(each.steps.start, each.steps.stop)] = True
        return found[rows.start :]

    def rewards(self, episode: Rewarded, rule: Rule = weighted_mean) -> tuple[np.ndarray, np.ndarray]:
        """The annotated rewards, independent of recorded ones; an episode's last step has none.

        Args:
          episode: an episode, or a slice of one.
          rule: combines several sources.

        Returns:
          `[length, ...]` float64, 0 for steps without annotations; and `[length]` bool, True for steps with
          annotations.

        Raises:
          DamagedError: the layer is damaged.
          FormatError: the episode has changed since.
          SpecError: the rule cannot combine the values.
        """
        rows = episode.rows
        acted = rows.stop - (rows.stop > 0 and episode.is_last(rows.stop - 1))
        steps, values = combined(rule, self.of_field(episode, REWARD), acted)
        found = np.asarray(values, np.float64)
        rewards, mask = np.zeros((rows.stop, *found.shape[1:])), np.zeros(rows.stop, np.bool_)
        rewards[steps], mask[steps] = found, True
        return rewards[rows.start :], mask[rows.start :]

    def returns(self, episode: Annotated | uuid.UUID) -> dict[str, float]:
        """Collects the returns that sources have annotated to an episode: a number for each source.

        Raises:
          DamagedError: the layer is damaged.
          FormatError: the episode has changed since.
        """
        return {each.source: float(each.value) for each in self.annotations(episode) if each.kind is Kind.RETURN}

    def of_field(self, episode: Annotated | uuid.UUID, field: str) -> list[Annotation]:
        """The effective annotations of a field, in order of time.

        Raises:
          DamagedError: the layer is damaged.
          FormatError: the episode has changed since.
        """
        return [each for each in self.annotations(episode) if each.kind is Kind.FIELD and each.field == field]

    def batches(self) -> dict[str, tuple[lp.Annotations, ...]]:
        """The records of each file, in order."""
        return {name: each.batches for name, each in self._files.items()}

    def known(self, file: str, batch: lp.Annotations) -> Sequence[lp.Annotation]:
        """The annotations of a record whose kinds this version knows.

        Raises:
          FormatError: the record contradicts itself.
        """
        return message.known(batch, self.dataset / LAYERS / self.name / file)

    @functools.cached_property
    def _by_episode(self) -> dict[bytes, list[Stored]]:
        found: dict[bytes, list[Stored]] = {}
        for name, contents in self._files.items():
            for batch in contents.batches:
                groups = [found.setdefault(each.episode_id, []) for each in batch.episode]
                for each in self.known(name, batch):
                    groups[each.episode].append((each, batch))
        return found

    def _all(self, episode: bytes) -> list[Stored]:
        """All annotations of an episode, without duplicates: copies of a layer may have been merged."""
        return list({each[0].annotation_id: each for each in self._by_episode.get(episode, ())}.values())

    def _standing(self, episode: bytes) -> list[Stored]:
        found = self._all(episode)
        gone = {each.retracts for each, _ in found if each.kind == lp.RETRACTION}
        return [each for each in found if each[0].annotation_id not in gone and each[0].kind != lp.RETRACTION]

    def _decoded(self, stored: Iterable[Stored]) -> list[Annotation]:
        """Annotations in their order, which is that of `Annotation.order`."""
        found, faults = self._readable(stored)
        for fault in faults:
            raise FormatError(fault)
        return found

    def readable(self) -> tuple[list[Annotation], list[str]]:
        """The result of `history`, and the errors of invalid annotations."""
        return self._readable(each for one in self._by_episode for each in self._all(one))

    def _readable(self, stored: Iterable[Stored]) -> tuple[list[Annotation], list[str]]:
        found, faults = list[Annotation](), list[str]()
        for each, batch in sorted(stored, key=lambda each: (each[0].time_unix_ns, each[0].annotation_id)):
            try:
                found.append(message.annotation_of(each, batch))
            except (ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError) as error:
                faults.append(
                    f"layer {self.name} of {self.dataset}: an annotation cannot be read: {error}; "
                    "its writer was at fault"
                )
        return found, faults

    def _require_same(self, annotation: Annotation, digest: bytes) -> None:
        if annotation.digest and digest and annotation.digest != digest:
            raise FormatError(
                f"layer {self.name} of {self.dataset}: episode {annotation.episode} had the content digest "
                f"{annotation.digest.hex()} when it was annotated, and has {digest.hex()} now: the data changed. Copy "
                "datasets with `rlds-kit` verbs, which carry layers, or retract the annotations and make them anew"
            )

    def require_whole(self) -> None:
        """Raises an error for a damaged layer.

        Raises:
          DamagedError: it is.
        """
        for name, skipped in self.damage.items():
            raise DamagedError(
                f"{self.dataset / LAYERS / self.name / name}: {skipped[0]}; retractions and corrections may be lost. "
                "`history` gives what is left, `rlds-kit repair` makes a copy of the dataset that has it"
            )


def _id_of(episode: Annotated | uuid.UUID) -> bytes:
    return (episode if isinstance(episode, uuid.UUID) else episode.id).bytes


def _reopened(dataset: Path, name: str, ends: Mapping[str, int]) -> Layer:
    """Opens the snapshot of a layer again, in the process that unpickles it."""
    files = {each: read_file(dataset / LAYERS / name / each, until=end) for each, end in ends.items()}
    return Layer(dataset, name, files)

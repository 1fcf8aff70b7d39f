"""The interface of foreign formats: readers and writers of episodes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from rlds_kit import spec as specs
from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.step import EpisodeEnd

Row: TypeAlias = Mapping[str, Any]
"""Field name to value."""


class ConversionError(RldsKitError, ValueError):
    """A conversion is impossible, or would lose values without `allow_loss`."""


@dataclass(frozen=True)
class ForeignEpisode:
    """An episode between two formats.

    Attributes:
      observed: for each step, the fields of the observation side.
      acted: for each action, the fields of the action side, in the row of its step. One fewer than `observed`; or as
        many, if the final observation is missing.
      end: how it ended.
      terminated: Gymnasium's flag of the last step.
      truncated: Gymnasium's flag of the last step.
      metadata: of the episode.
      seed: of the reset that began it.
      options: of that reset.
      provenance: of this episode alone.
    """

    observed: Sequence[Row]
    acted: Sequence[Row]
    end: EpisodeEnd
    terminated: bool = False
    truncated: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seed: Any = None
    options: Any = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Loss:
    """Values that are lost in a conversion.

    Attributes:
      field: of the values, as in "info/bonus".
      reason: why they are lost.
      values: number of lost values.
    """

    field: str
    reason: str
    values: int = 1


class Reader(Protocol):
    """A source. Iterating reads one episode at a time; every iteration is independent of the others.

    Attributes:
      about: name, description, citation and licence, as far as they are known.
      spec: the declared fields.
      metadata: of the dataset.
      environment: of the episodes.
      size: bytes on disk.
      lossy: losses from the creation of the source, by field.
      losses: data that the reader leaves out; complete after iterating.
    """

    about: Mapping[str, str]
    spec: specs.Dict
    metadata: Mapping[str, Any]
    environment: Mapping[str, Any]
    size: int
    lossy: Mapping[str, str]
    losses: list[Loss]

    def __len__(self) -> int:
        """Number of episodes; after a crash of the writer, iterating may find another number."""

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """The episodes, in order."""


@runtime_checkable
class PartReader(Reader, Protocol):
    """A source with random access to pieces, for several processes and for continuing a conversion.

    A piece is an episode, or else a part of the source in which any number of episodes begin. It can be pickled, also
    after `weigh`; the copy reads the same episodes.

    Attributes:
      unit: name of the pieces in messages.
    """

    unit: str = "episodes"

    def weigh(self, progress: Callable[[int], None]) -> Sequence[int]:
        """The estimated bytes of each piece. May read the source, and then reports the bytes read.

        Called once, before anything else is read.
        """

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """The episodes that begin in some pieces, in order; afterwards `losses` are those of these episodes."""

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """The episodes, in order."""
        return self.read(0, len(self))


@runtime_checkable
class KnowsDecoded(Protocol):
    """A source that knows the size of its steps when they are decoded.

    Attributes:
      decoded: bytes of all steps, about; available after `weigh`.
    """

    decoded: int


@runtime_checkable
class Sharing(Protocol):
    """A source that must be processed as a whole before parts can be read; one process can do this for all."""

    def share(self, directory: Path) -> bool:
        """Writes the result to a directory that exists for as long as the source is read.

        Called before the source is pickled; others find the directory under the same path.

        Returns:
          Whether other processes can use the result. If not, one process is faster than several.
        """


@runtime_checkable
class WithOrigin(Protocol):
    """A source with more provenance than its path.

    Attributes:
      origin: the provenance; available after `weigh`.
    """

    origin: Mapping[str, Any]


class Writer(Protocol):
    """A writer of a foreign format."""

    def fit(self, episode: ForeignEpisode) -> tuple[ForeignEpisode | None, list[Loss]]:
        """The episode without the values that the target cannot store, or None if nothing remains; and the losses."""

    def write(self, episode: ForeignEpisode) -> None:
        """Writes an episode that fits."""

    def close(self) -> None:
        """Finishes the files."""


@dataclass(frozen=True, slots=True)
class Target:
    """The description of the dataset that a writer makes.

    Attributes:
      path: where to write; does not exist.
      name: of the finished dataset's directory.
      origin: of the data, for its metadata.
      losses: gets the metadata of the dataset that the writer cannot store.
    """

    path: Path
    name: str
    origin: Mapping[str, Any]
    losses: list[Loss] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Format:
    """A format of datasets.

    Attributes:
      name: for users.
      summary: a description.
      recognises: whether a path has this format.
      open: creates a reader for a path.
      create: makes a writer for a source; None if the format is only read.
      join: moves the results of several writers, in order, into an existing directory; None if only one writer can
        write a dataset.
    """

    name: str
    summary: str
    recognises: Callable[[Path], bool]
    open: Callable[[Path], Reader]
    create: Callable[[Target, Reader], Writer] | None = None
    join: Callable[[Sequence[Path], Path], None] | None = None

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
    """An episode on its way from one format to another.

    Attributes:
      observed: per step, the observation and what belongs with it.
      acted: per action, action, reward and what belongs with them; a row stands for the step it was done in. One less
        than `observed`, or as many: then the final observation is missing.
      end: how it ended.
      terminated: Gymnasium's flag of the last step.
      truncated: Gymnasium's flag of the last step.
      metadata: of the episode.
      seed: of the reset that began it.
      options: of that reset.
      provenance: what is known of its origin alone.
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
    """Values that do not come through.

    Attributes:
      field: whose they are, as in "info/bonus".
      reason: why.
      values: how many.
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
      environment: that the episodes come from.
      size: bytes on disk.
      lossy: what was lost before, when the source was made, by field.
      losses: what no other format will get to see; known after iterating.
    """

    about: Mapping[str, str]
    spec: specs.Dict
    metadata: Mapping[str, Any]
    environment: Mapping[str, Any]
    size: int
    lossy: Mapping[str, str]
    losses: list[Loss]

    def __len__(self) -> int:
        """Number of episodes; a directory that a crash left may turn out to have others."""

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """The episodes, in order."""


@runtime_checkable
class PartReader(Reader, Protocol):
    """A source of which any episodes can be read without those before them: by several processes, or after a break.

    It can be pickled, also after `weigh`, and what it then reads is what it would have read before.
    """

    def weigh(self, progress: Callable[[int], None]) -> Sequence[int]:
        """The estimated bytes of each episode. May read the source, and then reports the bytes read.

        Called once, before anything else is read.
        """

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """The episodes from one number up to and without another, in order; afterwards `losses` are theirs."""

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """The episodes, in order."""
        return self.read(0, len(self))


@runtime_checkable
class KnowsDecoded(Protocol):
    """A source that knows how large its steps are when they are decoded.

    Attributes:
      decoded: bytes of all steps, about; available after `weigh`.
    """

    decoded: int


@runtime_checkable
class Sharing(Protocol):
    """A source that cannot be read in parts without work on all of it, which one process can do for others."""

    def share(self, directory: Path) -> bool:
        """Leaves the result in a directory that is there for as long as anything is read.

        Called before the source is pickled; others find the directory under the same path.

        Returns:
          Whether others need not do that work again. If they must, one process is faster than several.
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
        """The episode without the values that the target cannot store, or None if nothing is left; and the losses."""

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
      origin: where it comes from, for its metadata.
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
      name: that users give.
      summary: what it is.
      recognises: whether a path has this format.
      open: reads what is at a path.
      create: makes a writer for a source; None if the format is only read.
      join: moves what several writers made, each of them of episodes in their order, into a directory that is there;
        None where one writer has to make the whole.
    """

    name: str
    summary: str
    recognises: Callable[[Path], bool]
    open: Callable[[Path], Reader]
    create: Callable[[Target, Reader], Writer] | None = None
    join: Callable[[Sequence[Path], Path], None] | None = None

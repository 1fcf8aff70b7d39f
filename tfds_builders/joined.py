"""Several datasets as one to read from."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from rlds_kit import Episode
from rlds_kit.base.errors import SpecError
from rlds_kit.loader.source import Source
from rlds_kit.storage.amendment import union
from rlds_kit.storage.entries import Entries
from rlds_kit.storage.episode_reader import EpisodeReader
from rlds_kit.storage.metadata_spec import union_of_all


def joined(sources: Sequence[Source]) -> Source:
    """The episodes of several sources, one source after the other.

    Raises:
      SpecError: they have different fields.
    """
    first, *others = sources
    for other in others:
        if different := sorted({*first.fields} ^ {*other.fields}):
            raise SpecError(
                f"expected splits with the same fields, but only one of {first.name} and {other.name} has {different}; "
                "`select` those that all have"
            )
    if not others:
        return first
    ends = tuple(itertools.accumulate(len(source.entries) for source in sources))
    return Source(
        name=", ".join(dict.fromkeys(source.name for source in sources)),
        entries=Entries.joined([source.entries for source in sources]),
        numbers=np.arange(ends[-1]),
        ended=np.concatenate([source.ended for source in sources]),
        reader=_Readers(tuple(source.reader for source in sources), ends),
        spec=union(source.spec for source in sources),
        fields=first.fields,
        metadata=union_of_all(source.metadata for source in sources),
    )


@dataclass(frozen=True)
class _Readers:
    """Opens episodes of one source after the other."""

    readers: tuple[Callable[[int], EpisodeReader], ...]
    ends: tuple[int, ...]

    def __call__(self, index: int) -> EpisodeReader:
        at = int(np.searchsorted(self.ends, index, "right"))
        return self.readers[at](index - (self.ends[at - 1] if at else 0))


class JoinedEpisodes(Sequence[Episode]):
    """The episodes of several sequences, one sequence after the other."""

    def __init__(self, parts: Sequence[Sequence[Episode]]) -> None:
        self._parts, self._ends = parts, list(itertools.accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...

    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        """An episode, or a list of them."""
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        number = range(len(self))[index]
        at = int(np.searchsorted(self._ends, number, "right"))
        return self._parts[at][number - (self._ends[at - 1] if at else 0)]

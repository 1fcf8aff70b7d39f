"""Whole episodes, or stretches of them, as nests of arrays with known dtypes and shapes."""

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.rlds_types import EPISODE_ID, STEPS
from rlds_kit.base.step import ACTION, DISCOUNT, FLAGS, IS_FIRST, IS_LAST, IS_TERMINAL, REWARD, STEP_INDEX
from rlds_kit.episode.episode import Episode
from rlds_kit.loader.field_cache import FieldCache
from rlds_kit.loader.layout import Leaf, layout, nested, read_leaf, require_cast
from rlds_kit.loader.memory import aligned
from rlds_kit.loader.metadata import Metadata
from rlds_kit.loader.place import require_known_end
from rlds_kit.loader.plan import Weights
from rlds_kit.loader.pool import Pool, cast, require_leaf
from rlds_kit.loader.read_ahead import Batch
from rlds_kit.loader.segments import Segments
from rlds_kit.loader.source import Source
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.episode_reader import fields
from rlds_kit.storage.restore import Stack

END: Final = "end"
"""How an episode ended: the value of its `EpisodeEnd`; empty while it is being recorded."""
VALID: Final = "valid"
"""Key of the masks: which values of a field are defined."""
STRETCH_BYTES: Final = 24 << 20
"""Approximate bytes of decoded steps in a stretch; if blocks are small, at most 1.5 times as many."""

Stretch: TypeAlias = dict[Leaf, tuple[np.ndarray, np.ndarray]]
"""The values of consecutive steps of every leaf, `[rows, ...]`, and `[rows]` bool, True where there is one."""


class WholeEpisodes:
    """The episodes of a snapshot of a dataset. Thread-safe, and cheap to pickle.

    Args:
      episodes: of the snapshot.
      source: of their steps.
      metadata: keys of metadata to include; read immediately from every episode, unless indexes describe them.
      dtypes: to convert fields to, by name.

    Raises:
      SpecError: an episode lacks the metadata, or they have no common dtype and shape.
      ValueError: a metadata key is a reserved name.

    Attributes:
      source: of their steps.
      layouts: the arrays of every field that is read.
    """

    def __init__(
        self,
        episodes: Sequence[Episode],
        source: Source,
        metadata: Sequence[str] = (),
        dtypes: Mapping[str, DTypeLike] | None = None,
    ) -> None:
        if taken := {*metadata} & {STEPS, VALID, EPISODE_ID, END}:
            raise ValueError(f"metadata {sorted(taken)} have names that an episode uses itself; leave them out")
        self.source, self._episodes = source, episodes
        chosen = {name: np.dtype(dtype) for name, dtype in (dtypes or {}).items()}
        self.layouts = {name: layout(source.spec, name, chosen) for name in source.fields if name not in FLAGS}
        require_cast(self.layouts, chosen)
        self._metadata = Metadata(episodes, metadata, source.metadata)
        self._segments = _whole(source)

    def __len__(self) -> int:
        return len(self._episodes)

    def __repr__(self) -> str:
        return f"<{len(self)} episodes of {self.source.name}>"

    def named_apart(self) -> Self:
        """Raises an error for fields with reserved names.

        Raises:
          ValueError: there is one.
        """
        for name in {*self.source.fields} & {VALID, *self.fact_columns}:
            raise ValueError(
                f"{self.source.name} has a field {name!r}, which is what an episode calls something else; leave the "
                "field out with `select`"
            )
        return self

    def __getitem__(self, number: int) -> dict[str, Any]:
        """An episode: its fields as arrays `[steps, ...]`, `valid`, `episode_id`, `end`, and the chosen metadata."""
        rows = range(self._episodes[number].length)
        arrays = self.stretch(number, rows)
        fields = {name: nested(found, lambda leaf: arrays[leaf][0]) for name, found in self.layouts.items()}
        valid = {name: nested(found, lambda leaf: arrays[leaf][1]) for name, found in self.layouts.items()}
        flags = {name: flag for name, flag in self.flags(number, rows).items() if name in self.source.fields}
        return {**fields, **flags, VALID: valid, **self.facts(number)}

    def stretch(self, number: int, rows: range) -> Stretch:
        """Consecutive steps of an episode, with zeros where there is no value.

        Raises:
          DamagedError: one of them is damaged.
          SpecError: a value is of another dtype or shape than its field.
        """
        leaves = [leaf for found in self.layouts.values() for leaf in found]
        wanted = fields(leaf.path for leaf in leaves)
        stacks = self.source.reader(number).stacks(rows.start, rows.stop, wanted, allocate=aligned)
        return self._with_discounts({leaf: self._values(leaf, stacks, number, rows) for leaf in leaves})

    def _values(
        self, leaf: Leaf, stacks: Mapping[str, Stack], number: int, rows: range
    ) -> tuple[np.ndarray, np.ndarray]:
        found = read_leaf(leaf, stacks, rows.start, rows.stop)
        if found is None:
            empty = np.zeros if leaf.spec is not None else np.empty  # of None
            return empty((len(rows), *leaf.shape), leaf.dtype), np.zeros(len(rows), np.bool_)
        values, defined = found
        require_leaf(self.source.name, leaf, values, number, rows)
        return cast(leaf, values), defined

    def _with_discounts(self, stretch: Stretch) -> Stretch:
        """A missing discount of an action is 1: zero would mean that the next step is terminal."""
        acted = [stretch[leaf][1] for name in (ACTION, REWARD) for leaf in self.layouts.get(name, ())]
        for leaf in self.layouts.get(DISCOUNT, ()):
            values, defined = stretch[leaf]
            if np.count_nonzero(defined) < len(defined):
                values[~defined & functools.reduce(operator.or_, acted, np.zeros_like(defined))] = 1
        return stretch

    def flags(self, number: int, rows: range) -> dict[str, np.ndarray]:
        """`is_first`, `is_last` and `is_terminal` of consecutive steps of an episode, each `[rows]` bool.

        Raises:
          DamagedError: it is not known whether a step is the last: data after it are damaged.
        """
        found = {name: np.zeros(len(rows), np.bool_) for name in FLAGS}
        if 0 in rows:
            found[IS_FIRST][0] = True
        if (last := int(self.source.lengths[number]) - 1) in rows:
            segments, at = self._segments, last - rows.start
            if segments.is_cut[number]:
                require_known_end(segments[np.array([number])], np.ones(1, np.bool_))
            found[IS_LAST][at] = segments.is_ended[number]
            found[IS_TERMINAL][at] = segments.is_ended[number] and segments.is_terminated[number]
        return found

    def facts(self, number: int) -> dict[str, Any]:
        """`episode_id`, `end` and the selected metadata of an episode.

        Raises:
          DamagedError: the end may have been in bytes that are damaged.
        """
        episode = self._episodes[number]
        end = "" if episode.end is None else episode.end.value
        return {EPISODE_ID: str(episode.id), END: end, **self._metadata.of(number)}

    @property
    def fact_columns(self) -> dict[str, np.ndarray]:
        """An empty array `[0, ...]` for each of the `facts`, with its dtype and shape."""
        text = np.empty(0, object)
        return {EPISODE_ID: text, END: text, **{name: each[:0] for name, each in self._metadata.examples.items()}}

    @functools.cached_property
    def row_bytes(self) -> int:
        """The bytes of the values of a step."""
        return sum(leaf.row_bytes for found in self.layouts.values() for leaf in found) or 1

    @property
    def are_small(self) -> bool:
        """Whether each episode is a single stretch, as far as shapes are known."""
        return self._stretches(int(self.source.lengths.max(initial=0))) == 1

    def bounds(self, number: int) -> np.ndarray:
        """`[n + 1]` int64: the bounds of an episode's stretches, chosen so that no block is decoded twice."""
        count = self._stretches(int(self.source.lengths[number]))
        if count == 1:
            return np.array([0, self.source.lengths[number]])
        entry = self.source.entries[number]
        return equal_stretches(entry.first_row, entry.rows, count)

    def _stretches(self, rows: int) -> int:
        """The number of stretches of an episode."""
        return max(1, round(rows * self.row_bytes / STRETCH_BYTES))


def equal_stretches(begins: np.ndarray, rows: int, count: int) -> np.ndarray:
    """Divides rows at the beginnings of blocks into stretches of nearly equal length.

    Args:
      begins: `[blocks]` int64, the first row of each block, ascending; the first ones may be missing.
      rows: number of rows.
      count: of stretches; there may be fewer.

    Returns:
      `[n + 1]` int64, from 0 to `rows`, ascending.

    >>> equal_stretches(np.arange(0, 100, 8), 100, 3).tolist()
    [0, 32, 64, 100]
    """
    begins = np.append(0, begins)
    nearest = np.searchsorted((begins[1:] + begins[:-1]) / 2, np.arange(count) * rows / count)
    bounds: np.ndarray = np.unique(np.append(begins[nearest], rows)).astype(np.int64)
    return bounds


def with_step_index(source: Source) -> Source:
    """Adds the field `step_index` to the fields of a source, if the dataset has it."""
    if STEP_INDEX not in source.spec.fields or STEP_INDEX in source.fields:
        return source
    return replace(source, fields=(*source.fields, STEP_INDEX))


def _whole(source: Source) -> Segments:
    """Every episode as one segment, even if it has gaps."""
    count = len(source.entries)
    return Segments(
        episode=np.arange(count),
        begin=np.zeros(count, np.int64),
        end=source.lengths,
        base=source.bases,
        rows=source.lengths,
        is_ended=source.ended,
        is_terminated=source.entries.column("ending") == pb.TERMINATED,
        is_cut=source.entries.column("is_cut", np.bool_),
    )


@dataclass(frozen=True)
class EpisodeNumbers:
    """The numbers of the episodes of a source, as samples that can be put in an order."""

    source: Source

    @property
    def name(self) -> str:
        """The name of the dataset, for messages."""
        return self.source.name

    @property
    def weights(self) -> Weights:
        """The number of episodes; their sizes do not matter."""
        return Weights(len(self.source.entries), row_bytes=1, rows_per_sample=1, rows_between=1)

    @property
    def identity(self) -> dict[str, Any]:
        """What kind of samples these are, as a dict for JSON."""
        return {"samples": "episodes"}

    @property
    def digest(self) -> str:
        """Identifies the episodes."""
        return self.source.digest

    @property
    def names(self) -> str:
        """The episodes in a short form, which `named` understands."""
        return self.source.names

    def named(self, names: str) -> Self:
        """Returns only these episodes, as far as they exist."""
        return type(self)(self.source.named(names))

    def cache(self, limit: int) -> FieldCache:
        """Returns an empty cache, because numbers are not read."""
        return FieldCache(self.source, {}, limit)

    def pool(self, items: np.ndarray, memory: ArrayPool | None = None, cache: FieldCache | None = None) -> Pool:
        """Returns an empty pool, because numbers are not read."""
        del items, memory, cache
        return Pool(self.source, {}, {})

    def random_access(self, memory: int) -> None:
        """Numbers are not read."""
        del memory

    def batch(self, pool: Pool, items: np.ndarray) -> Batch:
        """The numbers."""
        del pool
        return {"episode": items}

"""A pool of decoded steps of many episodes, from which batches are gathered."""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.loader.field_cache import FieldCache, taken
from rlds_kit.loader.layout import Leaf, nested, read_leaf
from rlds_kit.loader.positions import Positions, ascending
from rlds_kit.loader.scratch import scratch
from rlds_kit.loader.source import Source
from rlds_kit.storage.ahead import fetch_ahead
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import fields
from rlds_kit.storage.restore import Stack

Layouts: TypeAlias = Mapping[str, tuple[Leaf, ...]]
"""The leaves of every field that is read."""
Nest: TypeAlias = Any
"""An array, or a nest of arrays."""

RUN_BYTES = 4 << 20
"""Approximate bytes that one thread decodes at a time."""
_ROUND: Final = 512
"""Steps: the arrays of a pool have a multiple of this length."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive steps of one episode that are decoded together.

    Attributes:
      episode: its index in the source.
      begin: first step that there is memory for.
      end: one past the last of these.
      last: the last step that is wanted.
    """

    episode: int
    begin: int
    end: int
    last: int


class Pool:
    """Arrays for the values of selected steps, which `load` fills run by run, from any thread.

    Args:
      source: of the steps.
      layouts: the fields.
      steps: for every field the numbers, among all steps of the source, of those to read; in any order and shape.
      memory: of pools that are not needed any more.
      cache: of small fields, which need no memory here.
    """

    def __init__(
        self,
        source: Source,
        layouts: Layouts,
        steps: Mapping[str, np.ndarray],
        memory: ArrayPool | None = None,
        cache: FieldCache | None = None,
    ) -> None:
        self._source, self._layouts = source, layouts
        self._memory, self._bulks = memory, list[np.ndarray]()
        self._cache = FieldCache(source, {}, 0) if cache is None else cache
        self._keys = {name: id(steps[name]) for name in layouts}  # fields often share an array: it is sorted once
        given = {id(steps[name]): steps[name] for name in layouts}
        self._sorted = {key: ascending(numbers) for key, numbers in given.items()}
        self._positions = {key: Positions(numbers) for key, numbers in self._sorted.items()}
        self._values: dict[Leaf, np.ndarray] = {}
        self._defined: dict[Leaf, np.ndarray] = {}
        for name, leaves in layouts.items():
            for leaf in leaves:
                if leaf not in self._cache.leaves:
                    count = len(self._sorted[self._keys[name]])
                    self._values[leaf] = self._array(leaf, count)
                    self._defined[leaf] = np.zeros(count, np.bool_)
        self._wanted = fields(leaf.path for leaf in self._values)
        self._wanted_with_cached = fields(leaf.path for leaf in (*self._values, *self._cache.leaves))
        self._dense = {leaf.path: leaf for leaf in self._values if leaf.spec is not None}
        self._dense_keys = {leaf.path: self._keys[name] for name, leaves in layouts.items() for leaf in leaves}

    def _array(self, leaf: Leaf, count: int) -> np.ndarray:
        if leaf.spec is None:
            return np.empty(count, object)  # filled with None
        if self._memory is None:
            return np.empty((count, *leaf.shape), leaf.dtype)
        # Rounded sizes, so that the arrays of one pool can be reused by the next.
        bulk = self._memory.take((-(-count // _ROUND) * _ROUND, *leaf.shape), leaf.dtype)
        self._bulks.append(bulk)
        return bulk[:count]

    def give_back(self, memory: ArrayPool) -> None:
        """Returns its memory for other pools; `take` must not be called after that."""
        self._values.clear()
        for bulk in self._bulks:
            memory.give(bulk)

    def runs(self) -> list[Run]:
        """The runs that must be loaded before `take` is called."""
        steps = ascending(np.concatenate([np.empty(0, np.int64), *map(self._unread, self._layouts)]))
        source, found = self._source, []
        row_bytes = sum(leaf.row_bytes for leaf in self._values) or 1
        limit = max(1, RUN_BYTES // row_bytes)
        episodes = np.searchsorted(source.bases, steps, "right") - 1
        bounds = np.flatnonzero(np.diff(episodes, prepend=-1, append=-1))
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            episode = int(episodes[first])
            rows = steps[first:last] - source.bases[episode]
            found += [Run(episode, *run) for run in _runs(rows, source.entries[episode], limit)]
        return found

    def fetch(self, runs: Sequence[Run]) -> None:
        """Prefetches the data of runs of remote files, many concurrently; `load` fetches the rest.

        Raises:
          RemoteError: they cannot be fetched.
        """
        reader = self._source.reader
        if runs and reader(runs[0].episode).remote is not None:
            fetch_ahead([(reader(run.episode), run.begin, run.last + 1) for run in runs], self._wanted_with_cached)

    def _unread(self, name: str) -> np.ndarray:
        """The steps at which a field must be read, except those at which all of it is cached."""
        steps = self._sorted[self._keys[name]]
        return self._cache.unknown(steps) if self._cache.leaves.issuperset(self._layouts[name]) else steps

    def load(self, run: Run) -> None:
        """Decodes a run into the arrays of the pool. Threads may load different runs concurrently.

        Raises:
          DamagedError: data of the run are damaged.
          SpecError: a value has another dtype or shape than its field.
        """
        base = int(self._source.bases[run.episode])
        where = (base + run.begin, base + run.end)
        bounds = {key: np.searchsorted(steps, where).tolist() for key, steps in self._sorted.items()}
        is_cached = self._cache.is_known(base + run.begin, base + run.last + 1)
        stacks = self._source.reader(run.episode).stacks(
            run.begin,
            run.end,
            self._wanted if is_cached else self._wanted_with_cached,
            last=run.last,
            allocate=functools.partial(self._allocate, bounds),
        )
        if not is_cached:
            self._add_to_cache(run, stacks)
        for name, leaves in self._layouts.items():
            first, last = bounds[self._keys[name]]
            if first == last:
                continue
            rows: slice | np.ndarray = slice(None)
            if last - first < run.end - run.begin:
                rows = self._sorted[self._keys[name]][first:last] - (base + run.begin)
            for leaf in leaves:
                if leaf not in self._values:
                    continue
                found = read_leaf(leaf, stacks, run.begin, run.end)
                if found is not None:
                    values, defined = found
                    require_leaf(self._source.name, leaf, values, run.episode, range(run.begin, run.last + 1))
                    self._put(leaf, slice(first, last), cast(leaf, values[rows]))
                    self._defined[leaf][first:last] = defined[rows]
                elif leaf.spec is not None:
                    self._values[leaf][first:last] = np.zeros((), leaf.dtype)

    def _add_to_cache(self, run: Run, stacks: Mapping[str, Stack]) -> None:
        begin = int(self._source.bases[run.episode]) + run.begin
        count = run.last + 1 - run.begin  # later rows may be missing in the stacks
        for leaf in self._cache.leaves:
            found = read_leaf(leaf, stacks, run.begin, run.end)
            if found is not None:
                values, defined = found
                require_leaf(self._source.name, leaf, values, run.episode, range(run.begin, run.last + 1))
                self._cache.put(leaf, begin, cast(leaf, values[:count]), defined[:count])
        self._cache.finish(begin, begin + count)

    def _allocate(
        self, bounds: Mapping[int, Sequence[int]], path: str, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> np.ndarray:
        """The memory for a run's values of a leaf: the pool's array if all rows are requested, else scratch memory."""
        leaf = self._dense.get(path)
        if leaf is None or leaf.dtype != dtype or leaf.shape != shape[1:]:
            return np.empty(shape, dtype)  # cached values are copied from here: another thread may be reading the cache
        first, last = bounds[self._dense_keys[path]]
        if last - first == shape[0]:
            return self._values[leaf][first:last]
        return scratch.array(path, shape, dtype)

    def _put(self, leaf: Leaf, where: slice, values: np.ndarray) -> None:
        there = self._values[leaf][where]
        if values.ctypes.data != there.ctypes.data:  # else they were decoded directly into the array
            there[...] = values

    def arrays(self) -> dict[Leaf, tuple[np.ndarray, np.ndarray]]:
        """The values of every leaf at its steps, in ascending order and not copied, and which of them are defined."""
        return {leaf: (values, self._defined[leaf]) for leaf, values in self._values.items()}

    def take(self, name: str, steps: np.ndarray) -> tuple[Nest, Nest]:
        """Values of a field at steps of any shape `[...]`.

        Returns:
          A nest of `[..., *shape]`, copied; and a nest of `[...]` bool, which of them are defined.
        """
        slots = self._positions[self._keys[name]].of(steps)
        found = {leaf: self._gather(leaf, steps, slots) for leaf in self._layouts[name]}
        layout = self._layouts[name]
        return nested(layout, lambda leaf: found[leaf][0]), nested(layout, lambda leaf: found[leaf][1])

    def _gather(self, leaf: Leaf, steps: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if leaf in self._cache.leaves:
            return self._cache.take(leaf, steps)
        values, defined = self._values[leaf], self._defined[leaf][slots]
        return (_copied(values, slots) if values.dtype == object else taken(values, slots)), defined


def _copied(values: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """A copy of the object for every slot: samples overlap, and the caller may change them."""
    out = np.empty(slots.size, object)
    for at, slot in enumerate(slots.reshape(-1).tolist()):
        out[at] = copy.deepcopy(values[slot])
    return out.reshape(slots.shape)


def require_leaf(name: str, leaf: Leaf, values: np.ndarray, episode: int, rows: range) -> None:
    """Raises an error for values that do not match the leaf.

    Args:
      name: of the dataset, for messages.
      leaf: with the expected dtype and shape.
      values: as read, `[rows, ...]`.
      episode: of the values.
      rows: of the values.

    Raises:
      SpecError: they have another dtype or shape.
    """
    shape, dtype = values.shape[1:], values.dtype
    if shape == leaf.shape and (dtype == leaf.dtype or (leaf.is_cast and dtype.kind != "O")):
        return
    cure = "leave the field out with `select`"
    if shape == leaf.shape and dtype.kind != "O":
        cure = f"name the dtype that it should have, for instance dtypes={{{leaf.path!r}: '{dtype}'}}, or {cure}"
    raise SpecError(
        f"{name}: expected {leaf.path} of dtype {leaf.dtype} and shape {leaf.shape}, but episode "
        f"{episode} has dtype {dtype} and shape {shape} between its steps {rows[0]} and {rows[-1]}; {cure}"
    )


def cast(leaf: Leaf, values: np.ndarray) -> np.ndarray:
    """Converts values to the dtype of their leaf with `converted`, if the caller chose one."""
    return converted(leaf.path, values, leaf.dtype) if leaf.is_cast else values


def converted(path: str, values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Converts values to a dtype: they may be rounded to fewer digits, but never become other numbers.

    Args:
      path: of the field, for messages.
      values: as recorded.
      dtype: to convert to.

    Raises:
      SpecError: a value is outside the range of the dtype.

    >>> converted("reward", np.array([0.1]), np.dtype(np.float32))
    array([0.1], dtype=float32)
    """
    if values.dtype == dtype:
        return values
    is_cut = values.dtype.kind == "c" and dtype.kind != "c"
    numbers = values.real if is_cut else values
    with np.errstate(all="ignore"):
        cast = numbers.astype(dtype)
        is_preserved = _is_preserved(numbers, cast) and not (is_cut and values.imag.any())
    if not is_preserved:
        raise SpecError(f"{path} has values that {dtype} cannot hold; choose another dtype, or none")
    return cast


def _is_preserved(values: np.ndarray, cast: np.ndarray) -> bool:
    if np.can_cast(values.dtype, cast.dtype, "safe"):
        return True
    if cast.dtype.kind in "fc" or cast.dtype.name == "bfloat16":
        return np.array_equal(np.isfinite(values), np.isfinite(cast))
    # The round trip alone is not sufficient: -1 becomes 255 and -1 again.
    is_same_sign = cast.dtype.kind not in "iu" or np.array_equal(values < 0, cast < 0)
    return is_same_sign and np.array_equal(cast.astype(values.dtype), values)


def _runs(rows: np.ndarray, entry: EpisodeEntry, limit: int) -> list[tuple[int, int, int]]:
    """Divides sorted rows of an episode where unneeded blocks lie in between, and where a run gets too long."""
    blocks = np.searchsorted(entry.end_row[:-1], rows, "right")
    parts = entry.first_row[blocks] // limit  # cuts are between blocks, so that none is decoded twice
    cuts = np.flatnonzero((np.diff(blocks) > 1) | (np.diff(parts) > 0)) + 1
    found = []
    for first, last in zip([0, *cuts.tolist()], [*(cuts - 1).tolist(), len(rows) - 1], strict=True):
        begin, end = int(rows[first]), int(rows[last]) + 1
        if end - begin > last - first + 1:  # there are steps between: memory for whole blocks spares a copy of each
            begin, end = int(entry.first_row[blocks[first]]), int(entry.end_row[blocks[last]])
        found.append((begin, end, int(rows[last])))
    return found


Read: TypeAlias = Callable[[str, np.ndarray], tuple[Nest, Nest]]
"""Returns the values of a field at steps, and which of them are defined: `Pool.take`."""

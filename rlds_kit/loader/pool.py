"""Chosen steps of many episodes, decoded: what batches are gathered from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rlds_kit.errors import SpecError
from rlds_kit.loader.layout import Leaf, nested, read_leaf
from rlds_kit.loader.source import Source
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import fields

Layouts: TypeAlias = Mapping[str, tuple[Leaf, ...]]
"""The leaves of every field that is read."""
Nest: TypeAlias = Any
"""An array, or a nest of arrays."""

RUN_BYTES = 4 << 20
"""About what is decoded at once by one thread."""


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring steps of one episode that are decoded together.

    Attributes:
      episode: its index in the source.
      begin: first step.
      end: one past the last.
    """

    episode: int
    begin: int
    end: int


class Pool:
    """Room for the values of chosen steps, which `load` fills run by run, from any thread.

    Args:
      source: where the steps are.
      layouts: the fields.
      steps: for every field the numbers, among all steps of the source, of those to read; in any order and shape.
    """

    def __init__(self, source: Source, layouts: Layouts, steps: Mapping[str, np.ndarray]) -> None:
        self._source, self._layouts = source, layouts
        self._steps = {name: np.unique(steps[name]) for name in layouts}
        self._values: dict[Leaf, np.ndarray] = {}
        self._defined: dict[Leaf, np.ndarray] = {}
        for name, leaves in layouts.items():
            for leaf in leaves:
                count = len(self._steps[name])
                self._values[leaf] = np.zeros((count, *leaf.shape), leaf.dtype)
                self._defined[leaf] = np.zeros(count, np.bool_)
        self._wanted = fields(leaf.path for leaf in self._values)

    def runs(self) -> list[Run]:
        """What must be loaded before anything is taken."""
        steps = np.unique(np.concatenate([np.empty(0, np.int64), *self._steps.values()]))
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

    def load(self, run: Run) -> None:
        """Decodes a run into its place.

        Raises:
          DamagedError: something in it is damaged.
          SpecError: a value is of another dtype or shape than its field.
        """
        stacks = self._source.reader(run.episode).stacks(run.begin, run.end, self._wanted)
        base = int(self._source.bases[run.episode])
        for name, leaves in self._layouts.items():
            steps = self._steps[name]
            first, last = np.searchsorted(steps, (base + run.begin, base + run.end)).tolist()
            if first == last:
                continue
            rows: slice | np.ndarray = steps[first:last] - (base + run.begin)
            if last - first == run.end - run.begin:
                rows = slice(None)
            for leaf in leaves:
                found = read_leaf(leaf, stacks, run.begin, run.end)
                if found is not None:
                    values, defined = found
                    if not leaf.is_cast:
                        self._check(leaf, values, run)
                    self._values[leaf][first:last] = values[rows]
                    self._defined[leaf][first:last] = defined[rows]

    def _check(self, leaf: Leaf, values: np.ndarray, run: Run) -> None:
        if values.dtype != leaf.dtype or values.shape[1:] != leaf.shape:
            raise SpecError(
                f"{self._source.name}: expected {leaf.path} of dtype {leaf.dtype} and shape {leaf.shape}, but "
                f"episode {run.episode} has dtype {values.dtype} and shape {values.shape[1:]} between its steps "
                f"{run.begin} and {run.end}. Name the dtype that all of it should have, for instance "
                f"dtypes={{{leaf.path!r}: '{values.dtype}'}}, or leave the field out with `select`"
            )

    def take(self, name: str, steps: np.ndarray) -> tuple[Nest, Nest]:
        """Values of a field at steps of any shape `[...]`.

        Returns:
          A nest of `[..., *shape]`, copied; and a nest of `[...]` bool, which of them are defined.
        """
        slots = np.searchsorted(self._steps[name], steps)
        layout = self._layouts[name]
        return nested(layout, lambda leaf: self._gather(self._values[leaf], slots)), nested(
            layout, lambda leaf: self._defined[leaf][slots]
        )

    def _gather(self, values: np.ndarray, slots: np.ndarray) -> np.ndarray:
        # Every slot exists: "clip" only spares NumPy the check, which would cost a second copy.
        out = np.empty((*slots.shape, *values.shape[1:]), values.dtype)
        return np.take(values, slots, axis=0, out=out, mode="clip")


def _runs(rows: np.ndarray, entry: EpisodeEntry, limit: int) -> list[tuple[int, int]]:
    """Cuts sorted rows of an episode where blocks lie between that nobody wants, and where a run gets too long."""
    blocks = np.searchsorted(entry.end_row[:-1], rows, "right")
    parts = entry.first_row[blocks] // limit  # between blocks, so that none is decoded twice
    cuts = np.flatnonzero((np.diff(blocks) > 1) | (np.diff(parts) > 0)) + 1
    firsts, lasts = np.concatenate([[0], cuts]), np.concatenate([cuts, [len(rows)]]) - 1
    return list(zip(rows[firsts].tolist(), (rows[lasts] + 1).tolist(), strict=True))


Read: TypeAlias = Callable[[str, np.ndarray], tuple[Nest, Nest]]
"""Gives the values of a field at steps, and which of them are defined: `Pool.take`."""

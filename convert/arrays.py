"""Reads D4RL's layout, https://github.com/Farama-Foundation/D4RL: all steps of all episodes in one array per field.

An HDF5 or NPZ file contains `observations`, `actions`, `terminals`, and optionally `rewards`, `timeouts`,
`next_observations`, `infos/...`, `metadata/...`. Row k is a transition. An episode ends after a row with `terminals` or
`timeouts`, and, if there are `next_observations`, after a row whose next observation differs from the observation of
the next row.
Its final observation is the next observation of its own last row; without `next_observations` it is missing. OGBench's
`rlds_kit.episode.array_ends` distinguishes its files from D4RL's.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.convert import hdf5, npz
from rlds_kit.convert.flat_stretches import Layout, episodes_in
from rlds_kit.convert.protocol import ForeignEpisode, Format, Loss
from rlds_kit.convert.rows import Rows
from rlds_kit.episode.array_ends import (
    NEXT,
    OBSERVATIONS,
    REWARDS,
    TERMINALS,
    TIMEOUTS,
    Ends,
    bytes_of_row,
    ends_of,
    flagged_ends,
)
from rlds_kit.episode.flat_arrays import (
    ACTIONS,
    NAMES,
    REQUIRED,
    FlatEpisode,
    Tree,
    chosen,
    steps_in,
    unequal_lengths,
)

_HDF5: Final = (".hdf5", ".h5", ".hdf")
_NPZ: Final = ".npz"
_PIECES: Final = 4096
"""Pieces of about equal rows, into which the rows of a file are divided for several processes."""
_SLOW_TO_DECOMPRESS: Final = 8
"""How many times larger arrays may be decompressed; others, such as frames of games, are decompressed faster than
written."""


class ArraysReader:
    """Reads one file. A `PartReader`, whose pieces are rows: which episodes begin in them is known when they are read.

    Attributes:
      unit: name of the pieces in messages.
    """

    unit: Final = "pieces of rows"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = path.stat().st_size
        self.about: Mapping[str, str] = {}
        self.environment: Mapping[str, Any] = {}
        self.lossy: Mapping[str, str] = {}
        self.losses: list[Loss] = []
        self._archive: Tree | None = None
        self._shared: Path | None = None
        self._episodes: int | None = None
        with self._opened() as tree:
            rows = _count(path, tree)
            steps = {name: each for name, each in steps_in(tree, rows).items() if each}
            row_bytes = sum(bytes_of_row(chosen(tree[name], each)) for name, each in steps.items())
            self._layout = Layout(rows, row_bytes, steps, *_flagged(path, tree, rows))
            declared = (name for name in (OBSERVATIONS, ACTIONS, REWARDS) if name in tree)
            self.spec = specs.Dict({NAMES[name]: _spec(tree[name]) for name in declared})
            self.metadata: Mapping[str, Any] = _metadata(tree, steps)
        self._bounds = [*range(0, rows, -(-rows // _PIECES) or 1), rows]
        self.decoded = rows * row_bytes

    def __len__(self) -> int:
        if self._episodes is None:
            with self._opened() as tree:
                self._episodes = len(ends_of(self._path, tree, self._layout.rows).after)
        return self._episodes

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """Reads the episodes in order."""
        return self.read(0, len(self._bounds) - 1)

    def weigh(self, _progress: Callable[[int], None]) -> Sequence[int]:
        """Estimates the bytes of each piece from its number of rows."""
        rows = self._layout.rows
        return [(end - begin) * self.size // rows for begin, end in pairwise(self._bounds)]

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads the episodes that begin in some of the pieces."""
        with self._opened() as tree:
            for found in episodes_in(tree, self._layout, self._bounds[begin], self._bounds[end]):
                yield _foreign(found)

    def share(self, directory: Path) -> bool:
        """Writes the arrays of an NPZ file to a directory, where other processes read the parts that they need."""
        if self._archive is None:
            return True
        if self.decoded <= _SLOW_TO_DECOMPRESS * self.size:
            npz.extract_npz(self._path, directory)
            self._archive, self._shared = None, directory
        return self._shared is not None

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Tree]:
        """The arrays; those of an NPZ file are decompressed once, or once in each process if they are not shared."""
        if self._path.suffix.lower() in _HDF5:
            with hdf5.opened(self._path) as file:
                yield _tree(file, str(self._path))
            return
        if self._archive is None:
            self._archive = npz.open_npz(self._path) if self._shared is None else npz.map_extracted(self._shared)
        yield self._archive

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_archive": None}


def _flagged(path: Path, tree: Tree, rows: int) -> tuple[Ends, np.ndarray]:
    """The ends of episodes by their flags, and `[rows]` bool: after which rows they are."""
    ends, cuts = flagged_ends(path, tree, rows), np.zeros(rows, np.bool_)
    cuts[np.array(ends.after, np.int64) - 1] = True
    return ends.flags_of(0, rows), cuts


def _foreign(found: FlatEpisode) -> ForeignEpisode:
    return ForeignEpisode(
        Rows.of(found.observed),
        Rows.of(found.acted),
        found.end,
        terminated=found.terminated,
        truncated=found.truncated,
    )


def _tree(group: Any, place: str) -> Tree:
    found = hdf5.children(group, place)
    return {name: _tree(each, f"{place}/{name}") if hasattr(each, "keys") else each for name, each in found.items()}


def _count(path: Path, tree: Tree) -> int:
    """The number of rows."""
    missing = [name for name in REQUIRED if name not in tree]
    if missing:
        raise FormatError(
            f"{path}: expected the arrays {', '.join(REQUIRED)}, but {', '.join(missing)} is missing; there are "
            f"{', '.join(tree) or 'none'}"
        )
    rows = len(tree[TERMINALS]) if np.ndim(tree[TERMINALS]) else 0
    if counts := unequal_lengths(tree, rows):
        raise FormatError(f"{path}: expected as many rows in every array, got {counts}")
    return rows


def _metadata(tree: Tree, steps: Mapping[str, Any]) -> Tree:
    """Data that belong to no step: numbers, text, the weights of a policy."""

    def rest(node: Any, stepped: Any) -> Any:
        if isinstance(node, dict):
            stepped = stepped if isinstance(stepped, dict) else {}
            inner = {name: rest(each, stepped.get(name)) for name, each in node.items()}
            return {name: each for name, each in inner.items() if each is not None}
        return None if stepped else _plain(node)

    found = {
        name: rest(node, steps.get(name)) for name, node in tree.items() if name not in (NEXT, TERMINALS, TIMEOUTS)
    }
    return {
        name: each for name, each in found.items() if each is not None and not (isinstance(each, dict) and not each)
    }


def _plain(node: Any) -> Any:
    """An array unchanged; text of h5py as str, or as bytes if it is not UTF-8."""
    value = node[()]
    if isinstance(value, np.ndarray) and value.dtype == np.object_:
        return [_text(each) for each in value.ravel().tolist()]
    return _text(value)


def _text(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _spec(node: Any) -> specs.Spec:
    if isinstance(node, dict):
        return specs.Dict({name: _spec(each) for name, each in node.items()})
    return specs.Array(node.shape[1:], node.dtype)


def _recognises(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in (*_HDF5, _NPZ)


FORMAT: Final = Format(
    name="arrays",
    summary="an HDF5 or NPZ file as of D4RL or OGBench, with observations, actions and terminals",
    recognises=_recognises,
    open=ArraysReader,
)

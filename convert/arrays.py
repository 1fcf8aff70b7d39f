"""Reads D4RL's layout, https://github.com/Farama-Foundation/D4RL: all steps of all episodes in one array per field.

An HDF5 or NPZ file contains `observations`, `actions`, `terminals`, and optionally `rewards`, `timeouts`,
`next_observations`, `infos/...`, `metadata/...`. Row k is a transition. An episode ends after a row with `terminals` or
`timeouts`, and, if there are `next_observations`, after a row whose next observation differs from the observation of
the next row.
Its final observation is the next observation of its own last row; without `next_observations` it is missing. OGBench's
`rlds_kit.episode.array_ends` distinguishes its files from D4RL's.
"""

import bisect
import contextlib
import functools
import itertools
import json
import math
import operator
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.convert import hdf5
from rlds_kit.convert.decoded_size import require_plausible
from rlds_kit.convert.protocol import ForeignEpisode, Format, Loss
from rlds_kit.convert.rows import Rows
from rlds_kit.episode.array_ends import NEXT, OBSERVATIONS, REWARDS, TERMINALS, TIMEOUTS, bytes_of_row, ends_of, mapped
from rlds_kit.episode.flat_arrays import (
    ACTIONS,
    NAMES,
    REQUIRED,
    Tree,
    chosen,
    flat_episode,
    steps_in,
    unequal_lengths,
)

_HDF5: Final = (".hdf5", ".h5", ".hdf")
_NPZ: Final = ".npz"
_STRETCH_BYTES: Final = 16 << 20
"""Bytes that are read at once; a longer episode is read whole."""
_KEPT_BYTES: Final = 256 << 20
"""Observations up to this size are cached: they are read once to find where episodes end, and again as observations."""
_NAMES: Final = "names.json"
_SLOW_TO_DECOMPRESS: Final = 8
"""How many times larger arrays may be decompressed; others, such as frames of games, are decompressed faster than
written."""
_SMALL_FILE: Final = 1 << 16
"""Bytes of arrays that are read rather than mapped: empty ones cannot be mapped."""
_BROKEN: Final = (
    *(ValueError, OSError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, SyntaxError, TypeError),
)
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class ArraysReader:
    """Reads one file. A `PartReader`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = path.stat().st_size
        self.about: Mapping[str, str] = {}
        self.environment: Mapping[str, Any] = {}
        self.lossy: Mapping[str, str] = {}
        self.losses: list[Loss] = []
        self._archive: Tree | None = None
        self._kept: Tree = {}
        self._shared: Path | None = None
        with self._opened() as stored:
            rows = _count(path, stored)
            if NEXT in stored and rows * bytes_of_row(stored[OBSERVATIONS]) <= _KEPT_BYTES:
                self._kept = {OBSERVATIONS: mapped(lambda each: each[()], stored[OBSERVATIONS])}
            tree = {**stored, **self._kept}
            self._steps = {name: each for name, each in steps_in(tree, rows).items() if each}
            self._ends = ends_of(path, tree, rows)
            declared = (name for name in (OBSERVATIONS, ACTIONS, REWARDS) if name in tree)
            self.spec = specs.Dict({NAMES[name]: _spec(tree[name]) for name in declared})
            self.metadata: Mapping[str, Any] = _metadata(tree, self._steps)
            self._row_bytes = sum(bytes_of_row(chosen(tree[name], each)) for name, each in self._steps.items())
            self.decoded = rows * self._row_bytes

    def __len__(self) -> int:
        return len(self._ends.after)

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """Reads the episodes in order."""
        return self.read(0, len(self))

    def weigh(self, _progress: Callable[[int], None]) -> Sequence[int]:
        """Estimates the bytes of each episode from its number of rows."""
        after = self._ends.after
        return [length * self.size // after[-1] for length in np.diff(after, prepend=0).tolist()]

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads some of the episodes."""
        bounds = [0, *self._ends.after]
        row_bytes = self._row_bytes or 1
        with self._opened() as tree:
            while begin < end:
                first = bounds[begin]
                until = bisect.bisect_right(bounds, first + _STRETCH_BYTES // row_bytes, begin + 1, end + 1) - 1
                until = max(until, begin + 1)
                yield from self._stretch(tree, bounds[begin : until + 1])
                begin = until

    def _stretch(self, tree: Tree, bounds: Sequence[int]) -> Iterator[ForeignEpisode]:
        """Episodes whose rows are read at once, because any read of a part of a chunk decompresses the whole chunk."""
        first, last = bounds[0], bounds[-1]
        stretch = {
            name: mapped(lambda each: each[first:last], chosen(tree[name], stepped))
            for name, stepped in self._steps.items()
        }
        finals = [end - 1 for end in bounds[1:]]
        following = mapped(lambda each: each[finals], tree[NEXT]) if NEXT in tree else None
        ends = self._ends.between(first, last)
        for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
            final = None if following is None else mapped(operator.itemgetter(slice(number, number + 1)), following)
            found = flat_episode(stretch, self._steps, ends, begin - first, end - first, final)
            yield ForeignEpisode(
                Rows.of(found.observed),
                Rows.of(found.acted),
                found.end,
                terminated=found.terminated,
                truncated=found.truncated,
            )

    def share(self, directory: Path) -> bool:
        """Writes the arrays of an NPZ file to a directory, where other processes read the parts that they need."""
        if self._archive is None:
            return True
        if self.decoded <= _SLOW_TO_DECOMPRESS * self.size:
            _save(self._archive, directory)
            self._shared = directory
        return self._shared is not None

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Tree]:
        """The arrays; those of an NPZ file are decompressed once, or once in each process if they are not shared."""
        if self._path.suffix.lower() in _HDF5:
            with hdf5.opened(self._path) as file:
                yield {**_tree(file, str(self._path)), **self._kept}
            return
        if self._archive is None:
            self._archive = _archive(self._path) if self._shared is None else _saved(self._shared)
        yield self._archive

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_archive": None, "_kept": {}}


def _archive(path: Path) -> Tree:
    try:
        with zipfile.ZipFile(path) as archive:
            return _archived(archive, path)
    except _BROKEN as error:
        raise FormatError(f"{path}: expected an NPZ file of arrays without pickled objects: {error}") from error


def _archived(archive: zipfile.ZipFile, path: Path) -> Tree:
    """The arrays of an NPZ file; slashes in their names separate groups."""
    members = archive.infolist()
    require_plausible(sum(member.file_size for member in members), path.stat().st_size, str(path))
    tree: dict[str, Any] = {}
    with ThreadPoolExecutor() as pool:  # zlib works without Python's lock
        arrays = list(pool.map(functools.partial(_member, archive), members))
    for member, array in zip(members, arrays, strict=True):
        *groups, own = member.filename.removesuffix(".npy").split("/")
        inner = tree
        for group in groups:
            inner = inner.setdefault(group, {})
            if not isinstance(inner, dict):
                raise FormatError(f"{path}: {member.filename}: expected a group, but {group} is an array")
        inner[own] = array
    return tree


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        return _array(file, member.file_size)


def _array(file: IO[bytes], size: int) -> np.ndarray:
    """An array of NumPy's format, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.

    The header is checked against the available bytes before it is used.
    """
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of NumPy's format")
    shape, is_fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("pickled objects are never loaded")
    if math.prod(shape) * dtype.itemsize != size - file.tell():
        raise ValueError(f"{size - file.tell()} bytes are no array of {dtype} {shape}")
    return np.frombuffer(file.read(), dtype).reshape(shape, order="F" if is_fortran else "C")


def _save(tree: Tree, directory: Path) -> None:
    """Writes arrays as files without compression; numbers are their names, which may be any text."""
    directory.mkdir()
    for number, node in enumerate(tree.values()):
        if isinstance(node, dict):
            _save(node, directory / str(number))
        else:
            np.save(directory / f"{number}.npy", node, allow_pickle=False)
    (directory / _NAMES).write_text(json.dumps(list(tree)), "utf-8")


def _saved(directory: Path) -> Tree:
    """The arrays that `_save` has written, mapped into memory."""
    found: dict[str, Any] = {}
    for number, name in enumerate(json.loads((directory / _NAMES).read_text("utf-8"))):
        path = directory / f"{number}.npy"
        found[name] = _mapped(path) if path.exists() else _saved(directory / str(number))
    return found


def _mapped(path: Path) -> np.ndarray:
    return np.asarray(np.load(path, "r" if path.stat().st_size >= _SMALL_FILE else None, allow_pickle=False))


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

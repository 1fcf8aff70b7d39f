"""Reads whole columns of all episodes into arrays, decoded in parallel and directly into place."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.loader.block_columns import Target, located_in, read_blocks, set_ranges
from rlds_kit.loader.block_map import BlockMap, block_map
from rlds_kit.loader.layout import read_leaf
from rlds_kit.loader.pool import cast, require_leaf
from rlds_kit.loader.source import Source
from rlds_kit.storage import located
from rlds_kit.storage.ahead import fetch_ahead
from rlds_kit.storage.episode_reader import fields
from rlds_kit.storage.shard_file import ShardFile

_THREAD_BYTES: Final = 16 << 20
"""Bytes for which another thread pays off: with fewer, threads mostly wait for each other."""
_TASK_BLOCKS: Final = 128
"""Blocks that a thread reads at a time: enough that the cost of a call does not matter."""
_TASK_BYTES: Final = 8 << 20
"""Approximate bytes that a thread reads at a time."""


def read_columns(source: Source, targets: Sequence[Target], threads: int) -> None:
    """Reads all steps of a source. Undefined values become zeros.

    Args:
      source: of the steps.
      targets: the leaves.
      threads: that decode, at most.

    Raises:
      DamagedError: data are damaged.
      SpecError: a value has another dtype or shape than its field.
    """
    for target in targets:
        target.defined[:] = False
    workers = min(threads, sum(each.values.nbytes for each in targets) // _THREAD_BYTES)
    if workers <= 1:
        _read(source, targets, map)
        return
    with ThreadPoolExecutor(workers, "rlds_kit-arrays") as executor:
        _read(source, targets, executor.map)


MapEach: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, which makes calls when their results are requested, or that of an executor, which makes them in threads."""


def _read(source: Source, targets: Sequence[Target], map_each: MapEach) -> None:
    quick = [each for each in targets if each.wanted.is_findable and not each.leaf.is_cast]
    found = block_map(source) if quick else None
    rest = _read_found(found, quick, map_each) if found is not None else _all(source, quick)
    others = [each for each in targets if each not in quick]
    if others:
        rest = {episode: [*rest.get(episode, ()), *others] for episode in range(len(source.entries))}
    _fetch(source, rest)
    list(map_each(lambda item: _read_episode(source, *item), rest.items()))
    list(map_each(_clear_undefined, targets))


Rest: TypeAlias = Mapping[int, Sequence[Target]]
"""The leaves that `EpisodeReader` must read, by episode."""


def _all(source: Source, targets: Sequence[Target]) -> Rest:
    return dict.fromkeys(range(len(source.entries)), targets) if targets else {}


def _fetch(source: Source, rest: Rest) -> None:
    """Prefetches remote files, many ranges at a time."""
    if rest and source.reader(next(iter(rest))).remote is not None:
        wanted = fields(each.leaf.path for each in next(iter(rest.values())))
        fetch_ahead(((source.reader(each), 0, int(source.lengths[each])) for each in rest), wanted)


def _read_found(blocks: BlockMap, targets: Sequence[Target], map_each: MapEach) -> Rest:
    """Reads what can be read with one call for many blocks; returns the rest."""
    row_bytes = sum(each.wanted.row_bytes for each in targets)
    sizes = np.cumsum(blocks.row_counts()) * row_bytes
    tasks, is_found = [], np.zeros(len(blocks), np.bool_)
    for file, part in blocks.parts(np.arange(len(blocks))):
        is_found[part] = True
        cuts = np.flatnonzero((np.diff(sizes[part] // _TASK_BYTES) > 0) | (np.diff(part // _TASK_BLOCKS) > 0)) + 1
        tasks += [(file, each) for each in np.split(part, cuts)]
    results = map_each(lambda task: _read_blocks(blocks, targets, *task), tasks)
    found: dict[int, dict[int, Target]] = {}
    for wrong in results:
        for number, episodes in enumerate(wrong):
            for episode in episodes:
                found.setdefault(episode, {})[number] = targets[number]
    for episode in {*np.flatnonzero(~blocks.mapped).tolist(), *blocks.episode[~is_found].tolist()}:
        found[episode] = dict(enumerate(targets))
    return {episode: [*each.values()] for episode, each in found.items()}


def _read_blocks(blocks: BlockMap, targets: Sequence[Target], file: ShardFile, part: np.ndarray) -> list[set[int]]:
    """Reads some blocks of a shard; returns for each target the episodes that `EpisodeReader` must read."""
    table = np.concatenate(
        [
            located.locate(
                file, blocks.places(part), [each.wanted for each in targets[first : first + located.MOST_LEAVES]]
            )
            for first in range(0, len(targets), located.MOST_LEAVES)
        ],
        axis=1,
    )
    found = []
    for number, target in enumerate(targets):
        is_sound = _read_leaf(blocks, target, file, part, table[:, number])
        found.append(set(blocks.episode[part[~is_sound]].tolist()))
    return found


def _read_leaf(blocks: BlockMap, target: Target, file: ShardFile, part: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Reads the columns of a leaf; returns `[blocks]` bool, which of them were read or are absent."""
    is_sound = read_blocks(blocks, target, file, part, numbers)
    read = np.flatnonzero(is_sound & (numbers[:, located.STATUS] == located.FOUND))
    starts, stops = located_in(blocks, target, part[read], numbers[read]).places
    is_sound[read[are_taken(target.defined, starts, stops)]] = False  # two columns have the same row
    set_ranges(target.defined, starts, stops)
    return is_sound


def are_taken(defined: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """`[n]` bool: which of some ranges of rows have a row that is defined, or that another one of them has."""
    taken = np.zeros(len(starts), np.bool_)
    order = np.argsort(starts, kind="stable")
    first, after = starts[order], stops[order]
    if (first[1:] < after[:-1]).any() or (first >= after).any():  # no recorder writes this
        taken[:] = True
    elif len(order):
        bounds = np.stack((first, after), axis=1).reshape(-1) - first[0]
        found = np.append(defined[first[0] : after[-1]], False)
        taken[order] = np.logical_or.reduceat(found, bounds)[::2]
    return taken


def _read_episode(source: Source, episode: int, targets: Sequence[Target]) -> None:
    """Reads some leaves of an episode with its reader, which may read anything."""
    base, rows = int(source.bases[episode]), int(source.lengths[episode])
    by_path = {each.leaf.path: each for each in targets if not each.leaf.is_cast}
    stacks = source.reader(episode).stacks(
        0, rows, fields(each.leaf.path for each in targets), allocate=functools.partial(_allocate, by_path, base)
    )
    for target in targets:
        found = read_leaf(target.leaf, stacks, 0, rows)
        here = slice(base, base + rows)
        target.defined[here] = False
        if found is not None:
            values, defined = found
            require_leaf(source.name, target.leaf, values, episode, range(rows))
            values = cast(target.leaf, values)
            if values.ctypes.data != target.values[here].ctypes.data:  # else they were decoded there
                target.values[here] = values
            target.defined[here] = defined


def _allocate(
    targets: Mapping[str, Target], base: int, path: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    target = targets.get(path)
    if target is None or target.leaf.dtype != dtype or target.leaf.shape != shape[1:]:
        return np.empty(shape, dtype)
    return target.values[base : base + shape[0]]


def _clear_undefined(target: Target) -> None:
    if not target.defined.all():
        target.values[~target.defined] = np.zeros((), target.values.dtype)

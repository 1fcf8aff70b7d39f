"""Where episodes end in files of arrays, and how: `terminals` do not mean the same in all of them.

D4RL's are the environment's. OGBench's (https://github.com/seohongpark/ogbench, `ogbench/utils.py`) are the ends of
trajectories, for any reason. The other arrays of the file determine which:

- Without `rewards` and `timeouts` only trajectories can end. Without `next_observations`, too, the row with `terminals`
  holds the final observation, and an action that was not done.
- With `valids` that are 0 in such a row, `terminals` are 1 there and in the row before.
- With `masks`, 0 where nothing follows, a row whose mask is 1 ends a trajectory alone.
"""

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError
from rlds_kit.storage.reusable_memory import field_memory

OBSERVATIONS: Final = "observations"
NEXT: Final = "next_observations"
REWARDS: Final = "rewards"
TERMINALS: Final = "terminals"
TIMEOUTS: Final = "timeouts"
VALIDS: Final = "valids"
MASKS: Final = "masks"
_BYTES_AT_ONCE: Final = 16 << 20
_COMPARED_BYTES: Final = 1 << 19
"""Bytes that are compared at once, so that the result of each comparison is in memory that is reused, and cached."""

Tree = Mapping[str, Any]
"""Arrays, or datasets of h5py, by name, nested as groups are."""


@dataclass(frozen=True)
class Ends:
    """The ends of the episodes of a file.

    Attributes:
      after: for each episode the number of the row after its last one.
      terminal: `[rows]` bool, whether the environment ended the episode after a row.
      timeout: `[rows]` bool, whether a limit did.
      final: `[rows]` bool, whether a row holds a final observation, and an action that was not done.
    """

    after: list[int]
    terminal: np.ndarray
    timeout: np.ndarray
    final: np.ndarray

    def flags_of(self, begin: int, end: int) -> "Ends":
        """Returns the flags of rows `[begin, end)`, without `after`."""
        return Ends([], self.terminal[begin:end], self.timeout[begin:end], self.final[begin:end])


def ends_of(path: object, tree: Tree, rows: int) -> Ends:
    """Finds the ends of the episodes in a file of arrays.

    Args and errors are those of `flagged_ends`.
    """
    found = flagged_ends(path, tree, rows)
    if NEXT not in tree:
        return found
    cuts = broken_after(tree[OBSERVATIONS], tree[NEXT], rows)
    after = sorted({*found.after, *(np.flatnonzero(cuts) + 1).tolist()})
    return Ends(after, found.terminal, found.timeout, found.final)


def flagged_ends(path: object, tree: Tree, rows: int) -> Ends:
    """Finds the ends of the episodes in a file of arrays by their flags, without reading observations.

    With `next_observations` there may be more: `broken_after` finds them.

    Args:
      path: of the file, or what the arrays are, for errors.
      tree: its content.
      rows: of each array.

    Raises:
      FormatError: a flag is neither 0 nor 1, or `next_observations` are not like `observations`.
    """
    flags = {name: _flag(path, tree, name, rows) for name in (TERMINALS, TIMEOUTS) if name in tree}
    terminal, nothing = flags[TERMINALS], np.zeros(rows, np.bool_)
    timeout = flags.get(TIMEOUTS, nothing)
    valid, mask = (_flag_or_none(tree, name, rows) for name in (VALIDS, MASKS))
    if TIMEOUTS not in tree and NEXT not in tree and valid is not None and _is_compact(terminal, valid):
        return _ends(~valid, nothing, nothing, ~valid)
    if TIMEOUTS not in tree and REWARDS not in tree:
        cuts, true = terminal, nothing
        final = nothing if NEXT in tree else terminal
    else:
        cuts, final = terminal | timeout, nothing
        true = terminal if mask is None else terminal & ~mask
    if NEXT in tree and not are_alike(tree[OBSERVATIONS], tree[NEXT]):
        raise FormatError(f"{path}: expected {OBSERVATIONS} and {NEXT} of one dtype and shape in {rows} rows")
    return _ends(cuts, true, timeout, final)


def _ends(cuts: np.ndarray, terminal: np.ndarray, timeout: np.ndarray, final: np.ndarray) -> Ends:
    after = (np.flatnonzero(cuts) + 1).tolist()
    return Ends([*after, *([len(cuts)] if len(cuts) and not cuts[-1] else [])], terminal, timeout, final)


def _is_compact(terminal: np.ndarray, valid: np.ndarray) -> bool:
    """Whether terminals are what OGBench makes of valids: 1 in the row of a final observation and the one before."""
    before_last = np.append(~valid[1:], True)
    return bool(np.array_equal(terminal, ~valid | before_last))


def _flag(path: object, tree: Tree, name: str, rows: int) -> np.ndarray:
    found = _flag_or_none(tree, name, rows)
    if found is None:
        values = tree[name]
        raise FormatError(
            f"{path}: {name}: expected a 0 or 1 for each of {rows} rows, got {values.dtype} {values.shape}"
        )
    return found


def _flag_or_none(tree: Tree, name: str, rows: int) -> np.ndarray | None:
    """`[rows]` bool; None where there is no such array of zeros and ones."""
    node = tree.get(name)
    if node is None or isinstance(node, Mapping) or node.size != rows or node.dtype.kind not in "biuf":
        return None
    values = np.asarray(node[()])
    return values.reshape(rows).astype(np.bool_) if np.isin(values, (0, 1)).all() else None


def are_alike(observations: Any, following: Any) -> bool:
    """Whether two arrays, or dicts of arrays, have the same names, dtypes and shapes of values."""

    def shape(node: Any) -> Any:
        return mapped(lambda each: (each.shape, each.dtype) if hasattr(each, "shape") else None, node)

    found = shape(observations)
    return all(leaves_of(found, lambda each: each is not None)) and found == shape(following)


def broken_after(observations: Any, following: Any, rows: int) -> np.ndarray:
    """Finds the rows after which a trajectory is broken.

    Returns:
      `[rows - 1]` bool: after which rows the next observation is not, bit for bit, the observation of the row after.
    """
    found = np.zeros(max(rows - 1, 0), np.bool_)
    step = max(1, _BYTES_AT_ONCE // max(1, bytes_of_row(observations)))
    for begin in range(0, rows - 1, step):
        end = min(begin + step, rows - 1)
        before, after = rows_of(following, begin, end), rows_of(observations, begin + 1, end + 1)
        found[begin:end] = differ(before, after, end - begin)
    return found


def differ(one: Any, other: Any, rows: int) -> np.ndarray:
    """Compares two arrays, or nests of arrays, that are alike.

    Returns:
      `[rows]` bool: which rows differ in any bit.
    """
    found = np.zeros(rows, np.bool_)
    if not rows:
        return found
    if isinstance(one, dict | tuple):
        for name in one if isinstance(one, dict) else range(len(one)):
            found |= differ(one[name], other[name], rows)
    else:
        before, after = _words(one), _words(other)
        step = max(1, _COMPARED_BYTES // max(1, bytes_of_row(one)))
        for begin in range(0, rows, step):
            part = slice(begin, begin + step)
            found[part] |= (before[part] != after[part]).any(axis=1)
    return found


def bytes_of_row(node: Any) -> int:
    """Bytes of a row of arrays in a nest."""
    return sum(leaves_of(node, lambda each: math.prod(each.shape[1:]) * each.dtype.itemsize))


def _words(array: np.ndarray) -> np.ndarray:
    """`[rows, words]`: the bytes of each row, in the longest unsigned integers that divide them."""
    size = bytes_of_row(array)
    word = next(each for each in (np.uint64, np.uint32, np.uint16, np.uint8) if not size % np.dtype(each).itemsize)
    return np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8).reshape(len(array), -1).view(word)


def mapped(function: Callable[[Any], Any], node: Any) -> Any:
    """A nest of what a function makes of each array."""
    if isinstance(node, tuple):
        return tuple(mapped(function, each) for each in node)
    return {name: mapped(function, each) for name, each in node.items()} if isinstance(node, dict) else function(node)


def rows_of(node: Any, begin: int, end: int | None) -> Any:
    """Some rows of the arrays of a nest.

    >>> rows_of({"x": np.arange(5)}, 1, 3)
    {'x': array([1, 2])}
    """
    return mapped(operator.itemgetter(slice(begin, end)), node)


def joined(nodes: Sequence[Any]) -> Any:
    """The arrays of nests that are alike, one after the other.

    >>> joined([{"x": np.arange(2)}, {"x": np.arange(1)}])
    {'x': array([0, 1, 0])}
    """
    first = nodes[0]
    if isinstance(first, dict):
        return {name: joined([each[name] for each in nodes]) for name in first}
    if isinstance(first, tuple):
        return tuple(joined(parts) for parts in zip(*nodes, strict=True))
    return field_memory.concatenate(nodes)


def leaves_of(node: Any, function: Callable[[Any], Any]) -> Iterator[Any]:
    """What a function makes of each array of a nest."""
    if isinstance(node, dict | tuple):
        for each in node.values() if isinstance(node, dict) else node:
            yield from leaves_of(each, function)
    else:
        yield function(node)

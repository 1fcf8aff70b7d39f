"""Episodes in RLDS's layout: all steps of all episodes in one array per field, with flags of the first and last steps.

The last step of an episode holds its final observation; its action, reward and discount are undefined.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import ACTED_FIELDS, ACTION, FLAGS, IS_FIRST, IS_LAST, IS_TERMINAL, REWARD, EpisodeEnd
from rlds_kit.episode.array_ends import leaves_of, mapped
from rlds_kit.episode.flat_arrays import FlatEpisode
from rlds_kit.storage.array_rows import ArrayRows


def step_episodes(tree: Mapping[str, Any], rows: int) -> Iterator[FlatEpisode]:
    """The episodes of arrays of steps. Steps after the last one with `is_last` are an episode that was interrupted.

    Args:
      tree: by field: an array `[rows, ...]`, a list, or a dict or tuple of these; with `is_first` or `is_last`.
      rows: how many steps there are.

    Raises:
      SpecError: flags contradict each other, or the last step of an episode has an action or a reward.

    >>> steps = {"observation": np.arange(3), "action": np.array([1, 2, 0]), "is_last": np.array([0, 0, 1])}
    >>> [(each.observed.length, each.acted.columns["action"].tolist()) for each in step_episodes(steps, 3)]
    [(3, [1, 2])]
    """
    flags = {name: _flag(name, tree[name], rows) for name in FLAGS if name in tree}
    after, is_last = _ends(flags, rows)
    _require_no_actions(tree, after[is_last[after - 1]] - 1)
    terminal = flags.get(IS_TERMINAL)
    if terminal is not None:
        _require_last(terminal, is_last)
    for begin, end in itertools.pairwise([0, *after.tolist()]):
        yield _episode(tree, begin, end, terminal, is_last=bool(is_last[end - 1]))


def _flag(name: str, values: Any, rows: int) -> np.ndarray:
    found = np.asarray(values)
    if found.size != rows or found.dtype.kind not in "biuf" or not np.isin(found, (0, 1)).all():
        raise SpecError(f"{name}: expected a 0 or 1 for each of {rows} steps, got {found.dtype} {found.shape}")
    return found.reshape(rows).astype(np.bool_)


def _ends(flags: Mapping[str, np.ndarray], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The number of the step after each episode; and `[rows]` bool, which steps hold final observations."""
    last = flags.get(IS_LAST)
    first = flags.get(IS_FIRST)
    if first is not None and rows:
        following = np.append(first[1:], True)
        if not first[0]:
            raise SpecError(f"{IS_FIRST}: expected it to be set in step 0, where the first episode begins")
        wrong = np.flatnonzero(following[:-1] != last[:-1]) if last is not None else np.empty(0, np.int64)
        if len(wrong):
            raise SpecError(
                f"{IS_FIRST}: expected it after every step with {IS_LAST} alone, not so after step {wrong[0]}"
            )
        last = following if last is None else last
    assert last is not None  # noqa: S101  one of them is given
    ends = last.copy()
    ends[-1:] = True
    return np.flatnonzero(ends) + 1, last


def _require_no_actions(tree: Mapping[str, Any], steps: np.ndarray) -> None:
    """Refuses actions that would be left out."""
    for name in (ACTION, REWARD):
        for values in leaves_of(tree.get(name, {}), lambda each: each):
            for step in steps.tolist():
                if _is_something(np.asarray(values[step])):
                    raise SpecError(
                        f"{name}: expected zeros in step {step}, which is the last one of an episode and holds its "
                        "final observation; if this was done there, and the observation after it is missing, give "
                        "terminals and timeouts in place of is_last"
                    )


def _is_something(value: np.ndarray) -> bool:
    """Whether a value is anything but zeros, of either sign, or an empty text."""
    return bool(value.any()) if value.dtype.kind in "biufc" else any(value.tobytes())


def _require_last(terminal: np.ndarray, last: np.ndarray) -> None:
    wrong = np.flatnonzero(terminal & ~last)
    if len(wrong):
        raise SpecError(f"{IS_TERMINAL}: expected it in last steps alone, got it in step {wrong[0]}")


def _episode(
    tree: Mapping[str, Any], begin: int, end: int, terminal: np.ndarray | None, *, is_last: bool
) -> FlatEpisode:
    count = end - begin - is_last
    fields = {name: each for name, each in tree.items() if name not in FLAGS}
    observed = {name: mapped(lambda each: each[begin:end], each) for name, each in fields.items()}
    present: list[str] = [name for name in ACTED_FIELDS if name in observed]
    acted = {name: mapped(lambda each: each[:count], observed.pop(name)) for name in present}
    is_terminal = terminal is not None and bool(terminal[end - 1])
    cut = EpisodeEnd.TRUNCATED if is_last and terminal is not None else EpisodeEnd.INTERRUPTED
    return FlatEpisode(
        ArrayRows(observed, end - begin),
        ArrayRows(acted, count),
        EpisodeEnd.TERMINATED if is_terminal else cut,
        terminated=is_terminal,
        truncated=not is_terminal and cut is EpisodeEnd.TRUNCATED,
    )

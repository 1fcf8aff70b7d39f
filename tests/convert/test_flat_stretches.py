"""Flat arrays become the same episodes, in whatever stretches and by however many processes they are read."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.convert.flat_stretches import Layout, episodes_in
from rlds_kit.episode.array_ends import bytes_of_row, ends_of, flagged_ends
from rlds_kit.episode.flat_arrays import FlatEpisode, flat_episode, steps_in

Arrays = dict[str, Any]


def arrays_of(flags: list[str], *, has_following: bool = True, is_nested: bool = False) -> Arrays:
    """A row for each of "goes on", "broken", "terminal" and "timeout"."""
    rows, kinds = len(flags), np.array(flags, object)
    seen = np.arange(rows, dtype=np.float32)[:, np.newaxis] + np.zeros(3, np.float32)
    after = seen + 1
    after[kinds != "goes on", 1] = -1.0  # one element is enough
    found: Arrays = {
        "observations": {"a": seen, "b": {"c": -seen}} if is_nested else seen,
        "next_observations": {"a": after, "b": {"c": -after}} if is_nested else after,
        "actions": np.arange(rows),
        "rewards": np.arange(rows) / 2,
        "infos": {"qpos": seen * 2},
        "terminals": kinds == "terminal",
        "timeouts": kinds == "timeout",
    }
    if not has_following:
        del found["next_observations"]
    return found


def layout_of(arrays: Arrays) -> Layout:
    """What a reader knows of arrays."""
    rows = len(arrays["terminals"])
    ends = flagged_ends("arrays", arrays, rows)
    cuts = np.isin(np.arange(rows) + 1, ends.after)
    steps = steps_in(arrays, rows)
    row_bytes = sum(bytes_of_row(arrays[name]) for name in steps)
    return Layout(rows, row_bytes, steps, ends.flags_of(0, rows), cuts)


def expected_of(arrays: Arrays) -> Iterator[FlatEpisode]:
    """All episodes, from whole arrays."""
    rows = len(arrays["terminals"])
    ends, begin = ends_of("arrays", arrays, rows), 0
    for end in ends.after:
        final = None
        if "next_observations" in arrays:
            final = flat(arrays["next_observations"], end - 1, end)
        yield flat_episode(arrays, steps_in(arrays, rows), ends, begin, end, final)
        begin = end


def flat(node: Any, begin: int, end: int) -> Any:
    """Some rows of a nest of arrays."""
    return {name: flat(each, begin, end) for name, each in node.items()} if isinstance(node, dict) else node[begin:end]


def described(episode: FlatEpisode) -> Any:
    """All that is in an episode, to be compared."""

    def plain(node: Any) -> Any:
        if isinstance(node, dict):
            return {name: plain(each) for name, each in node.items()}
        return node.dtype.str, node.tolist()

    sides = [(plain(dict(side.columns)), side.length, dict(side.begin)) for side in (episode.observed, episode.acted)]
    return sides, episode.end, episode.terminated, episode.truncated


@given(
    st.lists(st.sampled_from(["goes on"] * 4 + ["broken", "terminal", "timeout"]), min_size=1, max_size=40),
    st.tuples(st.integers(1, 3000), st.integers(1, 6000)),
    st.lists(st.integers(0, 40), max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_stretches_and_splits_change_nothing(
    flags: list[str], limits: tuple[int, int], splits: list[int], has_following: bool, is_nested: bool
) -> None:
    """The episodes that begin in some rows are read by one process, and all of them are read once."""
    arrays = arrays_of(flags, has_following=has_following, is_nested=is_nested)
    bounds = [0, *sorted(min(each, len(flags)) for each in splits), len(flags)]
    found = [
        described(episode)
        for first, last in pairwise(bounds)
        for episode in episodes_in(arrays, layout_of(arrays), first, last, *limits)
    ]
    assert found == [described(each) for each in expected_of(arrays)]


class _Counted:
    """An array that counts the rows that are read of it."""

    def __init__(self, array: np.ndarray) -> None:
        self._array, self.rows = array, 0
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> np.ndarray:
        found = self._array[key]
        self.rows += found.size // max(1, int(np.prod(self.shape[1:]))) if np.ndim(found) else 1
        return np.asarray(found)


@pytest.mark.parametrize("bytes_at_once", [500, 1 << 20])
def test_each_row_is_read_once(bytes_at_once: int) -> None:
    """Also the next observations, which say where episodes end and are the final ones."""
    arrays = arrays_of((["goes on"] * 9 + ["broken"]) * 20)
    layout = layout_of(arrays)
    counted = {name: _Counted(arrays[name]) for name in ("observations", "next_observations", "actions", "rewards")}
    assert len([*episodes_in({**arrays, **counted}, layout, 0, 200, bytes_at_once, 1)]) == 20
    assert {name: each.rows for name, each in counted.items()} == dict.fromkeys(counted, 200)


def test_a_part_reads_little_more_than_its_rows() -> None:
    """The row before it, and the rest of its last episode up to the next flag."""
    arrays = arrays_of((["goes on"] * 9 + ["timeout"]) * 20)
    layout = layout_of(arrays)
    counted = {name: _Counted(arrays[name]) for name in ("observations", "next_observations")}
    assert len([*episodes_in({**arrays, **counted}, layout, 45, 95, 500)]) == 5
    assert counted["observations"].rows == 55
    assert counted["next_observations"].rows == 56

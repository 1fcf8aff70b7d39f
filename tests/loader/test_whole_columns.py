"""Every row of a leaf is read, and from one column alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader.step_columns import step_columns
from rlds_kit.loader.whole_columns import are_taken
from rlds_kit.storage.episode_reader import EpisodeReader
from tests.loader.recording import numbered

ROWS = 24
ranges = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(1, 6)), max_size=5)


@given(ranges, st.lists(st.booleans(), min_size=ROWS, max_size=ROWS))
def test_ranges_with_a_row_of_another_column_are_found(found: list[tuple[int, int]], defined: list[bool]) -> None:
    """All of them, and no range of its own rows alone unless two others overlap."""
    bounds = [(start, min(start + length, ROWS)) for start, length in found]
    owners = [sum(start <= row < stop for start, stop in bounds) for row in range(ROWS)]
    wanted = [any(defined[row] or owners[row] > 1 for row in range(*each)) for each in bounds]
    starts, stops = (np.array([each[side] for each in bounds], np.int64) for side in (0, 1))
    taken = are_taken(np.array(defined), starts, stops).tolist()
    if max(owners) > 1:
        assert all(taken)
    else:
        assert taken == wanted


def test_shards_that_cannot_be_read_at_once_are_read_by_episode(tmp_path: Path) -> None:
    """As remote ones beside local ones are: their values are not left out."""
    source = numbered(tmp_path, (3, 4, 5, 6)).windows(1).source

    class Elsewhere(EpisodeReader):
        """A reader that has no plain file."""

        def __init__(self, other: EpisodeReader) -> None:
            vars(self).update(vars(other))

    def reader(index: int) -> EpisodeReader:
        found = source.reader(index)
        return found if index < 2 else Elsewhere(found)

    assert reader(2).plain_file is None
    here, there = step_columns(source, {}, None, 1), step_columns(replace(source, reader=reader), {}, None, 1)
    for name in ("observation", "image", "reward"):
        np.testing.assert_array_equal(there[name], here[name])

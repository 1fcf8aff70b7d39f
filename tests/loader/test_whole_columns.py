"""A row of a leaf is read from one column alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader.whole_columns import are_taken

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

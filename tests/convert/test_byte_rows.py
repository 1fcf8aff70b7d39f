"""Byte strings as rows of an array."""

import numpy as np
import pytest

from rlds_kit.convert.byte_rows import _SMALL, byte_rows


@pytest.mark.parametrize("size", [1, 136, _SMALL - 1, _SMALL, 100_800])
def test_rows_are_the_strings(size: int) -> None:
    """Joined or copied; the array can be viewed as another type."""
    rows = np.random.default_rng(0).integers(0, 256, (5, size), np.uint8)
    found = byte_rows((row.tobytes() for row in rows), 5, size)
    np.testing.assert_array_equal(found, rows)
    assert found.flags.c_contiguous


@pytest.mark.parametrize("size", [7, _SMALL])
@pytest.mark.parametrize("other", [-1, 1])
def test_another_size_is_an_error(size: int, other: int) -> None:
    """Whichever string has it."""
    for place in range(3):
        strings = [bytes(size + other if number == place else size) for number in range(3)]
        with pytest.raises(ValueError, match=f"expected {size} bytes in each value, got {size + other}"):
            byte_rows(strings, 3, size)

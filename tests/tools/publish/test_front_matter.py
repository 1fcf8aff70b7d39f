"""The front matter of dataset cards."""

import itertools
import re

import pytest

from rlds_kit.tools.publish.front_matter import size_category

UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


@pytest.mark.parametrize("exponent", range(3, 13))
def test_the_category_of_a_size_says_its_bounds(exponent: int) -> None:
    """From each bound on the category is the next one, and its name has the bound."""
    below, above = size_category(10**exponent - 1), size_category(10**exponent)
    numbers = [[int(n) * UNITS[unit] for n, unit in re.findall(r"(\d+)([KMBT]?)", each)] for each in (below, above)]
    assert numbers[0][-1] == numbers[1][0] == 10**exponent
    assert all(low < high for each in numbers for low, high in itertools.pairwise(each))

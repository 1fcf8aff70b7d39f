"""SipHash-2-4 against the published value, and the shape of its input."""

import doctest

from rlds_kit.base import split as module
from rlds_kit.base.split import siphash


def test_examples_of_docstrings() -> None:
    """The example is the test vector of the paper, appendix A."""
    assert doctest.testmod(module).failed == 0


def test_length_is_part_of_the_hash() -> None:
    """Zero bytes at the end are not padding."""
    assert len({siphash((1, 2), bytes(length)) for length in range(300)}) == 300


def test_every_part_of_the_key_matters() -> None:
    """Other keys give other hashes."""
    assert len({siphash(key, b"a") for key in [(1, 2), (2, 1), (1, 3), (0, 2)]}) == 4

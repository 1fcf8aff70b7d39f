"""Names of packages that are loaded when they are first used."""

import doctest

import pytest

from rlds_kit import lazy, storage


def test_examples() -> None:
    assert doctest.testmod(lazy).failed == 0


def test_a_name_that_there_is_not_is_an_error_as_of_any_module() -> None:
    """The error names the package and the name."""
    with pytest.raises(AttributeError, match=r"module 'rlds_kit\.storage' has no attribute 'Nothing'"):
        storage.Nothing  # noqa: B018

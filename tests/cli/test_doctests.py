"""The examples in the docstrings."""

import doctest
import importlib

import pytest

MODULES = ["lint", "output", "plot", "replay"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    module = importlib.import_module(f"rlds_kit.cli.{name}")
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)

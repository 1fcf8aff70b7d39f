"""The examples in the docstrings."""

import doctest
import importlib

import pytest

MODULES = ["tools.compare.report", "tools.compare.values", "tools.replay.rebuilt", "cli.replay"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    result = doctest.testmod(importlib.import_module(f"rlds_kit.{name}"))
    assert (result.failed, result.attempted > 0) == (0, True)

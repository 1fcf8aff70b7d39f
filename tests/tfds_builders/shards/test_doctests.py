"""The examples in the docstrings."""

import doctest
import importlib
import pkgutil

import pytest

from rlds_kit.tfds_builders import shards

MODULES = [module.name for module in pkgutil.iter_modules(shards.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    module = importlib.import_module(f"rlds_kit.tfds_builders.shards.{name}")
    assert doctest.testmod(module).failed == 0

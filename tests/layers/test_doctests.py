"""The examples in the docstrings."""

import doctest
import importlib
import pkgutil

import pytest

from rlds_kit import layers

MODULES = [module.name for module in pkgutil.iter_modules(layers.__path__) if not module.name.endswith("_pb2")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    module = importlib.import_module(f"rlds_kit.layers.{name}")
    assert doctest.testmod(module).failed == 0

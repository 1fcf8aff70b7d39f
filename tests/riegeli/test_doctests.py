"""The examples in the docstrings."""

import doctest
import importlib
import pkgutil

import pytest

from rlds_kit import riegeli

MODULES = [module.name for module in pkgutil.iter_modules(riegeli.__path__) if module.name != "_native"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    module = importlib.import_module(f"rlds_kit.riegeli.{name}")
    assert doctest.testmod(module).failed == 0

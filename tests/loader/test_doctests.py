"""The examples in the docstrings."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

from rlds_kit import loader

MODULES = [module.name for module in pkgutil.iter_modules(loader.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    module = importlib.import_module(f"rlds_kit.loader.{name}")
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0

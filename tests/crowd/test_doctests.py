"""The examples in the docstrings."""

import doctest
import importlib
import pkgutil

import pytest

import rlds_kit.crowd

MODULES = sorted(each.name for each in pkgutil.walk_packages(rlds_kit.crowd.__path__, "rlds_kit.crowd."))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Every example gives what its docstring says."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0

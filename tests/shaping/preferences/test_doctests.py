"""The examples in the docstrings."""

import doctest
import importlib
from pathlib import Path

import pytest

from rlds_kit.shaping import preferences

ROOT = Path(preferences.__path__[0])
FILES = sorted(each.stem for each in ROOT.glob("*.py") if ">>> " in each.read_text("utf-8"))


@pytest.mark.parametrize("name", FILES)
def test_examples_of_docstrings(name: str) -> None:
    """Every example gives what its docstring says."""
    module = importlib.import_module(f"rlds_kit.shaping.preferences.{name}")
    assert doctest.testmod(module).failed == 0

"""The examples in the docstrings."""

import doctest
import importlib
from pathlib import Path

import pytest

from rlds_kit import studio

ROOT = Path(studio.__path__[0])
FILES = [each.relative_to(ROOT) for each in sorted(ROOT.rglob("*.py")) if ">>> " in each.read_text("utf-8")]


@pytest.mark.parametrize("name", [".".join(each.with_suffix("").parts) for each in FILES])
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    module = importlib.import_module(f"rlds_kit.studio.{name}")
    assert doctest.testmod(module).failed == 0

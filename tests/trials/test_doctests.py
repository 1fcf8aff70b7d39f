"""The examples in the docstrings."""

import doctest
import importlib
from pathlib import Path

import pytest

from rlds_kit import trials

ROOT = Path(trials.__path__[0])
FILES = [each.relative_to(ROOT) for each in sorted(ROOT.rglob("*.py")) if ">>> " in each.read_text("utf-8")]


@pytest.mark.parametrize("name", [".".join(each.with_suffix("").parts) for each in FILES])
def test_examples_of_docstrings(name: str) -> None:
    """Every example gives what its docstring says."""
    module = importlib.import_module(f"rlds_kit.trials.{name}")
    assert doctest.testmod(module).failed == 0

"""The examples in the docstrings."""

import doctest
import importlib
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import rlds_kit.convert


def _modules() -> list[str]:
    """Those that have examples."""
    found = pkgutil.walk_packages(rlds_kit.convert.__path__, "rlds_kit.convert.")
    return [each.name for each in found if ">>> " in _source(each.name)]


def _source(name: str) -> str:
    spec = importlib.util.find_spec(name)
    return "" if spec is None or spec.origin is None else Path(spec.origin).read_text("utf-8")


@pytest.mark.parametrize("name", _modules())
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    module = importlib.import_module(name)
    result = doctest.testmod(module)
    assert result.failed == 0

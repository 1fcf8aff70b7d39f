"""Every feature of Cogment that trials have has a test of ours by name: `test_g7_...`. What is open is listed."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

DOCS: Final = Path(__file__).parents[2] / "docs"
HERE: Final = Path(__file__).parent
ROWS: Final = {f"g{number}" for number in range(1, 32)}
OPEN: Final[dict[str, str]] = {}


def _rows(test: str) -> set[str]:
    """The rows in the name of a test.

    >>> sorted(_rows("test_g1_g20_every_phase")), _rows("test_gone")
    (['g1', 'g20'], set())
    """
    found = re.match(r"test((?:_[cg]\d+)+)_", test)
    return {row for row in found[1].strip("_").split("_") if row[0] == "g"} if found else set()


def test_every_row_has_a_named_test_or_is_open() -> None:
    """A row is in one of both: what is open ends when its tests are there."""
    files = [*HERE.rglob("test_*.py"), *(HERE.parent / "studio").rglob("test_*.py")]
    trees = [ast.parse(path.read_text("utf-8")) for path in files]
    tests = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    tested = {row for test in tests for row in _rows(test)}
    assert tested & OPEN.keys() == set()
    assert tested | OPEN.keys() == ROWS


@pytest.mark.skipif(not DOCS.exists(), reason="a wheel holds no docs")
def test_the_tests_of_faults_that_the_page_names_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", (DOCS / "trials.md").read_text("utf-8"))
    assert len(named) >= 15
    for path, test in named:
        tree = ast.parse((HERE.parent / path).read_text("utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (path, test)

"""Every feature of TAMER that shaping has has a test of ours by name: `test_t3_...`. What is open is listed."""

import ast
import re
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
PAGES: Final = HERE.parent / "studio" / "browser" / "test_tasks.py"
ROWS: Final = {f"t{number}" for number in range(1, 15)}
OPEN: Final = dict[str, str]()


def _rows(test: str) -> set[str]:
    """The rows in the name of a test.

    >>> sorted(_rows("test_t1_t12_every_press")), _rows("test_two")
    (['t1', 't12'], set())
    """
    found = re.match(r"test((?:_t\d+)+)_", test)
    return set(found[1].strip("_").split("_")) if found else set()


def test_every_row_has_a_named_test_or_is_open() -> None:
    """A row is in one of both lists: an open one is moved when its tests exist."""
    trees = [ast.parse(path.read_text("utf-8")) for path in (*HERE.rglob("test_*.py"), PAGES)]
    tests = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    tested = {row for test in tests for row in _rows(test)}
    assert tested & OPEN.keys() == set()
    assert tested | OPEN.keys() == ROWS

"""Every feature of CrowdPlay has a test of ours by name: `test_c21_...`. What is open, or left out, is listed.

Tests of what the studio does are in `tests/studio`, of trials in `tests/trials`; all of `tests/` is searched.
"""

import ast
import re
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROWS: Final = {f"c{number}" for number in range(1, 53)}
OPEN: Final[dict[str, str]] = {}
WAIVED: Final = {"c52": "facts about CrowdPlay's own dataset, which atari_human quotes"}
"""And in docs/crowds.md, with C53: an agent that learns from such a dataset."""


def _rows(test: str) -> set[str]:
    """The rows in the name of a test.

    >>> sorted(_rows("test_c1_c20_every_hit")), _rows("test_close")
    (['c1', 'c20'], set())
    """
    found = re.match(r"test((?:_c\d+)+)_", test)
    return set(found[1].strip("_").split("_")) if found else set()


def _tested(folder: Path) -> set[str]:
    sources = [path.read_text("utf-8") for path in folder.rglob("test_*.py")]
    trees = [ast.parse(source) for source in sources if re.search(r"def test_c\d", source)]
    tests = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {row for test in tests for row in _rows(test)} & ROWS


def test_every_row_has_a_named_test_or_is_open_or_waived() -> None:
    """What is open ends when its tests are here; a row may be tested elsewhere in part, and still be open."""
    assert _tested(HERE) & (OPEN.keys() | WAIVED.keys()) == set()
    assert _tested(HERE.parent) | OPEN.keys() | WAIVED.keys() == ROWS

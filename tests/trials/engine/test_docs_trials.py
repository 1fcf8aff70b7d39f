"""The diagram in docs/trials.md is that of the code."""

import re
from pathlib import Path

import pytest

from rlds_kit.trials.engine.phase import MOVES

PAGE = Path(__file__).parents[3] / "docs" / "trials.md"


@pytest.mark.skipif(not PAGE.exists(), reason="a wheel holds no docs")
def test_the_diagram_has_every_move() -> None:
    drawn = set(re.findall(r"^ +(\w+) --> (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert drawn == {(phase.value, after.value) for phase, others in MOVES.items() for after in others}

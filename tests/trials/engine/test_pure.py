"""The engine does no input or output: what it imports cannot."""

import ast
from pathlib import Path
from typing import Final

import pytest

from rlds_kit.trials import engine

ALLOWED: Final = {"collections.abc", "dataclasses", "enum", "math", "typing", "numpy"}
"""No files, sockets, processes, threads, clocks or random numbers."""
FILES: Final = sorted(Path(engine.__path__[0]).glob("*.py"))


def test_the_engine_is_found() -> None:
    assert {"trial.py", "stepping.py"} <= {each.name for each in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_engine_imports_itself_and_nothing_that_does_input_or_output(file: Path) -> None:
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(str(node.module))
    others = {name for name in found if name.partition(".")[0] != "rlds_kit"}
    own = {name for name in found - others if name != "rlds_kit.trials.engine"}
    assert others <= ALLOWED
    assert all(name.startswith("rlds_kit.trials.engine.") for name in own), own

"""Faults that are drawn from the source change one line and the program, and are the same each time."""

import ast
import textwrap
from pathlib import Path

from tests.one_line_faults import faults_of, mirror_of

SOURCE = textwrap.dedent('''
    """A docstring with 1 < 2."""

    def count(rows: "list[0]", é: int) -> int:
        if é is not None and len(rows) <= 3:
            rows.append(min(rows) + 1)
        if not rows:
            raise ValueError("expected 1 row or more")
        return max(rows) * 2
''').lstrip()


def _faults(directory: Path) -> set[tuple[int, str]]:
    (directory / "file.py").write_text(SOURCE, "utf-8")
    return {(fault.line, fault.after.strip()) for fault in faults_of(directory / "file.py", directory)}


def test_faults_are_the_ones_of_code(tmp_path: Path) -> None:
    """Operators, constants, calls and conditions; neither docstrings nor annotations nor messages."""
    assert _faults(tmp_path) == {
        (4, "if é is not None or len(rows) <= 3:"),
        (4, "if é is None and len(rows) <= 3:"),
        (4, "if é is not None and len(rows) < 3:"),
        (4, "if é is not None and len(rows) <= 4:"),
        (4, "if False:"),
        (5, "pass"),
        (5, "rows.append(max(rows) + 1)"),
        (5, "rows.append(min(rows) - 1)"),
        (5, "rows.append(min(rows) + 2)"),
        (6, "if rows:"),
        (6, "if False:"),
        (8, "return min(rows) * 2"),
        (8, "return max(rows) // 2"),
        (8, "return max(rows) * 3"),
    }


def test_every_fault_is_another_program_of_one_other_line(tmp_path: Path) -> None:
    """It compiles, and everything else stays as it is."""
    (tmp_path / "file.py").write_text(SOURCE, "utf-8")
    lines = SOURCE.splitlines()
    for fault in faults_of(tmp_path / "file.py", tmp_path):
        assert lines[fault.line - 1] == fault.before
        changed = [*lines[: fault.line - 1], fault.after, *lines[fault.line :]]
        assert ast.dump(ast.parse("\n".join(changed))) != ast.dump(ast.parse(SOURCE))


def test_tests_mirror_the_source() -> None:
    """Those of a file's own folder come first."""
    assert mirror_of("rlds_kit/loader/permutation.py") == ["tests/loader"]
    assert mirror_of("studio/play/play.py") == ["tests/studio/play"]
    assert mirror_of("logger/recording.py") == ["tests/logger"]

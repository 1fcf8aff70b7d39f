"""The C extension of rows under AddressSanitizer and UndefinedBehaviorSanitizer."""

from pathlib import Path

import pytest

from rlds_kit.storage import row_form
from tests import sanitized

HERE = Path(__file__).parent


@pytest.mark.slow
def test_rows_under_sanitizers(tmp_path: Path) -> None:
    """Its tests, and those of recorders, read or write no byte that they should not."""
    built = sanitized.build(Path(row_form.__file__).with_name("_rows.c"), tmp_path)
    names = ("row_form", "array_form", "batch_buffer", "batch_columns", "new_memory", "round_trip", "row_log")
    of_loggers = (HERE.parent / "logger" / f"test_{name}.py" for name in ("action_check", "autoreset"))
    tests = [*(HERE / f"test_{name}.py" for name in names), *of_loggers]
    sanitized.run_tests("rlds_kit.storage._rows", built, *tests)

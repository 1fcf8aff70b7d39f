"""Libraries that are not installed: a test that imports one of them is skipped, so `dev` alone is enough to begin with.

`RLDS_KIT_REQUIRE=imports` makes failures of these skips.
"""

import importlib.util
from typing import Final

import pytest

OURS: Final = ("benchmarks", "examples", "rlds_kit", "tests")


def missing_library(error: BaseException | None) -> str:
    """Return the name of the library whose absence caused an error; empty where that is not the cause.

    >>> missing_library(ModuleNotFoundError("No module named 'no_such_library'", name="no_such_library.part"))
    'no_such_library'
    >>> missing_library(ModuleNotFoundError("No module named 'tests.no_such_file'", name="tests.no_such_file"))
    ''
    """
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            library = error.name.partition(".")[0]
            return "" if library in OURS or importlib.util.find_spec(library) else library
        error = error.__cause__
    return ""


def skip_if_missing(report: pytest.CollectReport | pytest.TestReport, call: pytest.CallInfo[object] | None) -> None:
    """Turn the error of a test or module that needs a library that is not installed into a skip."""
    if not report.failed or call is None or call.excinfo is None:
        return
    if library := missing_library(call.excinfo.value):
        report.outcome = "skipped"
        report.longrepr = (report.fspath, 0, f"Skipped: could not import {library!r}")

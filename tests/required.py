"""What must not be missing: with `RLDS_KIT_REQUIRE=chromium,postgresql` tests that are skipped without them fail."""

import os
from typing import Final

import pytest

VARIABLE: Final = "RLDS_KIT_REQUIRE"
REASONS: Final = {
    "chromium": "Chromium is not installed",
    "envlogger": "EnvLogger ",
    "extension": "the C extension is absent",
    "imports": "could not import ",
    "postgresql": "PostgreSQL ",
}
"""What can be required, and how the reason begins that tests skip for where it is missing."""


def required_names() -> list[str]:
    """Return what the environment variable names.

    Raises:
      pytest.UsageError: it names something that cannot be required.
    """
    names = [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
    if unknown := sorted(set(names) - set(REASONS)):
        raise pytest.UsageError(f"{VARIABLE}: expected some of {', '.join(REASONS)}, got {', '.join(unknown)}")
    return names


def fail_if_required(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Turn a skip into a failure if its reason is that something required is missing."""
    if not report.skipped or not isinstance(report.longrepr, tuple):  # an expected failure has no reason
        return
    place, line, reason = report.longrepr
    reason = reason.removeprefix("Skipped: ")
    for name in required_names():
        if reason.startswith(REASONS[name]):
            report.outcome = "failed"
            report.longrepr = f"{place}:{line}: {VARIABLE} has {name!r}, but this test would be skipped: {reason}"

"""The C extension of the filters under AddressSanitizer and UndefinedBehaviorSanitizer."""

from pathlib import Path

import pytest

from rlds_kit import storage
from tests import sanitized


@pytest.mark.slow
def test_the_filters_stay_in_bounds_and_are_defined(tmp_path: Path) -> None:
    """Every test of them passes with the sanitizers on."""
    built = sanitized.build(Path(storage.__file__).with_name("_native.c"), tmp_path)
    names = ("test_filters.py", "test_noise_split.py", "test_predict.py", "test_running_hash.py", "test_runs.py")
    tests = [Path(__file__).with_name(name) for name in names]
    sanitized.run_tests("rlds_kit.storage._native", built, *tests)

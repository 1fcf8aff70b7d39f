"""The C extensions that find, read and cache columns, under AddressSanitizer and UndefinedBehaviorSanitizer."""

from pathlib import Path

import pytest

from rlds_kit import storage
from tests import sanitized

HERE = Path(__file__).parent


@pytest.mark.slow
def test_columns_are_found_within_bounds(tmp_path: Path) -> None:
    """Also in headers that no writer would write."""
    built = sanitized.build(Path(storage.__file__).with_name("_columns.c"), tmp_path)
    sanitized.run_tests("rlds_kit.storage._columns", built, HERE / "test_located.py", HERE / "test_block_layout.py")


@pytest.mark.slow
def test_columns_are_cached_within_bounds(tmp_path: Path) -> None:
    """Also where what is cached was overwritten."""
    built = sanitized.build(Path(storage.__file__).with_name("_cached.c"), tmp_path)
    sanitized.run_tests("rlds_kit.storage._cached", built, HERE.parent / "loader" / "test_shared_cache.py")

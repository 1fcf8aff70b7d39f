"""The C extension under AddressSanitizer and UndefinedBehaviorSanitizer, fed with hostile data."""

from pathlib import Path

import pytest

from rlds_kit import riegeli
from tests import sanitized

SOURCE = Path(riegeli.__file__).with_name("_native.c")


@pytest.mark.slow
def test_hostile_data_under_sanitizers(tmp_path: Path, implementation: str) -> None:
    """Ten seconds of mutated chunks and random programs read or write no byte that they should not."""
    if implementation == "pure":
        pytest.skip("runs once")
    built = sanitized.build(SOURCE, tmp_path)
    done = sanitized.run(Path(__file__).with_name("fuzz_native.py"), built, 10, 0)
    assert done.returncode == 0, done.stderr
    tried, passed = map(int, done.stdout.split())
    assert tried > passed > 0

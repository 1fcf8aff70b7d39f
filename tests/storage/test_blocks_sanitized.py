"""The C extension that makes blocks under AddressSanitizer and UndefinedBehaviorSanitizer."""

from pathlib import Path

import pytest

from rlds_kit.storage import block
from tests import sanitized

HERE = Path(__file__).parent


@pytest.mark.slow
def test_blocks_under_sanitizers(tmp_path: Path) -> None:
    """Its tests, and those of recorders, read or write no byte that they should not."""
    built = sanitized.build(Path(block.__file__).with_name("_blocks.c"), tmp_path)
    tests = [
        HERE / f"test_{name}.py"
        for name in ("block_header", "lane_blocks", "lane_pieces", "leaf_states", "part_records", "round_trip")
    ]
    sanitized.run_tests("rlds_kit.storage._blocks", built, *tests)

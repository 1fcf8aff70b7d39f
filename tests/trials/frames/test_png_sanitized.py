"""The C extension of PNG under AddressSanitizer and UndefinedBehaviorSanitizer."""

from pathlib import Path

import pytest

from rlds_kit.trials.frames import png
from tests import sanitized


@pytest.mark.slow
def test_pictures_under_sanitizers(tmp_path: Path) -> None:
    """Its tests read or write no byte that they should not."""
    built = sanitized.build(Path(png.__file__).with_name("_native.c"), tmp_path)
    sanitized.run_tests("rlds_kit.trials.frames._native", built, Path(__file__).with_name("test_png.py"))

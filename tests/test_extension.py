"""C extensions and how they are kept out."""

import doctest
import os
import subprocess
import sys

import pytest

from rlds_kit import extension

PACKAGES = ("rlds_kit.riegeli", "rlds_kit.storage", "rlds_kit.studio.frames")


def test_examples() -> None:
    assert doctest.testmod(extension).failed == 0


@pytest.mark.parametrize("package", PACKAGES)
def test_a_variable_keeps_an_extension_out(package: str) -> None:
    """Whether it was built or not."""
    code = f"from rlds_kit.extension import extension; print(extension({package!r}))"
    environ = {**os.environ, "RLDS_KIT_PURE": "1"}
    said = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "None"

"""C extensions and how they are disabled."""

import doctest
import os
import subprocess
import sys

import pytest

from rlds_kit import extension

PACKAGES = ("rlds_kit.riegeli", "rlds_kit.storage", "rlds_kit.trials.frames")


def test_examples() -> None:
    assert doctest.testmod(extension).failed == 0


@pytest.mark.parametrize("package", PACKAGES)
def test_a_variable_keeps_an_extension_out(package: str) -> None:
    """Whether it was built or not."""
    code = f"from rlds_kit.extension import extension; print(extension({package!r}))"
    environ = {**os.environ, "RLDS_KIT_PURE": "1"}
    said = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "None"


@pytest.mark.parametrize("pure", ["0", "1"])
def test_the_package_says_whether_it_uses_its_extension(pure: str) -> None:
    """`HAS_EXTENSION` is true exactly where the module in C is loaded."""
    printed = "print(riegeli.HAS_EXTENSION, 'rlds_kit.riegeli._native' in sys.modules)"
    code = f"import sys; from rlds_kit import riegeli; {printed}"
    environ = {**os.environ, "RLDS_KIT_PURE": pure}
    said = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True).stdout
    has_extension, is_loaded = said.split()
    assert has_extension == is_loaded
    assert pure == "0" or has_extension == "False"

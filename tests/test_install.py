"""The line that installs an extra."""

import doctest
import os
import re
from pathlib import Path

import rlds_kit
from rlds_kit import install

CHECKOUT = Path(rlds_kit.__file__).parents[1]
SOURCES = [
    path
    for folder, _, files in os.walk(CHECKOUT / "rlds_kit", followlinks=True)
    for path in (Path(folder, name) for name in files)
    if path.suffix == ".py" and path.name != "install.py"
]


def test_examples() -> None:
    assert doctest.testmod(install).failed == 0


def test_no_other_module_says_how_to_install() -> None:
    """While the name is not registered on an index, `pip install rlds-kit` could install another author's package."""
    assert len(SOURCES) > 400
    assert [path for path in SOURCES if re.search(r"pip install .*rlds-kit", path.read_text("utf-8"))] == []

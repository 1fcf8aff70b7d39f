"""The examples in the docstrings."""

import doctest
import importlib

import pytest

MODULES = ("clock", "frames_out", "from_browser", "latency", "to_browser")


@pytest.mark.parametrize("name", [*(f"play.{module}" for module in MODULES), "frames.png"])
def test_examples_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"rlds_kit.studio.{name}"))
    assert (result.failed, result.attempted > 0) == (0, True)

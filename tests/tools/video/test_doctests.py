"""The examples in the docstrings."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["tools.video.episode_frames", "tools.video.pictures", "base.frame_rate"])
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    result = doctest.testmod(importlib.import_module(f"rlds_kit.{name}"))
    assert (result.failed, result.attempted > 0) == (0, True)

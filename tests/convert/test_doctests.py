"""The examples in the docstrings."""

import doctest
import importlib

import pytest

MODULES = [
    *("crc32c", "tf_record", "tfds_splits", "last_steps", "images"),
    *("envlogger_reader", "formats", "minari_columns", "minari_spaces", "row_content", "rows"),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Every example gives what its docstring says."""
    module = importlib.import_module(f"rlds_kit.convert.{name}")
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)

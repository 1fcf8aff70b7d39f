"""The examples in the docstrings."""

import doctest
import importlib

import pytest

MODULES = [
    *("decoded_size", "envlogger_encode", "final_observation"),
    *("crc32c", "tf_record", "tfds_splits", "last_steps", "images", "image_size"),
    *(
        "lerobot_names",
        "envlogger_reader",
        "formats",
        "minari_columns",
        "minari_spaces",
        "episode_content",
        "parts",
        "rows",
        "spec_without",
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Every example gives what its docstring says."""
    module = importlib.import_module(f"rlds_kit.convert.{name}")
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)

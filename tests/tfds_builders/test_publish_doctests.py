"""The examples in the docstrings of what publishes."""

import doctest
import importlib

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

MODULES = [
    *("beam_examples", "config_generator", "envlogger_source", "episode_writer", "example_digest", "example_limit"),
    *("fitting", "folders", "new_builder", "proof", "publish_builder", "source", "unfinished"),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Every example gives what its docstring says."""
    module = importlib.import_module(f"rlds_kit.tfds_builders.{name}")
    found = doctest.testmod(module, extraglobs={"tf": tf, "tfds": tfds})
    assert found.failed == 0

"""The examples in the docstrings."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from rlds_kit import tfds_builders

MODULES = [module.name for module in pkgutil.iter_modules(tfds_builders.__path__) if not module.ispkg]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    """Runs the examples of all docstrings."""
    module = importlib.import_module(f"rlds_kit.tfds_builders.{name}")
    assert doctest.testmod(module, extraglobs={"np": np, "tf": tf, "tfds": tfds}).failed == 0

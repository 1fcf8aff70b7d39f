"""The tests of `rlds.tfds`, run against our functions under its names."""

import ast
import importlib.metadata
import inspect
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rlds_kit import tfds_builders
from rlds_kit.tfds_builders import config_generator
from tests.transformations import rlds_alias

try:
    DISTRIBUTION = importlib.metadata.distribution("rlds")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("needs rlds, which the extra `dev-all` has on Linux x86-64", allow_module_level=True)

FOLDER = Path(str(DISTRIBUTION.locate_file("rlds/tfds")))
NAMES = ["extract_feature_from_data", "generate_config_from_spec"]


def _original_tests() -> ModuleType:
    """The test file, with ours as the modules that it imports."""
    package, module = ModuleType("rlds.tfds"), ModuleType("rlds.tfds.config_generator")
    vars(module).update({name: getattr(config_generator, name) for name in NAMES})
    vars(package)["config_generator"] = module
    aliases = {"rlds": ModuleType("rlds"), "rlds.tfds": package, "rlds.tfds.config_generator": module}
    before = {name: found for name, found in sys.modules.items() if name.partition(".")[0] == "rlds"}
    try:
        sys.modules.update(aliases)
        return rlds_alias.load("original.config_generator_test", FOLDER / "config_generator_test.py")
    finally:
        for name in aliases:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def _tests() -> Iterator[Any]:
    for group in unittest.TestLoader().loadTestsFromModule(_original_tests()):
        assert isinstance(group, unittest.TestSuite)
        for test in group:
            assert isinstance(test, unittest.TestCase)
            yield pytest.param(test, id=test.id().rpartition(".")[2])


@pytest.mark.parametrize("test", list(_tests()))
def test_original(test: unittest.TestCase) -> None:
    """A test of the original passes."""
    result = unittest.TestResult()
    test.run(result)
    assert [trace for _, trace in result.errors + result.failures] == []
    assert result.testsRun == 1
    assert not result.skipped


def test_all_of_the_original_tests_are_run() -> None:
    """Every test that the file defines is among them."""
    text = (FOLDER / "config_generator_test.py").read_text("utf-8")
    assert len(list(_tests())) == text.count("  def test_")


def _functions(file: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions, and constructors by the name of their class. The modules are read, not imported."""
    for node in ast.parse((FOLDER / file).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            yield from (
                (node.name, one) for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"
            )


PUBLIC = [*_functions("config_generator.py"), *_functions("episode_writer.py")]


def test_public_names() -> None:
    """They are the ones that are known here."""
    assert [name for name, _ in PUBLIC] == [*NAMES, "EpisodeWriter"]


@pytest.mark.parametrize(("name", "function"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_parameters(name: str, function: ast.FunctionDef) -> None:
    """They have the names, order and defaults of the original, so that every call of it is one of ours."""
    ours = inspect.signature(getattr(tfds_builders, name)).parameters
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    assert list(ours)[: len(names)] == names
    assert list(ours)[len(names) :] == (["file_format"] if name == "EpisodeWriter" else [])  # of a later version
    defaults = [ours[one].default for one in names if ours[one].default is not inspect.Parameter.empty]
    theirs = [ast.unparse(default) for default in function.args.defaults]
    shown = [f"tfds.features.{value}" if hasattr(value, "name") else repr(value) for value in defaults]
    assert shown == theirs

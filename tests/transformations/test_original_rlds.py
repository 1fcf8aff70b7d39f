"""The tests of the `rlds` distribution, run against our functions under its names."""

import ast
import importlib.metadata
import inspect
import re
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rlds_kit import transformations
from rlds_kit.base import rlds_types
from tests.transformations import rlds_alias

VERSION = "0.1.8"

# Test files that tests/tfds_builders/test_original_rlds_tfds.py runs.
ELSEWHERE = {"rlds/tfds/config_generator_test.py"}
RUN = {
    "rlds/rlds_types_test.py",
    "rlds/transformations/alignment_test.py",
    "rlds/transformations/batched_helpers_test.py",
    "rlds/transformations/dataset_concat_test.py",
    "rlds/transformations/dataset_stats_test.py",
    "rlds/transformations/dataset_truncate_test.py",
    "rlds/transformations/flexible_batch_test.py",
    "rlds/transformations/nested_ops_test.py",
    "rlds/transformations/pattern_test.py",
    "rlds/transformations/shape_ops_test.py",
}

# In the repository of the original, but in no release.
HEAD_ONLY = {"uniform_from_spec", "EpisodeFilterFn", "StepFilterFn", "StepMapFn", "StepsToStepsFn"}

try:
    DISTRIBUTION = importlib.metadata.distribution("rlds")
except importlib.metadata.PackageNotFoundError:
    pytest.skip(f"needs rlds {VERSION}, which the extra `dev-all` has on Linux x86-64", allow_module_level=True)

FILES = {str(file): Path(str(file.locate())) for file in DISTRIBUTION.files or () if file.name.endswith("_test.py")}


def _modules() -> Iterator[tuple[str, ModuleType]]:
    library = Path(str(DISTRIBUTION.locate_file("rlds/transformations/transformations_testlib.py")))
    with rlds_alias.aliased(library):
        for name in sorted(RUN & FILES.keys()):
            yield Path(name).stem, rlds_alias.load(f"original.{Path(name).stem}", FILES[name])


def _tests() -> Iterator[Any]:
    loader = unittest.TestLoader()
    for name, module in _modules():
        for group in loader.loadTestsFromModule(module):
            assert isinstance(group, unittest.TestSuite)
            for test in group:
                assert isinstance(test, unittest.TestCase)
                yield pytest.param(test, id=f"{name}:{test.id().rpartition('.')[2]}")


@pytest.mark.thorough
@pytest.mark.parametrize("test", list(_tests()))
def test_original(test: unittest.TestCase) -> None:
    """A test of the original passes."""
    result = unittest.TestResult()
    test.run(result)
    assert [trace for _, trace in result.errors + result.failures] == []
    assert result.testsRun == 1
    assert not result.skipped


def _functions() -> Iterator[Any]:
    """Name and parameters of every function that the original exports. Its modules are read, not imported."""
    folder = Path(str(DISTRIBUTION.locate_file("rlds/transformations")))
    exported = {name for names in rlds_alias.PUBLIC.values() for name in names} | set(rlds_types.__all__)
    for path in [*sorted(folder.glob("*.py")), folder.parent / "rlds_types.py"]:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name in exported:
                names = [argument.arg for argument in node.args.args]
                yield pytest.param(node.name, names, [ast.unparse(one) for one in node.args.defaults], id=node.name)


@pytest.mark.parametrize(("name", "parameters", "defaults"), list(_functions()))
def test_parameters(name: str, parameters: list[str], defaults: list[str]) -> None:
    """They have the names, order and defaults of the original, so that every call of it is one of ours."""
    function = getattr(transformations, name, None) or getattr(rlds_types, name)
    ours = inspect.signature(function).parameters
    assert list(ours) == parameters
    assert {one.kind for one in ours.values()} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    values = [str(one.default) for one in ours.values() if one.default is not inspect.Parameter.empty]
    assert values == [re.sub(r"(\w+\.)?BATCH_AUTO_TUNE", "-1", default) for default in defaults]


def test_parameters_of_a_later_version() -> None:
    """Those of the one function that is in its repository but in no release."""
    assert list(inspect.signature(transformations.uniform_from_spec).parameters) == ["spec", "minval", "maxval", "seed"]


def test_every_exported_name_is_here() -> None:
    """What `rlds`, its metadata and its transformations export, `rlds_types` or `transformations` have."""
    folder = Path(str(DISTRIBUTION.locate_file("rlds")))
    exported = {
        alias.name
        for file in ("__init__.py", "transformations/__init__.py", "metadata/__init__.py")
        for node in ast.parse((folder / file).read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    ours = {*rlds_types.__all__, *transformations.__all__}
    assert (exported - ours) | (HEAD_ONLY - ours) == {"metadata", "transformations"}


def test_every_test_file_is_known() -> None:
    """No test file of the original is left out, and it is the release whose tests these are."""
    assert DISTRIBUTION.version == VERSION
    assert FILES.keys() == RUN | ELSEWHERE

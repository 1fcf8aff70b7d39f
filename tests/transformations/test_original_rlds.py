"""The tests of the `rlds` distribution, run against our functions under its names."""

import importlib.metadata
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.transformations import rlds_alias

VERSION = "0.1.8"

# Test files that are not run, and why.
LATER = {"rlds/tfds/config_generator_test.py": "rlds.tfds: its counterpart will be in rlds_kit.tfds_builders"}
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

try:
    DISTRIBUTION = importlib.metadata.distribution("rlds")
except importlib.metadata.PackageNotFoundError:
    pytest.skip(f"needs rlds {VERSION}, which the extra `dev` has on Linux x86-64", allow_module_level=True)

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


@pytest.mark.parametrize("test", list(_tests()))
def test_original(test: unittest.TestCase) -> None:
    """A test of the original passes."""
    result = unittest.TestResult()
    test.run(result)
    assert [trace for _, trace in result.errors + result.failures] == []
    assert result.testsRun == 1
    assert not result.skipped


@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=pytest.mark.skip(reason=why)) for file, why in LATER.items()]
)
def test_original_of_a_later_room(file: str) -> None:
    """A test file of the original whose subject does not exist here yet."""


def test_every_test_file_is_known() -> None:
    """No test file of the original is left out, and it is the release whose tests these are."""
    assert DISTRIBUTION.version == VERSION
    assert FILES.keys() == RUN | LATER.keys()

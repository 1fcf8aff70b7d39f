"""What may be missing, and what must not be: skips of libraries, and `RLDS_KIT_REQUIRE`."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import optional
from tests.required import REASONS, VARIABLE

CONFTEST = "from tests.conftest import *"
SKIPPING = """
import pytest

def test_browser() -> None:
    pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")

@pytest.mark.xfail(reason="Chromium is not installed")
def test_expected_failure() -> None:
    raise AssertionError

def test_function_without_its_library() -> None:
    import no_such_library

def test_other_skip() -> None:
    pytest.skip("no IPv6")
"""


def run_pytest(directory: Path, source: str, required: str = "") -> subprocess.CompletedProcess[str]:
    """Run a test file with the hooks of these tests, while the variable has a value."""
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "test_it.py").write_text(source)
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rsf", f"--rootdir={directory}"]
    return subprocess.run(
        [*command, str(directory)],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": path, VARIABLE: required},
        capture_output=True,
        text=True,
        check=False,
    )


def test_examples() -> None:
    assert doctest.testmod(optional).failed == 0


def test_nothing_is_required_by_default(tmp_path: Path) -> None:
    """Skips are skips, also that of a test whose library is not installed."""
    done = run_pytest(tmp_path, SKIPPING)
    assert "3 skipped, 1 xfailed" in done.stdout
    assert "could not import 'no_such_library'" in done.stdout


@pytest.mark.parametrize(
    ("required", "failed"),
    [("chromium", "test_browser"), (" imports, postgresql", "test_function_without_its_library")],
)
def test_skip_for_want_of_what_is_required_fails(required: str, failed: str, tmp_path: Path) -> None:
    """Only that one; the failure has the name and the reason."""
    done = run_pytest(tmp_path, SKIPPING, required)
    assert "1 failed, 2 skipped, 1 xfailed" in done.stdout
    assert f"FAILED test_it.py::{failed}" in done.stdout
    assert f"{VARIABLE} has {required.partition(',')[0].strip()!r}, but this test would be skipped" in done.stdout


@pytest.mark.thorough
def test_module_without_its_library_is_skipped_unless_that_is_required(tmp_path: Path) -> None:
    """Whether the import is the module's own, or one of a module of ours with an error that names the extra."""
    source = "import no_such_library\ndef test_it() -> None: ..."
    assert "1 skipped" in run_pytest(tmp_path, source).stdout
    assert "1 error" in run_pytest(tmp_path, source, "imports").stdout
    chained = (
        "try:\n    import no_such_library\n"
        "except ImportError as error:\n    raise ImportError('needs an extra') from error\n"
    )
    assert "1 skipped" in run_pytest(tmp_path, chained).stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    "source", ["import tests.no_such_file", "from pathlib import NoSuchName", "import rlds_kit.nothing"]
)
def test_import_that_is_wrong_is_an_error(source: str, tmp_path: Path) -> None:
    """Files of the project, and names in installed libraries, can never be missing for a valid reason."""
    assert "1 error" in run_pytest(tmp_path, source).stdout


def test_unknown_name_is_refused(tmp_path: Path) -> None:
    """A mistyped name would require nothing."""
    done = run_pytest(tmp_path, SKIPPING, "chromum")
    assert done.returncode == 4
    assert f"{VARIABLE}: expected some of {', '.join(REASONS)}, got chromum" in done.stderr

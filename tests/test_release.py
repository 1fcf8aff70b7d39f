"""The parts of a release: pinned actions, wheels for an index, and the addresses of the project."""

import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import rlds_kit

yaml = pytest.importorskip("yaml")

CHECKOUT: Final = Path(__file__).parents[1]
WORKFLOWS: Final = CHECKOUT / ".github" / "workflows"
NEWEST_GLIBC: Final = (2, 14)
"""`auditwheel` finds this one for what is committed: older systems than any that has a supported Python."""

pytestmark = pytest.mark.skipif(not WORKFLOWS.exists(), reason="a wheel holds no workflows")


def jobs_of(workflow: str) -> dict[str, Any]:
    """The jobs by their names."""
    jobs: dict[str, Any] = yaml.safe_load((WORKFLOWS / workflow).read_text("utf-8"))["jobs"]
    return jobs


def test_actions_are_pinned_to_a_commit() -> None:
    """The owner of a tag can move it, so actions are pinned by commit; the tag beside it is for people."""
    lines = itertools.chain.from_iterable(path.read_text("utf-8").splitlines() for path in WORKFLOWS.glob("*.yml"))
    used = [line.strip() for line in lines if "uses:" in line]
    assert len(used) > 10
    assert [line for line in used if not re.fullmatch(r"- uses: [\w/-]+@[0-9a-f]{40}  # v[\d.]+", line)] == []


def test_one_job_needs_all_that_a_branch_must_pass() -> None:
    """A job that fails, is skipped or is cancelled is not green; those of the schedule are not for branches."""
    jobs = jobs_of("ci.yml")
    green = jobs.pop("all-green")
    assert green["if"] == "always()"
    assert green["needs"] == [name for name, job in jobs.items() if "schedule" not in str(job.get("if"))]
    (step,) = green["steps"]
    assert step["env"] == {"RESULTS": "${{ join(needs.*.result, ' ') }}"}
    assert step["run"] == f'test "$RESULTS" = "{" ".join(["success"] * len(green["needs"]))}"'


def test_the_index_trusts_the_workflow_and_no_password() -> None:
    """Only a tag publishes, only the results of both other jobs, and only that job gets an identity token."""
    jobs = jobs_of("release.yml")
    publish = jobs.pop("publish")
    assert publish["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert publish["needs"] == [*jobs] == ["wheels", "sdist"]
    assert (publish["environment"], publish["permissions"]) == ("pypi", {"id-token": "write"})
    text = (WORKFLOWS / "release.yml").read_text("utf-8")
    assert "secrets." not in text
    assert text.count("id-token") == 1


def test_what_hosts_look_for_is_there() -> None:
    """By these names they show how to report what must not be public, and ask what a report needs."""
    found = {path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / ".github").rglob("*.md")}
    assert {*found, "SECURITY.md"} == {
        ".github/ISSUE_TEMPLATE/fault.md",
        ".github/ISSUE_TEMPLATE/wish.md",
        ".github/pull_request_template.md",
        "SECURITY.md",
    }
    assert "public issue" in (CHECKOUT / "SECURITY.md").read_text("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no glibc")
def test_extensions_need_an_old_glibc_only() -> None:
    """So `auditwheel` gives the wheel a tag that an index accepts, and that old systems support."""
    elffile = pytest.importorskip("elftools.elf.elffile")
    gnuversions = pytest.importorskip("elftools.elf.gnuversions")
    package = Path(rlds_kit.__file__).parent
    built = [*package.glob("*/_*.abi3.so"), *package.glob("trials/frames/_*.abi3.so")]
    if not built:
        pytest.skip("the extension was not built")
    for path in built:
        with path.open("rb") as file:
            sections = [*elffile.ELFFile(file).iter_sections()]
            needed = [each for each in sections if isinstance(each, gnuversions.GNUVerNeedSection)]
            names = [version.name for each in needed for _, versions in each.iter_versions() for version in versions]
        assert {name.partition("_")[0] for name in names} <= {"GLIBC"}, path
        numbers = [tuple(map(int, name.partition("_")[2].split("."))) for name in names]
        assert max(numbers)[:2] <= NEWEST_GLIBC, path


def test_metadata_have_the_addresses_of_the_repository(tmp_path: Path) -> None:
    """As soon as there is one: an index shows them beside the package."""
    pytest.importorskip("setuptools")
    rooms = [path.name for path in (CHECKOUT / "rlds_kit").iterdir() if path.is_symlink()]
    for name in ("rlds_kit", *rooms):
        (tmp_path / name).mkdir()
    for name in ("setup.py", "LICENSE", "README.md", "rlds_kit/__init__.py", "rlds_kit/_version.py"):
        shutil.copy(CHECKOUT / name, tmp_path / name)
    install = (CHECKOUT / "rlds_kit/install.py").read_text("utf-8")
    home = "https://example.org/rlds_kit"
    named, count = re.subn(r'REPOSITORY: Final = ".*"', f'REPOSITORY: Final = "{home}"', install)
    (tmp_path / "rlds_kit/install.py").write_text(named)
    command = [sys.executable, "setup.py", "--quiet", "egg_info"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (made,) = tmp_path.glob("*.egg-info/PKG-INFO")
    lines = made.read_text("utf-8").splitlines()
    assert count == 1
    assert [line for line in lines if home in line and line.startswith(("Home", "Project"))] == [
        f"Home-page: {home}",
        f"Project-URL: Changelog, {home}/blob/main/CHANGELOG.md",
        f"Project-URL: Documentation, {home}/tree/main/docs",
        f"Project-URL: Issues, {home}/issues",
    ]

"""The code in README.md and docs/ runs, and links lead somewhere."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rlds_kit.cli import main

CHECKOUT = Path(__file__).parent.parent
PAGES = sorted([*CHECKOUT.glob("README.md"), *CHECKOUT.glob("docs/**/*.md")])
COMMAND = "rlds-kit "
LONG = {"datasets.md", "octo_openvla_dlimp.md", "pipelines.md", "preferences.md", "publishing.md", "reading.md"}
"""Pages whose code runs for seconds: `make test-all`."""

pytestmark = pytest.mark.skipif(not (CHECKOUT / "README.md").exists(), reason="a wheel holds no docs")


def _name(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


def _languages(page: Path) -> set[str]:
    return {language for _, language, _ in _blocks(page)}


def _blocks(page: Path) -> Iterator[tuple[int, str, str]]:
    """Line, language and text of each block of code."""
    text = page.read_text("utf-8")
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, found.start(2)) + 1, found[1], found[2]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=_name(page), marks=[pytest.mark.thorough] if page.name in LONG else [])
        for page in PAGES
        if any(_blocks(page))
    ],
)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks and `rlds-kit` commands of a page run from top to bottom; `# raises X` marks an expected error."""
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.thorough
@pytest.mark.parametrize("page", [pytest.param(page, id=_name(page)) for page in PAGES if "python" in _languages(page)])
def test_code_needs_only_what_the_page_names(page: Path, tmp_path: Path) -> None:
    """The extras in its `pip install` commands are enough; the development extra would hide a missing one."""
    command = [sys.executable, "-m", "tests.only_extras", str(page)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def run_page(page: Path) -> None:
    """Runs the Python blocks and the `rlds-kit` commands of a page in the current folder, from top to bottom."""
    names: dict[str, object] = {"__name__": "page"}
    for line, language, text in _blocks(page):
        if language == "python":
            _run_python(text, f"{_name(page)}", line, names)
        elif language == "bash":
            for command in text.splitlines():
                if command.startswith(COMMAND):
                    _run_command(command.removeprefix(COMMAND))


def _run_python(text: str, page: str, line: int, names: dict[str, object]) -> None:
    code = compile("\n" * (line - 1) + text, page, "exec")  # so that a traceback names the line of the page
    expected = re.findall(r"# raises (\w+)", text)
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(code, names)  # noqa: S102  our own pages
        except Exception as error:
            if [type(error).__name__] != expected:
                raise
            return
    assert not expected


def _run_command(command: str) -> None:
    """Runs a command; `# exit 1` after it is the expected exit code."""
    arguments = shlex.split(command, comments=True)
    status = re.findall(r"# exit (\d+)", command)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are no errors for users of the command
        done = CliRunner().invoke(main, arguments)  # a process of its own would import everything again
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    assert done.exit_code == int(status[0] if status else 0), done.output


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that is there."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_lines_are_short(page: Path) -> None:
    """Prose is wrapped; only tables and dumps may be wide."""
    text = re.sub(r"^```\w*\n.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in text.splitlines() if len(line) > 125 and not line.startswith("|")] == []


def test_every_public_page_is_linked_from_the_readme() -> None:
    """Every page can be found by links."""
    text = (CHECKOUT / "README.md").read_text("utf-8")
    pages = [page for page in CHECKOUT.glob("docs/*.md") if f"(docs/{page.name})" not in text]
    assert pages == []

"""The program as a whole: finding commands, help, errors and exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import click
import pytest
from click.testing import CliRunner

import rlds_kit
from rlds_kit.cli import commands, main
from rlds_kit.cli.commands import CORE, Source, in_rooms, summary
from tests.tools.upkeep.mending import record

EXAMPLES = {"download": "hf://me/pong", "list": "data"}
"""By command, the argument in its example, if that is not `data/pong`."""
ROOT = Path(rlds_kit.__file__).parent.parent


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs the program as a user does."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "rlds_kit", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_help_lists_every_command() -> None:
    """Those of the core, and those of the rooms, each with a line of what it does."""
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for name in (*CORE, "record"):
        assert f"\n  {name} " in result.output


@pytest.mark.parametrize("name", sorted(CORE))
def test_each_command_has_help_with_an_example(name: str) -> None:
    """Help shows how the command is called, and its exit codes."""
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert f"rlds-kit {name} {EXAMPLES.get(name, 'data/pong')}" in result.output
    assert "Exit codes:" in result.output
    assert "--json" in result.output


def test_a_mistyped_command_gets_suggestions() -> None:
    """Those that are spelled alike; exit code 2, as for every wrong command line."""
    result = CliRunner().invoke(main, ["recrod"])
    assert (result.exit_code, "Did you mean record?" in result.stderr) == (2, True)
    result = CliRunner().invoke(main, ["xyzzy"])
    assert (result.exit_code, "`rlds-kit --help` lists all" in result.stderr) == (2, True)


def test_help_loads_nothing_heavy() -> None:
    """Neither simulators nor frameworks nor the code of any command."""
    code = (
        "import sys; from rlds_kit.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not loaded & {"gymnasium", "ale_py", "tensorflow", "rich", "rlds_kit.logger", "rlds_kit.cli.verify"}


def test_module_runs_as_a_program(tmp_path: Path) -> None:
    """`python -m rlds_kit` verifies a dataset, prints JSON alone on standard output and exits with 0."""
    done = run("verify", str(record(tmp_path / "d")), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["ok"] is True


def test_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """`rlds-kit stats data | head` ends quietly."""
    command = f"'{sys.executable}' -m rlds_kit stats '{record(tmp_path / 'd')}' --json | true"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, shell=True, env=env, capture_output=True, text=True, check=False)  # noqa: S602  a pipe
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", sorted(CORE))
def test_path_without_dataset_is_a_short_error(tmp_path: Path, name: str) -> None:
    """One line on standard error that says what to do, no traceback; exit code 2 where 1 is an answer."""
    to = {
        "convert": [],
        "diff": [],
        "download": [],
        "repair": [],
        "rechunk": [],
        "publish": ["--to"],
        "video": ["--to"],
    }
    to |= {
        "filter": ["--where=True"],
        "merge": [],
        "trim": [],
        "split": ["--part=all=1"],
        "delete": [f"--id={UUID(int=0)}"],
    }
    copy = [*to[name], str(tmp_path / "copy")] if name in to else []
    result = CliRunner().invoke(main, [name, str(tmp_path / "nothing"), *copy])
    assert result.exit_code == (2 if name in ("diff", "lint", "replay") else 1)
    assert result.stderr.startswith("Error: ")
    assert "expected a dataset" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("arguments", [["verify"], ["verify", "a", "b"], ["nonsense"], ["info", "a", "--no-such"]])
def test_bad_command_line_exits_with_2(arguments: list[str]) -> None:
    """Usage errors and faulty datasets have different exit codes."""
    assert CliRunner().invoke(main, arguments).exit_code == 2


def test_version_is_shown() -> None:
    """`--version` names the program and its version."""
    assert CliRunner().invoke(main, ["--version"]).output == f"rlds-kit, version {rlds_kit.__version__}\n"


def test_rooms_bring_commands_without_being_installed() -> None:
    """In a checkout the module `command` of a room is found, by its source text alone."""
    assert in_rooms()["record"] == Source("rlds_kit.logger.command", "record")


def test_summary_of_a_command_without_source_names_its_module() -> None:
    """A plugin that is not beside this package is still listed."""
    assert summary(Source("elsewhere.commands", "play")) == "from elsewhere.commands"


def test_command_that_cannot_be_loaded_is_a_short_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken plugin does not affect the others, and its error names its package."""
    monkeypatch.setattr(commands, "installed", lambda: {"broken": Source("no_such_module", "main")})
    group = commands.Commands(name="rlds-kit")
    result = CliRunner().invoke(group, ["broken"])
    assert (result.exit_code, "cannot be loaded from no_such_module" in result.stderr) == (1, True)
    assert "broken" in CliRunner().invoke(group, ["--help"]).output


def test_command_of_the_core_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin with the name of a core command is not used."""
    monkeypatch.setattr(commands, "installed", lambda: {"verify": Source("evil", "main")})
    assert commands.Commands().sources["verify"] == CORE["verify"]


def test_commands_are_loaded_when_called() -> None:
    """What a lazy group returns is an ordinary command."""
    group = commands.Commands()
    assert isinstance(group.get_command(click.Context(group), "info"), click.Command)

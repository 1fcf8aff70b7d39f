"""Programs are started in order, watched, started again, and ended; a status says how they are."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rlds_kit.base.errors import RldsKitError
from rlds_kit.trials.client import Client, ServiceError
from rlds_kit.trials.launcher import Launcher, PlanError, ProcessStatus, State, read_plan, read_settings, read_status
from rlds_kit.trials.launcher.command import trials
from rlds_kit.trials.service import Role, Signer
from tests.trials.service.services import corridor, ended

ENDS = [sys.executable, "-c", "pass"]
FAILS = [sys.executable, "-c", "raise SystemExit(3)"]
STAYS = [sys.executable, "-c", "import sys; sys.stdin.read()" if os.name == "nt" else "import signal; signal.pause()"]


def _write(folder: Path, **processes: dict[str, Any]) -> Path:
    """A file of programs; JSON's lists, numbers and texts are TOML's."""
    lines = []
    for name, table in processes.items():
        lines += [f"[processes.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    path = folder / "trials.toml"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_g24_programs_start_when_those_that_they_need_are_ready(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        last={"command": ENDS, "after": ["middle", "first"]},
        middle={"command": ENDS, "after": ["first"]},
        first={"command": ENDS},
    )
    seen: list[ProcessStatus] = []
    assert Launcher(read_plan(path), seen.append).run()
    running = [each.name for each in seen if each.state is State.RUNNING]
    assert running == ["first", "middle", "last"]
    assert [(each.name, each.state, each.code) for each in read_status(path)] == [
        (name, State.ENDED, 0) for name in ("first", "middle", "last")
    ]


def test_g24_who_fails_is_started_again_and_reported(tmp_path: Path) -> None:
    path = _write(tmp_path, weak={"command": FAILS, "restarts": 2})
    seen: list[ProcessStatus] = []
    assert not Launcher(read_plan(path), seen.append).run()
    assert [each.state for each in seen].count(State.FAILED) == 3
    (status,) = read_status(path)
    assert (status.state, status.code, status.restarts) == (State.FAILED, 3, 2)


def test_who_ends_before_it_is_ready_ends_all(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        server={"command": ENDS, "ready": "http://127.0.0.1:9/health", "after": ["stays"]},
        stays={"command": STAYS},
        needs={"command": ENDS, "after": ["server"]},
    )
    with pytest.raises(PlanError, match="server ended before it was ready"):
        Launcher(read_plan(path)).run()
    states = {each.name: each.state for each in read_status(path)}
    assert states == {"stays": State.ENDED, "server": State.ENDED, "needs": State.WAITING}


def test_all_programs_are_ended_in_reverse(tmp_path: Path) -> None:
    path = _write(tmp_path, first={"command": STAYS}, second={"command": STAYS, "after": ["first"]})
    seen: list[ProcessStatus] = []
    is_running = lambda: [each.state for each in seen].count(State.RUNNING) == 2  # noqa: E731
    assert Launcher(read_plan(path), seen.append, is_running).run()
    assert [each.name for each in seen if each.state is State.ENDED] == ["second", "first"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a table"),
        ("[processes.a]", "expected a command"),
        ("[processes.a]\ncommand = 'ls'", "command cannot be"),
        ("[processes.a]\ncommand = [1]", "command cannot be"),
        ("[processes.a]\ncommand = ['ls']\nafter = ['b']", "expected one of a in after, got 'b'"),
        ("[processes.a]\ncommand = ['ls']\nafter = ['a']", "do not wait for each other"),
        ("[processes.a]\ncommand = ['ls']\nport = 1", "expected a command, and perhaps"),
        ("[[", "expected a TOML file"),
    ],
)
def test_files_that_are_not_valid_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "trials.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(PlanError, match=problem):
        read_plan(path)


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path, none={"command": [str(tmp_path / "no-such-program")]})
    with pytest.raises(PlanError, match="none cannot be started"):
        Launcher(read_plan(path)).run()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that does nothing")
def test_a_launcher_that_was_killed_leaves_programs_lost(tmp_path: Path) -> None:
    path = _write(tmp_path, a={"command": ENDS})
    with pytest.raises(PlanError, match="never started"):
        read_status(path)
    gone = subprocess.Popen(ENDS)
    gone.wait()
    status = {"launcher": gone.pid, "processes": [{"name": "a", "state": "running", "pid": 1}]}
    path.with_name(".trials.toml.status.json").write_text(json.dumps(status), "utf-8")
    assert [each.state for each in read_status(path)] == [State.LOST]


SERVICE = """
[service]
port = 0
directory = "data"
join_seconds = 30.0
per_second = 1000

[service.environments.corridor]
id = "tests.trials.environments.odd_environments:rlds_kit_tests/Corridor-v0"

[service.actors]
right = "tests.trials.actors.odd_actors:Right"
"""


def test_g24_tokens_of_a_file_are_its_services(tmp_path: Path) -> None:
    """The secret is made once, and only its owner can read it."""
    path = tmp_path / "trials.toml"
    path.write_text(SERVICE, "utf-8")
    done = CliRunner().invoke(trials, ["token", str(path), "actor", "ann", "--hours", "1"])
    assert done.exit_code == 0, done.output
    settings, host, port = read_settings(path)
    token = Signer(settings.secret).read(done.output.strip())
    assert (token.name, token.role, host, port) == ("ann", Role.ACTOR, "127.0.0.1", 0)
    assert settings.directory == str(tmp_path / "data")
    if os.name != "nt":
        assert (tmp_path / ".trials-secret").stat().st_mode & 0o077 == 0
    path.write_text("[service]\nport = 1", "utf-8")
    with pytest.raises(RldsKitError, match="with environments"):
        read_settings(path)


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="ends a process by SIGTERM")
def test_g24_a_service_is_up_shows_its_status_and_ends(tmp_path: Path) -> None:
    """As commands of processes of their own, which play a trial."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = [sys.executable, "-c", "from rlds_kit.trials.launcher.command import trials; trials()"]
    path = tmp_path / "trials.toml"
    table = {"command": [*run, "serve", str(path)], "ready": f"http://127.0.0.1:{port}/health"}
    _write(tmp_path, service=table)
    path.write_text(f"{path.read_text('utf-8')}\n{SERVICE.replace('port = 0', f'port = {port}')}", "utf-8")
    root = str(Path(__file__).parents[3])
    up = subprocess.Popen(
        [*run, "up", str(path)], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root}
    )
    timer = threading.Timer(200, up.kill)
    timer.start()
    try:
        assert up.stdout is not None
        lines = iter(up.stdout.readline, "")
        assert any(line == "service: running\n" for line in lines)
        shown = CliRunner().invoke(trials, ["ps", str(path), "--json"])
        assert [each["state"] for each in json.loads(shown.output)] == ["running"]
        made = CliRunner().invoke(trials, ["token", str(path), "admin", "ann"])
        with Client(f"http://127.0.0.1:{port}", made.output.strip()) as client:
            assert ended(client, client.start(corridor())).status == "completed"
            revoked = CliRunner().invoke(trials, ["revoke", str(path), "ann"])
            assert revoked.exit_code == 0, revoked.output
            with pytest.raises(ServiceError, match="the tokens of ann were revoked"):
                client.trials()
        assert json.loads((tmp_path / ".trials-revoked.json").read_text("utf-8")).keys() == {"ann"}
        up.send_signal(signal.SIGTERM)
        assert up.wait(100) == 0
    finally:
        timer.cancel()
        up.kill()
        up.wait()
        if up.stdout is not None:
            up.stdout.close()
    assert "ended" in CliRunner().invoke(trials, ["ps", str(path)]).output

"""The commands `rlds-kit trials`. What serves is imported when a command runs."""

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click

from rlds_kit.trials.launcher.launching import Launcher
from rlds_kit.trials.launcher.plan import read_plan
from rlds_kit.trials.launcher.status import ProcessStatus, read_status

FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.group()
def trials() -> None:
    """Run trials on servers: start programs, serve, and make tokens."""


@trials.command()
@FILE
def up(file: Path) -> None:
    """Start the programs of FILE (TOML), each when those that it needs are ready.

    Ctrl-C ends all of them. `rlds-kit trials ps FILE` shows how they are.

    \b
    rlds-kit trials up trials.toml

    Exit codes: 0 all have ended; 1 one failed, or FILE is not valid.
    """  # noqa: D301  with the backspace click does not wrap
    with _stopping() as stopped:
        is_fine = Launcher(read_plan(file), _report, lambda: bool(stopped)).run()
    if not is_fine:
        raise SystemExit(1)


def _report(status: ProcessStatus) -> None:
    code = "" if status.code is None else f" with code {status.code}"
    click.echo(f"{status.name}: {status.state.value}{code}")


@contextlib.contextmanager
def _stopping() -> Iterator[list[int]]:
    """A list that has something in it from Ctrl-C or SIGTERM on."""
    stopped: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        stopped.append(number)

    before: dict[signal.Signals, Any] = {
        number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@trials.command()
@FILE
@click.option("--json", "is_json", is_flag=True, help="For programs.")
def ps(file: Path, *, is_json: bool) -> None:
    """Show how the programs of FILE are.

    Exit codes: 0 shown; 1 they were never started.
    """
    statuses = read_status(file)
    if is_json:
        rows = [{"name": each.name, "state": each.state.value, "pid": each.pid, "code": each.code} for each in statuses]
        click.echo(json.dumps(rows))
        return
    width = max(len(each.name) for each in statuses)
    for each in statuses:
        click.echo(f"{each.name:{width}}  {each.state.value:8}  pid {each.pid}  restarts {each.restarts}")


@trials.command()
@FILE
def serve(file: Path) -> None:
    """Serve trials as the table [service] of FILE says. Ctrl-C ends it.

    Exit codes: 0 ended; 1 FILE is not valid, or the port is taken.
    """
    import asyncio

    from rlds_kit.trials.launcher.service_file import read_settings
    from rlds_kit.trials.service import serving

    settings, host, port = read_settings(file)
    try:
        listening = serving.listen(host, port)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror}") from error
    click.echo(serving.url_of(listening))
    asyncio.run(serving.serve(settings, listening))


@trials.command()
@FILE
@click.argument("role", type=click.Choice(["admin", "actor", "watcher"]))
@click.argument("name")
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), default=24.0, show_default=True)
def token(file: Path, role: str, name: str, hours: float) -> None:
    """Print a token of the service of FILE for NAME, who may do what ROLE may.

    Exit codes: 0 printed; 1 FILE is not valid.
    """
    from rlds_kit.trials.launcher.service_file import read_secret
    from rlds_kit.trials.service.tokens import Role, Signer

    click.echo(Signer(read_secret(file)).sign(name, Role(role), seconds=hours * 3600))


@trials.command()
@FILE
@click.argument("name")
def revoke(file: Path, name: str) -> None:
    """Have the service of FILE, which runs, refuse the tokens of NAME that were made until now.

    Programs with such a token lose their seats. `rlds-kit trials token` makes new ones.

    Exit codes: 0 revoked; 1 FILE is not valid, or the service does not answer.
    """
    from rlds_kit.trials.client import Client, ServiceError
    from rlds_kit.trials.launcher.service_file import read_secret, read_settings
    from rlds_kit.trials.service.tokens import Role, Signer

    _, host, port = read_settings(file)
    own = Signer(read_secret(file)).sign("rlds-kit trials revoke", Role.ADMIN, seconds=60)
    try:
        with Client(f"http://{host}:{port}", own) as client:
            client.revoke(name)
    except ServiceError as error:
        raise click.ClickException(str(error)) from error

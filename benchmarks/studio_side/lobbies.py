"""A thousand people wait in a lobby of a whole studio: what that takes, and that no process is started for them."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection
from websockets.asyncio.client import connect

from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.secret import secret_of
from rlds_kit.studio.accounts.signing import Signer
from rlds_kit.studio.database import studies, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.engine import FILE, sqlite_url
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.seating import SeatPlan, Together
from rlds_kit.studio.database.studies import Content, StudyEnvironment
from rlds_kit.studio.database.tokens import Kind
from studio_side.processes import HERE, Server

TOGETHER: Final = 20
"""People who connect at the same time."""
NOBODY: Final = f"{__name__}:nobody"


def nobody(waiting: Sequence[object], size: int) -> list[list[object]]:  # noqa: ARG001  a matchmaker's
    """Puts nobody together: all wait."""
    return []


@dataclass(frozen=True)
class Crowd:
    """People who wait.

    Attributes:
      people: how many.
      memory: of the server for each, in KiB.
      seconds: from the first who comes until the last one knows that all are there.
      workers: processes of the server that were started for them.
    """

    people: int
    memory: float
    seconds: float
    workers: int


async def crowd(directory: Path, people: int) -> Crowd:
    """Has people wait until all know of each other.

    Args:
      directory: of a studio that is not there yet.
      people: how many.
    """
    wait, logins = await _prepared(directory, people)
    with _studio(directory) as server:
        before, workers, begun = server.memory(), server.workers(), time.monotonic()
        gate, all_know, over = asyncio.Semaphore(TOGETHER), asyncio.Barrier(people + 1), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for each in logins:
                tasks.create_task(_wait(server.url, each, wait, people, gate, all_know, over))
            await all_know.wait()
            seconds = time.monotonic() - begun
            memory = (server.memory() - before) * 1024 / people
            found = Crowd(people, memory, seconds, server.workers() - workers)
            over.set()
        return found


async def _prepared(directory: Path, people: int) -> tuple[dict[str, Any], list[str]]:
    """A studio with a study for two, and accounts; returns what they want, and their logins."""
    signer = Signer(secret_of(directory))
    async with await Database.open(sqlite_url(directory / FILE)) as database:
        study, environment, tokens = await database.run(_fill, people)
    wait = {"v": 1, "type": "wait", "study": study, "environment": environment}
    return wait, [signer.sign(Kind.ACCESS, each) for each in tokens]


def _fill(connection: Connection, people: int) -> tuple[str, str, list[str]]:
    owner = users.add(connection, Role.DESIGNER, "owner")
    seats = tuple(SeatPlan(name=name) for name in ("first_0", "second_0"))
    environment = StudyEnvironment(
        name="Pong",
        environment="atari/pong-v3",
        interface="pettingzoo",
        seats=seats,
        together=Together(matchmaker=NOBODY, most_waiting=people),
    )
    study = studies.add(connection, owner.id, Content(name="Pong", environments=(environment,)))
    studies.enable(connection, study.id, True)
    added = [users.add(connection, Role.PARTICIPANT, f"person {number}") for number in range(people)]
    return study.id, study.content.environments[0].id, [login.link(connection, each.id).token.id for each in added]


@contextmanager
def _studio(directory: Path) -> Iterator[Server]:
    paths = os.pathsep.join(map(str, (HERE.parent, HERE.parents[1])))
    command = [sys.executable, "-u", "-m", "rlds_kit", "studio", str(directory), "--port", "0", "--no-browser"]
    with subprocess.Popen(
        [*command, "--matchmaker", NOBODY],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101  for mypy: it is a pipe
            found = next(filter(None, (re.search(r"127\.0\.0\.1:\d+", line) for line in process.stdout)))
            yield Server(process.pid, f"ws://{found[0]}/ws/lobby")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


async def _wait(
    url: str,
    token: str,
    wait: dict[str, Any],
    people: int,
    gate: asyncio.Semaphore,
    all_know: asyncio.Barrier,
    over: asyncio.Event,
) -> None:
    """One person, until it is over."""
    headers = {"Authorization": f"Bearer {token}"}
    async with gate:
        socket = await connect(url, additional_headers=headers, compression=None, open_timeout=60, close_timeout=1)
    async with socket:
        await socket.send(json.dumps(wait))
        async for text in socket:
            message = json.loads(text)
            if message["type"] != "queue":
                raise RuntimeError(f"expected to wait, got {message}")
            if message["waiting"] == people:
                break
        await all_know.wait()
        await over.wait()

"""Many players at once, without browsers: pictures a second, CPU of the server, memory of those who wait."""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from studio_side.lobbies import crowd
from studio_side.processes import Server

from mug_side.servers import HERE, LAMP, Mug, mug, studio, usage
from tests.studio.play.server import Client
from tests.studio.player import seated, start
from tests.studio.studio_process import Api


@dataclass(frozen=True)
class Load:
    """How well many sessions went at once.

    Attributes:
      frames: a second, of the slowest player.
      cpu: cores that the server and its workers used.
    """

    frames: float
    cpu: float


def mug_load(python: Path, count: int, seconds: float) -> Load:
    """MUG steps on its server, and records nothing."""
    with mug(python, "server") as server, _players(python, server, count, seconds) as said:
        used = usage(server)
        before = sum(used.cpu_seconds())
        frames = json.loads(said.readline())
        return Load(min(frames) / seconds, (sum(used.cpu_seconds()) - before) / seconds)


@contextmanager
def _players(python: Path, server: Mug, count: int, seconds: float) -> Iterator[IO[str]]:
    """Who has begun; what they print when the time is over."""
    command = [str(python), str(HERE / "mug_clients.py"), server.url, str(count), str(seconds)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            if process.stdout is None or process.stdout.readline() != "begun\n":
                raise RuntimeError("players of MUG did not begin")
            yield process.stdout
        finally:
            process.kill()


def studio_load(count: int, seconds: float) -> Load:
    """The studio steps in its worker, and records."""
    with tempfile.TemporaryDirectory() as folder, studio(Path(folder) / "studio") as server:
        study = server.designer.study("Lamp", LAMP, instructions="Go on.")
        people = [server.person("participant", f"person {number}") for number in range(count)]
        return asyncio.run(_play(usage(server), [(each, each.session(study)[1]) for each in people], seconds))


async def _play(used: Server, people: list[tuple[Api, str]], seconds: float) -> Load:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(seated(*each)) for each in people]
        for client in clients:
            await start(client)
        pressing = [asyncio.create_task(_press(client)) for client in clients]
        await asyncio.sleep(1)
        before, frames = sum(used.cpu_seconds()), [len(client.frames) for client in clients]
        await asyncio.sleep(seconds)
        after, cpu = [len(client.frames) for client in clients], sum(used.cpu_seconds()) - before
        for each in pressing:
            each.cancel()
        return Load(min(b - a for a, b in zip(frames, after, strict=True)) / seconds, cpu / seconds)


async def _press(client: Client) -> None:
    """A key every half second, as the other players."""
    while True:
        for key in ("ArrowRight", "ArrowLeft"):
            await client.press(key)
            await asyncio.sleep(0.5)


def mug_waiting(python: Path, people: int) -> float:
    """KiB of MUG's server for each who waits for others."""
    with mug(python, "lobby") as server:
        before = usage(server).memory()
        with _players(python, server, people, 1.0) as said:
            said.readline()
            return (usage(server).memory() - before) * 1024 / people


def studio_waiting(people: int) -> float:
    """KiB of the studio's server for each who waits for others."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(crowd(Path(folder), people)).memory

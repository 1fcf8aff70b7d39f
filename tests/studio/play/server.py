"""A real server in a thread of its own, with real workers, and a client that speaks to it as a browser does."""

import asyncio
import contextlib
import json
import socket as sockets
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from rlds_kit.studio.play.attendance import Presence
from rlds_kit.studio.play.frame_header import SIZE, Header, unpack
from rlds_kit.studio.play.host import Admission, NotAdmittedError, PlayedEpisode, Scene
from rlds_kit.studio.play.live_sessions import LiveSessions
from rlds_kit.studio.play.socket import play_route
from rlds_kit.trials import Turn
from rlds_kit.trials.actors.actor_pool import ActorPool
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import WorkerPool

CORRIDOR = "tests.trials.environments.odd_environments:rlds_kit_tests/Corridor-v0"
LONG = "MountainCar-v0"
"""A game with long episodes: on a clock, one is not over before a slow machine has sent a message."""
PATIENCE = 60.0
"""Seconds until a test that waits for a message gives up."""


def scene(environment: str, directory: Path | None, **settings: Any) -> Scene:
    """A scene that is easy to say."""
    kwargs = settings.pop("kwargs", {})
    spec = EnvironmentSpec(environment, kwargs)
    return Scene(open=requests.Open(spec, None if directory is None else str(directory)), **settings)


def pressed(environment: str, directory: Path | None, **settings: Any) -> Scene:
    """One step for each key that goes down; nothing else makes time pass."""
    return scene(environment, directory, turn=Turn.PRESS, **settings)


@dataclass
class Hosting:
    """A host without accounts: a token is "session:person", "session:person:look" or "session:person::seat".

    Attributes:
      scenes: by session.
      begun: what was told.
      finished: likewise.
      ended: likewise, by session.
      presences: who came and went, as it was told.
      is_broken: whether the database is gone.
    """

    scenes: dict[str, Scene]
    begun_ids: list[str] = field(default_factory=list)
    episodes: list[PlayedEpisode] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    presences: list[Presence] = field(default_factory=list)
    is_broken: bool = False

    async def admit(self, token: str) -> Admission:
        """Reads the token."""
        session, _, rest = token.partition(":")
        holder, _, place = rest.partition(":")
        if session not in self.scenes or not holder:
            raise NotAdmittedError("token", "nobody knows this token")
        return Admission(session, holder, None if place == "look" else place.lstrip(":") or "player")

    async def scene(self, session: str) -> Scene:
        """Of the session."""
        return self.scenes[session]

    async def begun(self, session: str, number: int, episode_id: str, seed: int | None) -> None:
        """Notes it."""
        del session, number, seed
        self._check()
        self.begun_ids.append(episode_id)

    async def present(self, session: str, presence: Presence) -> None:
        """Notes it."""
        del session
        self._check()
        self.presences.append(presence)

    async def finished(self, episode: PlayedEpisode) -> None:
        """Notes it."""
        self._check()
        self.episodes.append(episode)

    async def ended(self, session: str, reason: str) -> None:
        """Notes it."""
        self._check()
        self.reasons[session] = reason

    def _check(self) -> None:
        if self.is_broken:
            raise OSError("the database is gone")


@dataclass
class Served:
    """A server that runs.

    Attributes:
      port: on loopback.
      host: what it told.
      pool: its workers.
      offset: of its clock, in nanoseconds.
    """

    port: int
    host: Hosting
    pool: WorkerPool
    live_sessions: LiveSessions
    loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        """Of the socket."""
        return f"ws://127.0.0.1:{self.port}/ws/play"


class Clock:
    """The system's, with jumps."""

    def __init__(self) -> None:
        self.offset = 0

    def __call__(self) -> int:
        """Now."""
        return time.monotonic_ns() + self.offset


@contextmanager
def serving(
    scenes: dict[str, Scene],
    *,
    workers: int = 1,
    environments_per_worker: int = 16,
    clock: Clock | None = None,
    answer_seconds: float = 30.0,
    sessions_per_person: int = 8,
    are_actors_here: bool = True,
    **options: Any,
) -> Iterator[Served]:
    """Serves sessions until the test is over; then ends them as a server does that is shut down."""
    ready = threading.Event()
    served: list[Served] = []
    errors: list[BaseException] = []
    listening = sockets.socket()
    listening.bind(("127.0.0.1", 0))
    servers: list[uvicorn.Server] = []

    async def serve() -> None:
        async with (
            WorkerPool(workers, environments_per_worker=environments_per_worker, answer_seconds=answer_seconds) as pool,
            ActorPool(is_here=are_actors_here) as actors,
        ):
            host = Hosting(scenes)
            live_sessions = LiveSessions(
                pool, host, clock or Clock(), actors=actors, sessions_per_person=sessions_per_person
            )
            app = Starlette(routes=[play_route(live_sessions, host, **options)])
            config = uvicorn.Config(app, log_config=None, log_level="error", lifespan="off", ws="websockets-sansio")
            server = _Announced(config, ready)
            servers.append(server)
            served.append(Served(listening.getsockname()[1], host, pool, live_sessions, asyncio.get_running_loop()))
            await server.serve(sockets=[listening])
            await live_sessions.close()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:  # noqa: BLE001  it is raised again by the test
            errors.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="server", daemon=True)
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        if not errors:
            yield served[0]
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
        assert not thread.is_alive(), "the server does not end"
    if errors:
        raise errors[0]


class _Announced(uvicorn.Server):
    """One that says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[sockets.socket] | None = None) -> None:
        """Begins to listen."""
        await super().startup(sockets)
        self._ready.set()


class Client:
    """A window, as a page keeps it.

    Attributes:
      frames: headers of those that came, in order.
      said: messages that came, in order.
    """

    def __init__(self, connection: ClientConnection, *, acknowledges: bool = True) -> None:
        self._connection = connection
        self._acknowledges = acknowledges
        self.frames: list[Header] = []
        self.payloads: list[bytes] = []
        self.said: list[dict[str, Any]] = []
        self._news = asyncio.Condition()
        self.closed: tuple[int, str] | None = None
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for data in self._connection:
                await self._take(data)
        async with self._news:
            self.closed = self._connection.close_code or 0, self._connection.close_reason or ""
            self._news.notify_all()

    async def _take(self, data: str | bytes) -> None:
        async with self._news:
            if isinstance(data, bytes):
                self.frames.append(unpack(data))
                self.payloads.append(data[SIZE:])
            else:
                self.said.append(json.loads(data))
            self._news.notify_all()
        if isinstance(data, bytes) and self._acknowledges:
            await self.send("ack", seq=self.frames[-1].sequence)

    async def send(self, type_: str, **fields: Any) -> None:
        """Sends a message."""
        await self._connection.send(json.dumps({"v": 1, "type": type_, **fields}))

    async def raw(self, data: str | bytes) -> None:
        """Sends what is no message."""
        await self._connection.send(data)

    async def until(self, condition: Callable[[Self], Any]) -> Any:
        """Waits until something is so, and returns it."""
        async with self._news, asyncio.timeout(PATIENCE):
            await self._news.wait_for(lambda: condition(self) or self.closed)
        found = condition(self)
        assert found, (self.closed, self.said[-3:])
        return found

    async def next_of(self, type_: str, since: int = 0, **fields: Any) -> dict[str, Any]:
        """Waits for a message of a type with such fields."""

        def found(_: Self) -> dict[str, Any] | None:
            return next(
                (
                    each
                    for each in self.said[since:]
                    if each["type"] == type_ and all(each[name] == value for name, value in fields.items())
                ),
                None,
            )

        said: dict[str, Any] = await self.until(found)
        return said

    async def frame_of(self, step: int, since: int = 0) -> Header:
        """Waits for the frame of a step."""
        header: Header = await self.until(lambda me: next((f for f in me.frames[since:] if f.step == step), None))
        return header

    async def frames_after(self, count: int) -> None:
        """Waits until more frames came than that."""
        await self.until(lambda me: len(me.frames) > count)

    async def reached(self, step: int) -> None:
        """Waits for the frame of a step, or a later one."""
        await self.until(lambda me: me.frames and me.frames[-1].step >= step)

    async def press(self, *keys: str, shown: int | None = None) -> None:
        """Presses keys at once and lets them go."""
        await self.send("keys", held=dict.fromkeys(keys, 1.0), shown=shown, time=1)
        await self.send("keys", held={}, shown=shown, time=2)

    async def is_closed(self) -> tuple[int, str]:
        """Waits until the server closes the window."""
        async with self._news, asyncio.timeout(PATIENCE):
            await self._news.wait_for(lambda: self.closed)
        assert self.closed is not None
        return self.closed

    async def lose(self) -> None:
        """Cuts the connection without a word."""
        self._connection.transport.abort()
        await self._reader

    async def close(self) -> None:
        """As a tab is closed."""
        await self._connection.close()
        await asyncio.gather(self._reader, return_exceptions=True)


@asynccontextmanager
async def entered(
    url: str,
    person: str = "s:ann",
    *,
    acknowledges: bool = True,
    kind: type[Client] = Client,
    **options: Any,
) -> AsyncIterator[Client]:
    """A window that has said hello; `options` are of the connection."""
    async with connect(url, compression=None, max_size=None, open_timeout=PATIENCE, **options) as connection:
        client = kind(connection, acknowledges=acknowledges)
        try:
            await client.send("hello", token=person)
            yield client
        finally:
            await client.close()


@asynccontextmanager
async def playing(url: str, person: str = "s:ann", **options: Any) -> AsyncIterator[Client]:
    """A window whose person has begun to play."""
    async with entered(url, person, **options) as client:
        await client.next_of("state", phase="waiting")
        await client.send("start")
        await client.next_of("state", phase="running")
        yield client


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Runs the client's side of a test."""
    asyncio.run(asyncio.wait_for(test(), 2 * PATIENCE))

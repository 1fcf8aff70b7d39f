"""A server without accounts, in a process of its own: `python server.py DIRECTORY` prints its port, and then serves.

A token is "KIND-NAME:PERSON" or "KIND-NAME:PERSON:SEAT", with the seat "look" for who looks on; KIND is one of `KINDS`.
"""

import contextlib
import json
import socket as sockets
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import uvicorn
from starlette.applications import Starlette

from rlds_kit.studio.crowd.counting import Counting
from rlds_kit.studio.play.attendance import Presence
from rlds_kit.studio.play.host import Admission, PlayedEpisode, Scene
from rlds_kit.studio.play.live_sessions import LiveSessions
from rlds_kit.studio.play.socket import play_route
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import WorkerPool
from studio_side.counted import FPS, counter
from studio_side.environments import LARGE, SMALL

KINDS: Final = {
    "game": EnvironmentSpec("ALE/Pong-v5"),
    "pair": EnvironmentSpec("atari/pong-v3", interface="pettingzoo"),
    "counted": EnvironmentSpec(
        "ALE/SpaceInvaders-v5", kwargs={"obs_type": "ram", "frameskip": 1, "repeat_action_probability": 0.0}
    ),
    "small": EnvironmentSpec(SMALL),
    "large": EnvironmentSpec(LARGE),
}


class Hosting:
    """Lets everybody in, and forgets everything but the recordings."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._counts: dict[str, Counting] = {}

    async def admit(self, token: str) -> Admission:
        """Whoever comes."""
        session, holder, *seat = token.split(":")
        return Admission(session, holder, None if seat == ["look"] else (seat or [SEAT])[0])

    async def scene(self, session: str) -> Scene:
        """A dataset for each kind, which all its sessions write to."""
        kind = session.partition("-")[0]
        counts = counter() if kind == "counted" else None
        watch = None if counts is None else self._counts.setdefault(session, Counting(counts.values))
        opened = requests.Open(KINDS[kind], str(self._directory / kind), counter=counts)
        return Scene(open=opened, fps=FPS, limits={"idle_seconds": None}, watch=watch)

    async def begun(self, session: str, number: int, episode_id: str, seed: int) -> None:
        """Nothing."""

    async def present(self, session: str, presence: Presence) -> None:
        """Nothing is noted."""

    async def finished(self, episode: PlayedEpisode) -> None:
        """Nothing."""

    async def ended(self, session: str, reason: str) -> None:  # noqa: ARG002  the interface's
        """Writes what was counted while it was played."""
        if session in self._counts:
            values = json.dumps(self._counts.pop(session).values)
            (self._directory / f"{session}.json").write_text(values, encoding="utf-8")


SEAT: Final = "player"


def serve(directory: Path) -> None:
    """Serves until the process gets a signal to end."""
    listening = sockets.create_server(("127.0.0.1", 0))

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with WorkerPool(environments_per_worker=32) as pool:
            host = Hosting(directory)
            live_sessions = LiveSessions(pool, host)
            app.router.routes.append(play_route(live_sessions, host))
            print(listening.getsockname()[1], flush=True)
            yield
            await live_sessions.close()

    with contextlib.suppress(KeyboardInterrupt):
        config = uvicorn.Config(Starlette(lifespan=life), log_level="error", ws="websockets-sansio")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    serve(Path(sys.argv[1]))

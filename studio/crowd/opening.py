"""Opens a crowd in a studio: its rows, its games, its routes, and what watches over its people."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.crowd.tasks import Crowd, Stage
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.anonymous import agent_id
from rlds_kit.studio.accounts.permissions import ForbiddenError
from rlds_kit.studio.accounts.secret import derived
from rlds_kit.studio.api.inspection import Inspector
from rlds_kit.studio.crowd.declaration_routes import DeclarationRoutes
from rlds_kit.studio.crowd.declaring import Declaring, opening_version
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.crowd.experimenter_routes import ExperimenterRoutes
from rlds_kit.studio.crowd.games import Game, GameError, environments_of, store_games
from rlds_kit.studio.crowd.host import CrowdHost
from rlds_kit.studio.crowd.links import Links
from rlds_kit.studio.crowd.missing import missing
from rlds_kit.studio.crowd.pay import Pay
from rlds_kit.studio.crowd.person_routes import PersonRoutes
from rlds_kit.studio.crowd.playing import Playing
from rlds_kit.studio.crowd.presence import Presence
from rlds_kit.studio.crowd.raffle_routes import RaffleRoutes
from rlds_kit.studio.database import crowds, declarations, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.lobby.messages import Refused
from rlds_kit.studio.lobby.socket import refuse, wait_in

with needs("studio"):
    from sqlalchemy import Connection
    from starlette.routing import BaseRoute, WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect

log = logging.getLogger(__name__)
PURPOSE: Final = "people of crowds"
"""What the key of ids and completion codes is derived from the studio's secret for."""
SWEEP_SECONDS: Final = 2.0
LOBBY: Final = "/ws/crowd"
_ALLOWED: Final = frozenset(
    {"/api/about", "/api/me", "/api/login", "/api/logout", "/api/crowd/arrivals", "/ws/play", LOBBY}
)
_ALLOWED_BELOW: Final = "/api/crowd/me"


async def open_desk(
    file: Crowd, database: Database, inspector: Inspector, secret: bytes, *, is_file_taken: bool = False
) -> Desk:
    """The people of a crowd, as they were; the first designer of the studio runs it.

    Args:
      file: what the file declares; see `declaring.opening_version` for whether that runs.
      database: of the studio.
      inspector: of the studio.
      secret: of the studio.
      is_file_taken: whether the file runs, also where the crowd was edited on the page.

    Raises:
      GameError: its environments cannot be played here, or the version that was saved on the page has mistakes.
    """
    owner = (await database.run(login.first_designer)).id
    row = await database.run(crowds.find_or_add, owner, file.name)
    crowd, version, is_new = await opening_version(file, row, database, is_file_taken=is_file_taken)
    made = await environments_of(crowd, inspector)
    known = await database.run(crowds.visits, row.id)
    problems = missing(crowd, known)
    if problems:
        raise GameError(crowd.name, problems)

    def write(connection: Connection) -> Mapping[str, Game]:
        if is_new:
            declarations.add(connection, row.id, crowd.text, None, version)
        return store_games(connection, row.owner_id, crowd, made)

    desk = Desk(crowd, row, await database.run(write), database, derived(secret, PURPOSE), known)
    desk.version, desk.is_of_file = version, crowd.text == file.text
    await desk.open()
    return desk


@dataclass(frozen=True)
class CrowdParts:
    """What a crowd adds to a studio.

    Args:
      desk: its people.
      presence: who is here.
      playing: its games.
      declaring: changes what it declares.
    """

    desk: Desk
    presence: Presence
    playing: Playing
    declaring: Declaring

    def routes(self) -> list[BaseRoute]:
        """Of participants, of the experimenter, and of the lobby."""
        pay = Pay(self.playing)
        return [
            *PersonRoutes(self.playing).routes(),
            *ExperimenterRoutes(self.playing, pay).routes(),
            *RaffleRoutes(pay).routes(),
            *DeclarationRoutes(self.declaring).routes(),
            WebSocketRoute(LOBBY, self._wait),
        ]

    def confine(self, account: Account, path: str) -> None:
        """Participants of a crowd see nothing else of the studio.

        Raises:
          ForbiddenError: they may not.
        """
        is_open = path in _ALLOWED or path == _ALLOWED_BELOW or path.startswith(f"{_ALLOWED_BELOW}/")
        if not is_open and self.desk.of_user(account.id) is not None:
            raise ForbiddenError("participants of this study see their own way through it, and nothing else")

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Notes who left without a word, and ends games over links that are too slow, until the context is left."""
        task = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            await cancel_and_wait(task)

    async def _sweep(self) -> None:
        links = Links(self.playing)
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.playing.sweep()
                await links.check()
            except Exception:
                log.exception("who left, or has a slow link, could not be noted")

    async def _wait(self, socket: WebSocket) -> None:
        """Makes a participant wait for the others of their game."""
        await socket.accept()
        account: Account = socket.scope["account"]
        visit = self.desk.of_user(account.id)
        game = None if visit is None else self.desk.game_of(visit)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # what Starlette raises for a socket that is gone
            if visit is None or game is None or visit.person.stage is not Stage.LOBBY or self.desk.row.is_paused:
                await refuse(socket, Refused("stage", "you do not wait for others now; load the page again"))
                return
            user = await self.playing.database.run(users.get, account.id)
            sent = await self.playing.database.run(crowds.personal_of, account.id)
            latency = sent.get("device", {}).get("latency_ms")
            agent = agent_id(self.playing.anonymous, game.study, user.person)
            name = f"lobby {id(socket)}"
            self.presence.connected(visit.person.id, name, is_there=True)
            try:
                group = visit.person.group
                await wait_in(socket, account, game.environment, agent, latency_ms=latency, group=group)
            finally:
                self.presence.connected(visit.person.id, name, is_there=False)


def make_parts(host: CrowdHost, state: Any, anonymous: bytes) -> CrowdParts:
    """What a crowd adds to a studio, with its games.

    Args:
      host: that plays them.
      state: of the application.
      anonymous: key of ids in published data.
    """
    settings, desk, presence = state.settings, host.desk, host.presence
    playing = Playing(
        desk,
        host,
        state.live_sessions,
        state.database,
        state.signer,
        anonymous,
        settings.name,
        settings.recordings,
        presence,
    )
    declaring = Declaring(desk, state.database, state.inspector, state.lobbies)
    return CrowdParts(desk, presence, playing, declaring)

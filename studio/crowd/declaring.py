"""What a crowd declares, while the studio runs: it is checked, saved as the next version, and people come to it."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.crowd.tasks import Crowd, CrowdError, parse_crowd
from rlds_kit.studio.api.inspection import Inspector
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.crowd.games import GameError, environments_of
from rlds_kit.studio.crowd.missing import missing
from rlds_kit.studio.database import declarations
from rlds_kit.studio.database.crowds import CrowdRow
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.declarations import Declaration, next_of_file
from rlds_kit.studio.database.studies import StudyEnvironment
from rlds_kit.studio.lobby.lobbies import Lobbies
from rlds_kit.studio.lobby.messages import Refused

with needs("studio"):
    from sqlalchemy import Connection

log = logging.getLogger(__name__)
PLACE: Final = "the declaration"
DIFFERS: Final = (
    "The file of the crowd is not what runs: version {number} was saved on the page. Start with --take-crowd-file to "
    "make the file the next version."
)


async def opening_version(
    crowd: Crowd, row: CrowdRow, database: Database, *, is_file_taken: bool
) -> tuple[Crowd, int, bool]:
    """What runs when the studio starts: the file, or the version that was saved on the page.

    Returns:
      The crowd, the number of its version, and whether that has yet to be stored.

    Raises:
      GameError: the stored version has mistakes, for this version of the library.
    """
    known = await database.run(declarations.declarations, row.id)
    number = next_of_file(known, crowd.text, is_taken=is_file_taken)
    if number is not None:
        return crowd, number, True
    latest = known[-1]
    if latest.text == crowd.text:
        return crowd, latest.number, False
    log.warning(DIFFERS.format(number=latest.number))
    try:
        return parse_crowd(latest.text), latest.number, False
    except CrowdError as error:
        place = f"version {latest.number} of the crowd, which was saved on the page"
        raise GameError(place, list(error.problems)) from error


@dataclass(frozen=True)
class Declaring:
    """Changes what a crowd declares.

    Args:
      desk: of the crowd.
      database: of the studio.
      inspector: of the studio.
      lobbies: of the studio.
    """

    desk: Desk
    database: Database
    inspector: Inspector
    lobbies: Lobbies

    async def problems(self, text: str) -> tuple[str, ...]:
        """Everything that is wrong with a text, by field; nothing: it can be saved."""
        try:
            await self._checked(text)
        except CrowdError as error:
            return error.problems
        return ()

    async def save(self, text: str, version: int, user: str) -> Declaration:
        """Makes a text the next version, which new arrivals, and everybody's next step, follow at once.

        Args:
          text: TOML.
          version: from which it was made.
          user: who saves it.

        Raises:
          CrowdError: it has mistakes, or lacks what people have; all are listed.
          StaleError: another person has saved a version.
        """
        crowd, made = await self._checked(text)
        before = {each.environment.id for each in self.desk.games.values()}

        def write(connection: "Connection") -> Declaration:
            return declarations.add(connection, self.desk.row.id, text, user, version + 1)

        saved = await self.desk.declare(crowd, made, write)
        gone = before - {each.environment.id for each in self.desk.games.values()}
        self.lobbies.dismiss(gone, Refused("changed", "this game has changed; wait again"))
        log.info("version %d of the crowd was saved by %s", saved.number, user)
        return saved

    async def _checked(self, text: str) -> tuple[Crowd, dict[str, StudyEnvironment]]:
        crowd = parse_crowd(text, place=PLACE)
        problems = [*_other_name(crowd, self.desk.crowd), *missing(crowd, self.desk)]
        try:
            made = await environments_of(crowd, self.inspector)
        except GameError as error:
            raise CrowdError(PLACE, [*problems, *error.problems]) from error
        if problems:
            raise CrowdError(PLACE, problems)
        return crowd, made


def _other_name(crowd: Crowd, now: Crowd) -> Iterable[str]:
    if crowd.name != now.name:
        yield f"name: expected {now.name!r}, got {crowd.name!r}: another name is another crowd"

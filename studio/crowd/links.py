"""Links that become too slow during play: the page warns the participant, and later their game ends with thanks."""

import contextlib
import logging
from typing import Final

from rlds_kit.crowd.tasks import Link, Screening, Stage
from rlds_kit.crowd.tasks.person import SLOW_LINK
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.crowd.playing import Playing
from rlds_kit.studio.database.crowds import Visit

log = logging.getLogger(__name__)
WARNING: Final = (
    "Your connection is slow: a round trip may take {limit:g} ms here, and yours takes longer. If that stays so for "
    "{seconds:g} seconds, the game ends, and what you played is paid."
)


class Links:
    """The links of those who play, as the server measures them.

    Args:
      playing: the games of the crowd.
    """

    def __init__(self, playing: Playing) -> None:
        self._playing = playing
        self._warned: dict[str, float] = {}

    async def check(self) -> None:
        """Warns those whose link is too slow, and ends the games of those who were warned long ago."""
        desk = self._playing.desk
        if desk.crowd.screening.most_latency_ms == float("inf") or desk.row.is_paused:
            return
        playing = [each for each in desk if each.person.stage is Stage.PLAY and each.session_id is not None]
        people = {each.person.id for each in playing}
        self._warned = {person: since for person, since in self._warned.items() if person in people}
        for visit in playing:
            await self._check(visit, desk.crowd.screening, desk.now())

    async def _check(self, visit: Visit, screening: Screening, now: float) -> None:
        person, session = visit.person.id, visit.session_id or ""
        measured = self._playing.live.round_trip_ms(session, visit.user_id)
        if measured is None:
            return  # nothing is known yet of a connection that is new
        link = screening.link(measured, self._warned.get(person), now)
        if link is Link.TOO_SLOW:
            log.info("the game of %s ends: the round trip is %.0f ms", person, measured)
            with contextlib.suppress(ApiError):  # they ended it themselves meanwhile
                await self._playing.finish(visit, is_early=True, reason=SLOW_LINK)
            return
        if link is Link.WARNED:
            self._warned.setdefault(person, now)
        else:
            self._warned.pop(person, None)
        self._playing.live.warn(session, visit.user_id, _text(link, screening))


def _text(link: Link, screening: Screening) -> str:
    """What the page shows; "" if nothing."""
    if link is Link.GOOD:
        return ""
    return WARNING.format(limit=screening.most_latency_ms, seconds=screening.patience_seconds)

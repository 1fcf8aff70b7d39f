"""Who is in the seats of a session: what windows see of it, what is recorded, and what the host notes."""

from collections.abc import Callable, Mapping
from typing import Any

from rlds_kit.studio.play.attendance import Attendance, Presence
from rlds_kit.studio.play.company import company
from rlds_kit.studio.play.host import Scene
from rlds_kit.studio.play.programs import Programs
from rlds_kit.studio.play.to_browser import Participants, ToBrowser
from rlds_kit.studio.play.window import Window
from rlds_kit.trials import Driver


class Attendees:
    """Follows who comes and goes.

    Args:
      scene: what is played.
      programs: of the session.
      send: sends a message to all windows.
      note: called with each presence that begins or ends.
    """

    def __init__(
        self, scene: Scene, programs: Programs, send: Callable[[ToBrowser], None], note: Callable[[Presence], None]
    ) -> None:
        self._scene, self._programs, self._send = scene, programs, send
        self._attendance = Attendance(note)
        self._people: dict[str, bool] = {}
        self._shown: Participants | None = None
        self._is_deserted = False

    def come(self, entering: Window) -> None:
        """A window entered."""
        if self._shown is not None:
            entering.send(self._shown)
        if entering.seat is not None:
            admission = entering.admission
            self._attendance.come(entering.name, entering.seat, admission.holder, admission.account)
            self._people[entering.seat], self._is_deserted = True, False

    def close(self, leaving: Window) -> None:
        """A window is gone; its person may have another one."""
        self._attendance.go(leaving.name)

    def go(self, seat: str, *, is_lost: bool, is_last: bool) -> None:
        """The person of a seat is gone."""
        self._people[seat] = False
        self._is_deserted = is_last and not is_lost

    def are_gone(self) -> bool:
        """Whether all people left for good; between episodes no trial knows it."""
        return self._is_deserted

    def all_go(self) -> None:
        """The session is over."""
        self._attendance.all_go()

    def drive(self, seat: str, driver: Driver) -> None:
        """Another person acts from a seat."""
        named = self._programs.named
        if driver is Driver.ACTOR and seat in named:
            self._attendance.acts(seat, named[seat])
        else:
            self._attendance.acts_no_more(seat)

    def show(self, drivers: Mapping[str, Driver]) -> None:
        """Sends who is in which seat, if that is new; `drivers` is of all seats in order."""
        programs = {seat: each["implementation"] for seat, each in self._programs.named.items()}
        found = company(drivers, self._people, programs)
        if found != self._shown:
            self._shown = found
            self._send(found)

    def recorded(self, seats: tuple[str, ...]) -> dict[str, Any]:
        """Who has which seat, for the metadata of an episode; people are known by their anonymous ids."""
        programs, people = self._programs.named, self._scene.people
        found: dict[str, Any] = {}
        for seat in seats:
            if seat in people:
                fallback = {"fallback": _name(programs[seat])} if seat in programs else {}
                found[seat] = {"kind": "human", "agent_id": people[seat], **fallback}
            elif seat in programs:
                found[seat] = {"kind": "program", **programs[seat]}
        return found


def _name(actor: Mapping[str, str]) -> str:
    return f"{actor['implementation']} {actor['version']}".strip()

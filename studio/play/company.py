"""Who is in which seat, for the windows of a session."""

from collections.abc import Mapping

from rlds_kit.studio.play.to_browser import Participant, Participants
from rlds_kit.trials import Driver


def company(
    drivers: Mapping[str, Driver],
    people: Mapping[str, bool],
    programs: Mapping[str, str],
) -> Participants:
    """Who is in all seats.

    Args:
      drivers: by seat, in order, who acts.
      people: by seat, whether a person who had it is connected; seats that never had a person are not in it.
      programs: by seat, the implementation of its actor.

    >>> company({"left": Driver.HUMAN, "right": Driver.ACTOR}, {"left": True}, {"right": "random"}).seats
    (Participant(seat='left', state='person', program=''), Participant(seat='right', state='program', program='random'))
    """
    return Participants(
        tuple(
            Participant(seat, _state(driver, people.get(seat)), programs.get(seat, ""))
            for seat, driver in drivers.items()
        )
    )


def _state(driver: Driver, is_connected: bool | None) -> str:
    if driver is Driver.HUMAN:
        return {True: "person", False: "lost", None: "empty"}[is_connected]
    if is_connected:
        return "away"  # the person is there, and a program acts
    if is_connected is False:
        return "lost"
    return "nobody" if driver is Driver.NOBODY else "program"

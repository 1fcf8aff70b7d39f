"""Counts the words of people who decide something together."""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Final

from rlds_kit.studio.play.rules import Consent, Rules
from rlds_kit.studio.play.to_browser import ToBrowser, Votes
from rlds_kit.trials import events

Decided = events.Pause | events.Cancel | events.Confirm
_ABOUT: Final[dict[type, str]] = {events.Pause: "pause", events.Cancel: "cancel", events.Confirm: "confirm"}
_CAUTIOUS: Final = ("rejected", "saved", "completed", "yes")
"""Where all have spoken and do not agree: the first of these that a person wants."""


class Council:
    """Lets through what enough people want.

    Args:
      rules: of the session.
      send: sends a message to all windows.

    >>> council = Council(Rules(pause=Consent.ALL), lambda message: None)
    >>> council.take(events.Pause(0, "left"), {"left", "right"}) is None
    True
    >>> council.take(events.Pause(1, "right"), {"left", "right"})
    Pause(time_ns=0, seat='left')
    """

    def __init__(self, rules: Rules, send: Callable[[ToBrowser], None]) -> None:
        self._rules, self._send = rules, send
        self._given: dict[str, dict[str, Decided]] = {}

    def consent(self, event: Decided) -> Consent:
        """Whose word is enough for an event."""
        return Consent(getattr(self._rules, _ABOUT[type(event)]))

    def take(self, event: Decided, here: Collection[str]) -> Decided | None:
        """Takes the word of a person.

        Args:
          event: what the person wants.
          here: seats of all who are there.

        Returns:
          The event that is to happen; None: others have yet to agree.
        """
        if self.consent(event) is Consent.ONE:
            return event
        self._given.setdefault(_ABOUT[type(event)], {})[event.seat] = event
        return self.count(here)

    def count(self, here: Collection[str]) -> Decided | None:
        """Counts anew, as when a person left; returns what is to happen."""
        for about, given in list(self._given.items()):
            wanted = {seat: _want(each) for seat, each in given.items() if seat in here}
            needed = Consent(getattr(self._rules, about)).needed(len(here))
            decided = _decided(wanted, needed, len(here))
            if decided is not None:
                self.clear()
                return next(each for each in given.values() if _want(each) == decided)
            self._send(Votes(about, wanted, needed))
        return None

    def clear(self) -> None:
        """Forgets all words: the episode stands elsewhere now."""
        given, self._given = self._given, {}
        for about in given:
            self._send(Votes(about, {}, 0))


def _want(event: Decided) -> str:
    if not isinstance(event, events.Confirm):
        return "yes"
    if not event.save:
        return "rejected"
    return "completed" if event.is_completed else "saved"


def _decided(wanted: dict[str, str], needed: int, people: int) -> str | None:
    """What enough people want, or, where all have spoken, what is most cautious."""
    if not wanted:
        return None
    most, count = Counter(wanted.values()).most_common(1)[0]
    if count >= needed:
        return most
    if len(wanted) == people:
        return next(each for each in _CAUTIOUS if each in wanted.values())
    return None

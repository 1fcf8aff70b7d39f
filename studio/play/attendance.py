"""Who was in which seat, and when."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """A person is, or was, in a seat.

    Attributes:
      id: of this time.
      seat: its name.
      who: a person as recordings know them; of a program, its implementation.
      account: of a person; None: a program, or there are no accounts.
      is_human: whether it is a person.
      version: of a program.
      joined_ns: since when, nanoseconds since 1970.
      left_ns: until when; None: is there.
    """

    id: str
    seat: str
    who: str
    account: str | None
    is_human: bool
    version: str = ""
    joined_ns: int
    left_ns: int | None = None


class Attendance:
    """Notes each time that a person comes and goes.

    Args:
      note: called with each presence that begins, and again when it ends.

    >>> noted = []
    >>> attendance = Attendance(noted.append)
    >>> attendance.come("window 1", "left", "ann")
    >>> attendance.go("window 1")
    >>> [(each.who, each.left_ns is None) for each in noted]
    [('ann', True), ('ann', False)]
    """

    def __init__(self, note: Callable[[Presence], None]) -> None:
        self._note = note
        self._there: dict[str, Presence] = {}

    def come(self, key: str, seat: str, who: str, account: str | None = None, *, is_human: bool = True) -> None:
        """A person is in a seat; `key` is what `go` gets."""
        if key in self._there:
            return
        presence = Presence(
            id=secrets.token_hex(16), seat=seat, who=who, account=account, is_human=is_human, joined_ns=time.time_ns()
        )
        self._there[key] = presence
        self._note(presence)

    def acts(self, seat: str, actor: Mapping[str, str]) -> None:
        """A program acts from a seat."""
        key = f"program {seat}"
        if key not in self._there:
            presence = Presence(
                id=secrets.token_hex(16),
                seat=seat,
                who=actor["implementation"],
                account=None,
                is_human=False,
                version=actor["version"],
                joined_ns=time.time_ns(),
            )
            self._there[key] = presence
            self._note(presence)

    def acts_no_more(self, seat: str) -> None:
        """A program does not act from a seat any more."""
        self.go(f"program {seat}")

    def go(self, key: str) -> None:
        """A person is gone; nothing happens if they were before."""
        presence = self._there.pop(key, None)
        if presence is not None:
            self._note(replace(presence, left_ns=time.time_ns()))

    def all_go(self) -> None:
        """Everybody is gone."""
        for key in list(self._there):
            self.go(key)

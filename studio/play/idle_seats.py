"""People who press nothing for long, and whose programs act meanwhile."""

from collections.abc import Iterable, Mapping


class IdleSeats:
    """Finds the seats where nothing was pressed for long.

    Args:
      seconds: by seat, without a key, after which its program acts.

    Attributes:
      handed_over: seats where a program acts because of that.

    >>> idle = IdleSeats({"left": 2.0})
    >>> idle.begin(0)
    >>> idle.due(1_000_000_000, ["left"]), idle.due(2_000_000_000, ["left", "right"])
    ([], ['left'])
    """

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self._seconds = seconds
        self._last = dict.fromkeys(seconds, 0)
        self.handed_over: set[str] = set()

    def begin(self, now_ns: int) -> None:
        """Time runs now."""
        self._last = dict.fromkeys(self._seconds, now_ns)

    def pressed(self, seat: str, now_ns: int) -> None:
        """A person pressed or released something."""
        self._last[seat] = now_ns

    def due(self, now_ns: int, here: Iterable[str]) -> list[str]:
        """Those of some seats where nothing was pressed for long."""
        return [
            seat
            for seat in here
            if seat in self._seconds and now_ns - self._last.get(seat, now_ns) >= int(self._seconds[seat] * 1e9)
        ]

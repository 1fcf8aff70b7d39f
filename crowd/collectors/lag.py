"""How far what people saw was behind, when they pressed a key: recorded by the studio with every step."""

from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.base.step import TRIAL_CLOCK
from rlds_kit.crowd.collectors.collector import READS, Collector
from rlds_kit.crowd.collectors.moment import Moment
from rlds_kit.crowd.collectors.people import PLAY

_MILLISECOND: Final = 1_000_000


class Lags:
    """The lag of each key press of one agent, in steps: from the picture that was on the screen to the step it did.

    Called with moments in order, it returns the lag of a press, and None where nothing was pressed.
    """

    def __init__(self) -> None:
        self._pressed: Any = None

    def __call__(self, moment: Moment) -> int | None:
        """The lag of the press in this moment."""
        facts = _facts(moment.before)
        pressed, shown = facts.get("pressed_ns"), facts.get("shown_frame")
        is_new = pressed is not None and pressed != self._pressed
        self._pressed = pressed
        return moment.index - int(shown) if is_new and shown is not None else None


class _Mean:
    """The mean of what is not None."""

    def __init__(self) -> None:
        self._total, self._number = 0.0, 0

    def add(self, value: float | None) -> float:
        if value is not None:
            self._total, self._number = self._total + value, self._number + 1
        return self._total / self._number if self._number else 0.0


class _Lag(_Mean):
    def __init__(self) -> None:
        super().__init__()
        self._lags = Lags()

    def __call__(self, moment: Moment) -> float:
        if moment.index == 0:
            self._lags = Lags()
        return self.add(self._lags(moment))


class _RoundTrip(_Mean):
    def __call__(self, moment: Moment) -> float:
        trip = _clock(moment.before).get("round_trip_ns")
        return self.add(None if trip is None else int(trip) / _MILLISECOND)


class _ShownAhead(_Mean):
    def __call__(self, moment: Moment) -> float:
        is_ahead = _clock(moment.before).get("shown_ahead")
        return self.add(None if is_ahead is None else float(is_ahead))


def _facts(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is recorded of the only seat, or of that which `moment` has chosen."""
    play = step.get(PLAY)
    return _of_seat(play.get("seats") if isinstance(play, Mapping) else None)


def _clock(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was measured of it."""
    return _of_seat(step.get(TRIAL_CLOCK))


def _of_seat(seats: Any) -> Mapping[str, Any]:
    return next(iter(seats.values()), {}) if isinstance(seats, Mapping) else {}


FRAME_LAG: Final = Collector("frame_lag", "Steps between picture and key", _Lag, reads=(*READS, PLAY))
"""The mean lag of key presses, in steps."""
ROUND_TRIP: Final = Collector("round_trip", "Round trip, in milliseconds", _RoundTrip, reads=(*READS, TRIAL_CLOCK))
"""The mean of the median round trips at key presses, in milliseconds, measured by the server."""
SHOWN_AHEAD: Final = Collector(
    "shown_ahead", "Pictures that were shown ahead", _ShownAhead, is_fraction=True, reads=(*READS, TRIAL_CLOCK)
)
"""Of the pictures at which keys were pressed, the fraction that was shown before the server had done the step."""

"""How far what people saw was behind, when they pressed a key: recorded by the studio with every step."""

from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.crowd.collectors.collector import READS, Collector
from rlds_kit.crowd.collectors.moment import Moment
from rlds_kit.crowd.collectors.people import PLAY


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
    def __init__(self) -> None:
        self._lags, self._total, self._number = Lags(), 0, 0

    def __call__(self, moment: Moment) -> float:
        if moment.index == 0:
            self._lags = Lags()
        lag = self._lags(moment)
        if lag is not None:
            self._total, self._number = self._total + lag, self._number + 1
        return self._total / self._number if self._number else 0.0


def _facts(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is recorded of the only seat, or of that which `moment` has chosen."""
    play = step.get(PLAY)
    seats = play.get("seats") if isinstance(play, Mapping) else None
    return next(iter(seats.values()), {}) if isinstance(seats, Mapping) else {}


FRAME_LAG: Final = Collector("frame_lag", "Steps between picture and key", _Mean, reads=(*READS, PLAY))
"""The mean lag of key presses, in steps."""

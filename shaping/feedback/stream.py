"""The feedback of an episode, in the order in which it came."""

import dataclasses
from collections.abc import Iterable

from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark, StepClock


class FeedbackStream:
    """The events of an episode and its clock of steps. Nothing is lost, doubled or put into another order.

    Args:
      events: in order; those with `marks` keep it.
      clock: of the episode; None: a new one.

    Raises:
      ValueError: as for `add`.

    >>> stream = FeedbackStream()
    >>> press = FeedbackEvent(number=0, time_ns=50, value=1.0, key="p", annotator="anna")
    >>> stream.add(press).marks, stream.add(press)
    (0, None)
    >>> len(stream.events)
    1
    """

    def __init__(self, events: Iterable[FeedbackEvent] = (), clock: StepClock | None = None) -> None:
        self.clock = StepClock() if clock is None else clock
        self._events: dict[tuple[str, str, int], FeedbackEvent] = {}
        for each in events:
            self._take(each)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeedbackStream) and self.events == other.events and self.clock == other.clock

    __hash__ = None  # type: ignore[assignment]  # a stream grows

    @property
    def events(self) -> tuple[FeedbackEvent, ...]:
        """All events, in the order in which they came."""
        return tuple(self._events.values())

    @property
    def early(self) -> tuple[FeedbackEvent, ...]:
        """The events whose time is before that of a mark that came before them: the clocks of two hosts, or a fault.

        They are stored as they came. Nothing is computed from a negative time: such an event is about no step that
        began after its time.
        """
        marks = self.clock.marks
        return tuple(each for each in self.events if each.marks > 0 and each.time_ns < marks[each.marks - 1].time_ns)

    def mark(self, mark: Mark) -> None:
        """Adds a mark to the clock; errors as in `StepClock.add`."""
        self.clock.add(mark)

    def add(self, event: FeedbackEvent) -> FeedbackEvent | None:
        """Adds an event that comes now: `marks` becomes the number of marks so far.

        Returns:
          The event as it is stored; None: it came before, and is not stored again.

        Raises:
          ValueError: another event has its annotator, device and number.
        """
        return self._take(dataclasses.replace(event, marks=len(self.clock)))

    def _take(self, event: FeedbackEvent) -> FeedbackEvent | None:
        known = self._events.setdefault(event.identity, event)
        if known is event:
            return event
        if known.content != event.content:
            raise ValueError(
                f"feedback {event.identity}: expected the event that came before with this annotator, device and "
                f"number, {known}, got {event}; a device counts its events"
            )
        return None

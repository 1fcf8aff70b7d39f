"""The feedback of an episode, in order of arrival."""

import dataclasses
from collections.abc import Iterable

from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark, StepClock


class FeedbackStream:
    """The events of an episode and its clock of steps. No event is lost, duplicated or reordered.

    Args:
      events: in order; existing `marks` are preserved.
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
        """All events, in order of arrival."""
        return tuple(self._events.values())

    @property
    def early(self) -> tuple[FeedbackEvent, ...]:
        """The events with an earlier time than a mark that arrived before them: from two hosts, or due to a fault.

        They are stored unchanged. A negative delay is never used: such an event is not about a step that began after
        its time.
        """
        marks = self.clock.marks
        return tuple(each for each in self.events if each.marks > 0 and each.time_ns < marks[each.marks - 1].time_ns)

    def mark(self, mark: Mark) -> None:
        """Adds a mark to the clock; errors as in `StepClock.add`."""
        self.clock.add(mark)

    def add(self, event: FeedbackEvent) -> FeedbackEvent | None:
        """Adds an event that arrives now: sets its `marks` to the number of marks so far.

        Returns:
          The stored event; None: it is a copy of an earlier one, and is not stored again.

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

"""Stores feedback as a layer beside the recorded episodes; every flushed event is durable."""

import threading
import uuid
from collections import defaultdict
from types import TracebackType
from typing import Final, Self

from rlds_kit import layers
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.layers import Kind
from rlds_kit.shaping.feedback.columns import from_columns, to_columns
from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark, StepClock
from rlds_kit.shaping.feedback.stream import FeedbackStream

LAYER: Final = "feedback"
"""Name of the layer of feedback, and the tag of the episodes that have some."""


class FeedbackWriter:
    """Writes feedback as it arrives; it is durable after `flush`, which should follow each press. Thread-safe.

    Each flush is one annotation: a tag of the whole episode, whose `user_data` has the events and marks since the
    flush before, as columns. So events after the last step are stored like any others, and no values are derived.

    Args:
      dataset: with the episodes, which may still be recorded.
      source: the writer: a program, or the host of a game. Each event has its own annotator.
      layer: name of the layer.

    Raises:
      ValueError: the name of the layer or the source are not valid.
    """

    def __init__(self, dataset: Dataset, source: str, *, layer: str = LAYER) -> None:
        self._writer = dataset.annotator(layer, source=source)
        self._lock = threading.Lock()
        self._waiting: dict[uuid.UUID, tuple[list[FeedbackEvent], list[Mark]]] = defaultdict(lambda: ([], []))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()

    def add(self, episode: uuid.UUID, *items: FeedbackEvent | Mark) -> None:
        """Adds events from `FeedbackStream.add`, and marks of an episode, in order."""
        with self._lock:
            events, marks = self._waiting[episode]
            events.extend(each for each in items if isinstance(each, FeedbackEvent))
            marks.extend(each for each in items if isinstance(each, Mark))

    def flush(self) -> None:
        """Returns when everything is durable.

        Raises:
          KeyError: an episode is not on disk yet: flush its recording first. Its feedback stays in the buffer.
          OSError: the disk is full, or gone; the buffer is written by the next flush.
        """
        with self._lock:
            unknown = [error for episode in list(self._waiting) if (error := self._add_one(episode)) is not None]
            self._writer.flush()
        if unknown:
            raise unknown[0]

    def close(self) -> None:
        """Flushes, and closes the file; errors as for `flush`."""
        try:
            self.flush()
        finally:
            self._writer.close()

    def _add_one(self, episode: uuid.UUID) -> KeyError | None:
        """Passes the buffer to the writer of the layer, which stores it from then on, also if the disk is full."""
        try:
            self._writer.add(layers.tag(episode, LAYER, user_data=to_columns(*self._waiting[episode])))
        except KeyError as error:
            return error
        del self._waiting[episode]
        return None


def write_feedback(dataset: Dataset, episode: uuid.UUID, feedback: FeedbackStream, source: str, **options: str) -> None:
    """Stores the whole feedback of an episode. Arguments and errors as for `FeedbackWriter`.

    Several people may judge an episode one after another: the clock is stored once.

    Raises:
      ValueError: the episode has feedback with another clock, or another event with the same annotator, device and
        number; nothing is stored.
    """
    marks = feedback.clock.marks
    try:
        known = read_feedback(dataset.refresh(), episode, **options)
    except KeyError:
        known = FeedbackStream()
    FeedbackStream([*known.events, *feedback.events])  # raises an error for inconsistent events
    if marks and known.clock.marks:
        if feedback.clock != known.clock:
            raise ValueError(
                f"episode {episode}: expected the clock of the feedback that it has, of {len(known.clock)} marks, got "
                f"one of {len(marks)}; judge what was shown then, or write another layer"
            )
        marks = ()
    with FeedbackWriter(dataset, source, **options) as writer:
        writer.add(episode, *feedback.events, *marks)


def read_feedback(dataset: Dataset, episode: Episode | uuid.UUID, *, layer: str = LAYER) -> FeedbackStream:
    """The feedback of an episode, exactly as received.

    Args:
      dataset: with the layer; `refresh` makes feedback visible that was written since it was opened.
      episode: with the feedback.
      layer: name of the layer.

    Returns:
      The events in order of arrival, each once, and the clock of steps; both empty if there is no feedback.

    Raises:
      KeyError: the dataset has no such layer.
      DamagedError: the layer is damaged.
      ValueError: the feedback is of a later version, or two hosts wrote a clock.
    """
    events: list[FeedbackEvent] = []
    marks: list[Mark] = []
    for each in dataset.layer(layer).annotations(episode):
        if each.kind is Kind.TAG and each.value == LAYER and each.user_data is not None:
            found = from_columns(each.user_data)
            events.extend(found[0])
            marks.extend(found[1])
    try:
        return FeedbackStream(events, StepClock(marks))
    except ValueError as error:
        name = episode if isinstance(episode, uuid.UUID) else episode.id
        raise ValueError(
            f"episode {name}: expected feedback with one clock in the layer {layer!r}: {error}; if two hosts wrote it, "
            "retract the annotations of one"
        ) from error

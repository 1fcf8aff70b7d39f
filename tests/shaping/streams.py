"""Streams of feedback for tests."""

import random
import time
from pathlib import Path

import numpy as np

import rlds_kit
from rlds_kit.logger import EpisodeWriter
from rlds_kit.shaping.feedback import Device, FeedbackEvent, FeedbackStream, Mark, MarkKind, StepClock

MS = 1_000_000


def regular_clock(n_steps: int, step_ms: int = 100, begin_ms: int = 0) -> StepClock:
    """The clock of an episode without pauses, ended."""
    times = [(begin_ms + each * step_ms) * MS for each in range(n_steps + 1)]
    return StepClock([*(Mark(MarkKind.STEP, each) for each in times[:-1]), Mark(MarkKind.END, times[-1])])


def press(number: int, time_ms: float, value: float = 1.0, annotator: str = "anna", marks: int = -1) -> FeedbackEvent:
    """A press of a key."""
    key = "p" if value > 0 else "n"
    return FeedbackEvent(
        number=number, time_ns=round(time_ms * MS), value=value, key=key, annotator=annotator, marks=marks
    )


def recorded(directory: Path, *lengths: int) -> rlds_kit.Dataset:
    """A dataset of episodes with so many steps that have an action."""
    with EpisodeWriter(directory, record_time=False) as writer:
        for length in lengths:
            with writer.episode() as episode:
                episode.start(np.float32(0))
                for step in range(1, length + 1):
                    episode.step(
                        action=1, reward=0.5, discount=1.0, observation=np.float32(step), truncated=step == length
                    )
    return rlds_kit.open(directory)


def hard_stream(n_events: int, seed: int) -> tuple[FeedbackStream, int]:
    """Two annotators, random delays, copies, pauses, jumps of the devices' clocks, events after the end.

    Returns:
      The stream, and how many copies it was given beside its events.
    """
    random_ = random.Random(seed)
    stream, now, n_copies = FeedbackStream(), time.monotonic_ns(), 0
    numbers = {"anna": 0, "ben": 0}
    sent: list[FeedbackEvent] = []
    while sum(numbers.values()) < n_events:
        now += random_.randrange(1, 50 * MS)
        choice = random_.random()
        if choice < 0.2:
            _mark(stream, now, random_)
        elif choice < 0.25 and sent:
            n_copies += stream.add(random_.choice(sent)) is None
        else:
            annotator = random_.choice(("anna", "ben"))
            event = _event(annotator, numbers[annotator], now, random_)
            numbers[annotator] += 1
            sent.append(event)
            assert stream.add(event) is not None
    if stream.clock.is_paused:
        stream.mark(Mark(MarkKind.RESUME, now))
    stream.mark(Mark(MarkKind.END, now))
    for annotator, number in numbers.items():
        stream.add(_event(annotator, number, now + MS, random_))
    return stream, n_copies


def _mark(stream: FeedbackStream, now: int, random_: random.Random) -> None:
    begun = MarkKind.PAUSE if random_.random() < 0.1 else MarkKind.STEP
    kind = MarkKind.RESUME if stream.clock.is_paused else begun
    stream.mark(Mark(kind, now))


def _event(annotator: str, number: int, now: int, random_: random.Random) -> FeedbackEvent:
    jump = random_.choice((0, 0, 3_600_000, -3_600_000)) * MS  # summer time, a corrected clock
    return FeedbackEvent(
        number=number,
        time_ns=now - random_.randrange(30 * MS),  # as late as the network makes it
        sent_ns=now + jump,
        value=random_.choice((1.0, -1.0, 0.1, -0.0)),
        key=random_.choice(("p", "n", "", "\0", "ü")),
        annotator=annotator,
        device=random_.choice(tuple(Device)),
        frame=random_.randrange(-1, 1000),
        step=random_.randrange(-1, 1000),
        confidence=random_.random(),
        payload=random_.choice((b"", b"\0\1")),
    )

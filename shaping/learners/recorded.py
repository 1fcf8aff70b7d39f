"""Repeats trainings from recorded episodes."""

from collections.abc import Sequence
from typing import Any

from rlds_kit.shaping.feedback.step_clock import MarkKind
from rlds_kit.shaping.feedback.stream import FeedbackStream
from rlds_kit.shaping.learners.tamer import Tamer


def learn_again(tamer: Tamer, steps: Sequence[tuple[Any, Any]], feedback: FeedbackStream) -> None:
    """Trains an agent with the feedback of a recorded episode, in order of arrival.

    The weights equal those of an agent that learned during the episode, bit for bit.

    Args:
      tamer: to train; it begins an episode.
      steps: observations and actions of the episode.
      feedback: the result of `read_feedback`.

    Raises:
      ValueError: the clock of steps has more steps than the episode.
    """
    if feedback.clock.n_steps > len(steps):
        raise ValueError(
            f"expected feedback about at most {len(steps)} steps, which the episode has, got a clock of "
            f"{feedback.clock.n_steps}; the feedback is of another episode"
        )
    tamer.begin()
    marks, n_taken, shown = feedback.clock.marks, 0, iter(steps)

    def take_marks(until: int) -> None:
        nonlocal n_taken
        for mark in marks[n_taken:until]:
            tamer.take(mark)
            if mark.kind is MarkKind.STEP:
                tamer.show(*next(shown))
        n_taken = max(n_taken, until)

    for event in sorted(feedback.events, key=lambda each: each.marks):  # the events of one host are in order already
        take_marks(event.marks)
        tamer.take(event)
    take_marks(len(marks))
    tamer.finish()

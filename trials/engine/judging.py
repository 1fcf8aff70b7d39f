"""Rewards from people and programs, for steps of any age, and messages between seats."""

import math

from rlds_kit.trials.engine.events import MessageSent, RewardGiven
from rlds_kit.trials.engine.messages import Amended, DeliverText
from rlds_kit.trials.engine.state import Messages, Refusal, State


def aggregate(judgements: list[tuple[float, float]]) -> float:
    """The mean of values, weighted by their confidences; 0 if all confidences are 0 (Cogment).

    Args:
      judgements: values and confidences.

    >>> aggregate([(1.0, 1.0), (-1.0, 0.5)])
    0.3333333333333333
    """
    weight = sum(confidence for _, confidence in judgements)
    return sum(value * confidence for value, confidence in judgements) / weight if weight else 0.0


def reward_given(state: State, event: RewardGiven) -> Messages:
    """Somebody judges a step that was done."""
    state.seat(event.seat)
    step = state.step if event.step is None else event.step
    if not 1 <= step <= state.step:
        raise Refusal(f"expected one of the steps 1 to {state.step}, which are done, got {step}")
    if not math.isfinite(event.value):
        raise Refusal(f"expected a finite reward, got {event.value}")
    if not 0 <= event.confidence <= 1:
        raise Refusal(f"expected a confidence of 0 to 1, got {event.confidence}")
    if state.judged >= state.config.most_rewards:
        raise Refusal(
            f"this episode has {state.judged} rewards, as many as an episode may get while it is played; judge further "
            "steps where it is replayed"
        )
    state.judged += 1
    judgements = state.judgements.setdefault((step, event.seat), [])
    judgements.append((event.value, event.confidence))
    yield Amended(event, step, aggregate(judgements))


def message_sent(state: State, event: MessageSent) -> Messages:
    """A seat sends text to others."""
    for name in (event.sender, *event.to):
        state.seat(name)
    if len(state.texts) >= state.config.most_said:
        raise Refusal(f"{len(state.texts)} messages wait for the next step, as many as may; send more after it")
    to = event.to or tuple(name for name in state.seats if name != event.sender)
    text = DeliverText(event.sender, to, event.content)
    state.texts.append(text)
    yield text

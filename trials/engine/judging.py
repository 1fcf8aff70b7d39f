"""Rewards from people and programs, for steps of any age, and messages between seats."""

import math
from dataclasses import replace

from rlds_kit.trials.engine.aggregates import AGGREGATES
from rlds_kit.trials.engine.events import MessageSent, RewardGiven
from rlds_kit.trials.engine.messages import Amended, DeliverText
from rlds_kit.trials.engine.state import Messages, Refusal, State


def reward_given(state: State, event: RewardGiven) -> Messages:
    """A person judges a step that was done."""
    receivers = state.receivers(event.seat)
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
    aggregate = AGGREGATES[state.config.aggregate]
    for seat in receivers:
        judgements = state.judgements.setdefault((step, seat), [])
        judgements.append((event.value, event.confidence))
        yield Amended(replace(event, seat=seat), step, aggregate(judgements))


def message_sent(state: State, event: MessageSent) -> Messages:
    """A seat sends text to others."""
    state.seat(event.sender)
    others = dict.fromkeys(name for each in event.to or ("*",) for name in state.receivers(each))
    if event.sender not in event.to:
        others.pop(event.sender, None)
    if len(state.texts) >= state.config.most_said:
        raise Refusal(f"{len(state.texts)} messages wait for the next step, as many as may; send more after it")
    text = DeliverText(event.sender, tuple(others), event.content)
    state.texts.append(text)
    yield text

"""Credit that is derived from stored feedback, in a layer that can be deleted and computed again."""

import uuid
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit import layers
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.layers import Draft
from rlds_kit.shaping.credit.assigner import Assigner, identity, parameters
from rlds_kit.shaping.feedback.layer import LAYER, read_feedback
from rlds_kit.shaping.feedback.stream import FeedbackStream

FIELDS: Final = ("credit/h", "credit/weight", "credit/events")
"""Fields of a step: its feedback, weighted by credit; the sum of weights; the number of events that give it credit."""


@dataclass(frozen=True, slots=True)
class StepCredit:
    """The credit of the steps of an episode.

    Attributes:
      h: `[n_steps]` float64: the sum of value times credit.
      weight: `[n_steps]` float64: the sum of credit.
      n_events: `[n_steps]` int64: number of events with credit for the step.
    """

    h: np.ndarray
    weight: np.ndarray
    n_events: np.ndarray


def step_credit(feedback: FeedbackStream, assigner: Assigner) -> StepCredit:
    """The credit of each step, from all events in their order.

    >>> from rlds_kit.shaping.credit import NextStep
    >>> from rlds_kit.shaping.feedback import FeedbackEvent, FeedbackStream, Mark, MarkKind
    >>> stream = FeedbackStream()
    >>> stream.mark(Mark(MarkKind.STEP, 0))
    >>> _ = stream.add(FeedbackEvent(number=0, time_ns=5, value=2.0, annotator="anna"))
    >>> step_credit(stream, NextStep()).h.tolist()
    [2.0]
    """
    n = feedback.clock.n_steps
    h, weight, n_events = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
    for event in feedback.events:
        credit = assigner.credit(event, feedback.clock)
        part = slice(credit.steps.start, credit.steps.stop)
        h[part] += event.value * np.array(credit.weights)
        weight[part] += credit.weights
        n_events[part] += np.array(credit.weights) > 0
    return StepCredit(h, weight, n_events)


def credit_layer(assigner: Assigner) -> str:
    """The name of the layer of an assigner's credit: "credit-" and its `identity`."""
    return f"credit-{identity(assigner)}"


def write_credit(dataset: Dataset, assigner: Assigner, *, layer: str = LAYER) -> str:
    """Derives credit for all episodes with feedback; it replaces earlier credit of the same steps.

    Each step gets the fields `credit/h`, `credit/weight` and `credit/events`, and h as its reward, so that
    `dataset.as_amended(name)` has the feedback in place of the recorded rewards. Nothing else changes.

    Args:
      dataset: with the layer of feedback.
      assigner: whose name, version and parameters are stored with the credit.
      layer: of the feedback.

    Returns:
      The name of the layer: "credit-" and the `identity` of the assigner.

    Raises:
      KeyError: there is no layer of feedback.
      ValueError: the feedback of an episode has more steps than the episode has actions.
    """
    about = {"assigner": assigner.name, "version": assigner.version, "parameters": parameters(assigner)}
    name = credit_layer(assigner)
    judged = set(dataset.layer(layer).episodes)
    with dataset.annotator(name, source=f"{assigner.name} {identity(assigner)}") as writer:
        for episode in dataset.episodes:
            if episode.id in judged:
                found = step_credit(read_feedback(dataset, episode, layer=layer), assigner)
                writer.add_all(_drafts(episode, found, about))
    return name


def read_credit(dataset: Dataset, episode: Episode | uuid.UUID, assigner: Assigner) -> StepCredit:
    """The stored credit of an episode, from the latest call of `write_credit`.

    Raises:
      KeyError: there is none; call `write_credit` first.
    """
    found = {each.field: each.value for each in dataset.layer(credit_layer(assigner)).annotations(episode)}
    if FIELDS[0] not in found:
        raise KeyError(f"{credit_layer(assigner)}: expected credit of the episode, got none; write_credit derives it")
    return StepCredit(*(np.asarray(found[field]) for field in FIELDS))


def drop_credit(dataset: Dataset, assigner: Assigner) -> int:
    """Retracts the credit of an assigner in all episodes; the feedback stays. Returns the number of annotations.

    Raises:
      KeyError: there is no such layer.
    """
    found = dataset.layer(credit_layer(assigner)).annotations()
    if found:
        drafts = [layers.retraction(each.id) for each in found]
        dataset.annotate(credit_layer(assigner), drafts, source=f"{assigner.name} {identity(assigner)}")
    return len(found)


def _drafts(episode: Episode, found: StepCredit, about: dict[str, Any]) -> list[Draft]:
    if not len(found.h):
        return []
    if len(found.h) >= episode.length:
        raise ValueError(
            f"episode {episode.id}: expected feedback about at most {episode.length - 1} steps with actions, got "
            f"{len(found.h)}; the feedback is of another episode"
        )
    values = (found.h, found.weight, found.n_events)
    drafts = [
        layers.amendments(episode, field, each, user_data=about) for field, each in zip(FIELDS, values, strict=True)
    ]
    return [*drafts, layers.rewards(episode, found.h, user_data=about)]

"""Models of the data that pages send to the task "judge"."""

import uuid
from abc import ABC, abstractmethod
from typing import Any, Final, TypeVar

import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.shaping.preferences.answers import (
    Answer,
    Choice,
    Comparison,
    Correction,
    Demonstration,
    FeatureMark,
    Marks,
    PlaceMark,
    Ranking,
    Rating,
    Remark,
)
from rlds_kit.shaping.tasks.queues import Queue

with needs("studio"):
    from pydantic import BaseModel, Field, ValidationError

MOST_QUERIES: Final = 10_000
LONGEST_NAME: Final = 200


class Strict(BaseModel):
    """Strict values of JSON: no value is converted, and unknown fields are errors."""

    model_config = {"extra": "forbid", "strict": True, "frozen": True, "allow_inf_nan": False}


M = TypeVar("M", bound=Strict)


class NewQueue(Strict):
    """The request of a designer for a new queue."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    dataset: str
    kind: str
    count: int = Field(ge=1, le=MOST_QUERIES)
    question: str = ""
    length: int | None = None
    size: int = Field(3, ge=2)
    seed: int = Field(0, ge=0)
    low: float = 1.0
    high: float = 5.0


class Given(Strict):
    """An answer to a query."""

    query: str
    answer: dict[str, Any]
    confidence: float = 1.0


class _Plain(Strict, ABC):
    """An answer in JSON."""

    @abstractmethod
    def made(self) -> Answer:
        """The answer."""


class _Comparison(_Plain):
    choice: str

    def made(self) -> Answer:
        return Comparison(Choice(self.choice))


class _Ranking(_Plain):
    ranks: list[int | None]

    def made(self) -> Answer:
        return Ranking(tuple(self.ranks))


class _Rating(_Plain):
    value: float | None
    low: float
    high: float

    def made(self) -> Answer:
        return Rating(self.value, self.low, self.high)


class _Correction(_Plain):
    step: int
    actions: list[Any] | None = None
    played: str | None = None

    def made(self) -> Answer:
        actions = None if self.actions is None else np.asarray(self.actions)
        if actions is not None and (actions.dtype.kind not in "iuf" or not actions.size):
            raise ValueError(f"expected actions that are numbers, got {str(self.actions)[:100]}")
        return Correction(self.step, actions, None if self.played is None else uuid.UUID(self.played))


class _Demonstration(_Plain):
    task: str = ""

    def made(self) -> Answer:
        return Demonstration(self.task)


class _Remark(_Plain):
    text: str

    def made(self) -> Answer:
        return Remark(self.text)


class _Feature(Strict):
    field: str
    index: list[int] = Field(default_factory=list)
    weight: float = 1.0


class _Place(Strict):
    step: int
    top: int
    left: int
    height: int
    width: int
    field: str = "observation"
    weight: float = 1.0
    label: str = ""


class _Marks(_Plain):
    features: list[_Feature] = Field(default_factory=list)
    places: list[_Place] = Field(default_factory=list)

    def made(self) -> Answer:
        features = (FeatureMark(each.field, tuple(each.index), each.weight) for each in self.features)
        return Marks(tuple(features), tuple(PlaceMark(**each.model_dump()) for each in self.places))


_MODELS: Final[dict[str, type[_Plain]]] = {
    Comparison.KIND: _Comparison,
    Ranking.KIND: _Ranking,
    Rating.KIND: _Rating,
    Correction.KIND: _Correction,
    Demonstration.KIND: _Demonstration,
    Remark.KIND: _Remark,
    Marks.KIND: _Marks,
}


def checked(model: type[M], plain: Any) -> M:
    """Validates values with a model.

    Raises:
      ValueError: they are invalid; the message names every invalid part.
    """
    try:
        return model.model_validate(plain)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        parts = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found]
        raise ValueError("; ".join(parts)[:2000]) from error


def answer_of(queue: Queue, plain: dict[str, Any], length: int) -> Answer:
    """Parses the answer from a page.

    Args:
      queue: that has the query.
      plain: the values from JSON.
      length: steps of the query's first segment.

    Raises:
      ValueError: it is not of the queue's kind, is not on its scale, or is about a step outside the segment.
    """
    answer = checked(_MODELS[queue.kind], plain).made()
    if isinstance(answer, Rating) and (answer.low, answer.high) != (queue.low, queue.high):
        raise ValueError(f"expected the scale {queue.low} to {queue.high}, got {answer.low} to {answer.high}")
    steps = [answer.step] if isinstance(answer, Correction) else []
    steps += [each.step for each in answer.places] if isinstance(answer, Marks) else []
    if any(not 0 <= step < length for step in steps):
        raise ValueError(f"expected steps of the segment, from 0 to {length - 1}, got {steps}")
    return answer

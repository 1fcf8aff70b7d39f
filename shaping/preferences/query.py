"""Queries about segments, and responses to them."""

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rlds_kit.shaping.preferences.answers import KINDS, Answer
from rlds_kit.shaping.preferences.segment import Segment

NAMESPACE: Final = uuid.UUID("5a1f34f8-9f6e-5d0e-8f5b-0d1c1a6f2f11")
"""Namespace of the ids of queries, which are computed from their content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query for annotators: segments, and the kind of answer.

    Queries about the same segments in the same order, of the same kind and with the same question, have the same id, by
    which answers of several annotators are compared.

    Attributes:
      kind: of the answer: a key of `KINDS`.
      segments: in the order in which an answer numbers them.
      question: in words, such as "Which is closer to the goal?"; may be empty.
      strategy: the name of the strategy that chose the segments; empty: unknown.
      parameters: of the strategy; any recordable values.

    Raises:
      ValueError: the kind is unknown, or there is no segment.
    """

    kind: str
    segments: tuple[Segment, ...]
    question: str = ""
    strategy: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"query: expected a kind of answers ({', '.join(KINDS)}), got {self.kind!r}")
        if not self.segments:
            raise ValueError(f"query: expected the segments that a {self.kind} is about, got none")

    @property
    def id(self) -> uuid.UUID:
        """The id, a hash of kind, question and segments."""
        about = [self.kind, self.question, *([each.episode.hex, *each.order[1:]] for each in self.segments)]
        return uuid.uuid5(NAMESPACE, json.dumps(about))


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The answer of an annotator to a query.

    Attributes:
      query: of the answer.
      answer: of the kind in the query.
      annotator: a person, a program, a model.
      confidence: of the annotator, in [0, 1].
      id: permanent, also in copies.
      time_ns: time at which it was stored, in nanoseconds since 1970 in UTC; 0: not stored yet.
      annotations: ids of the annotations that store it; retract these to retract the response.

    Raises:
      ValueError: the answer does not fit the query.
    """

    query: Query
    answer: Answer
    annotator: str
    confidence: float = 1.0
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    time_ns: int = field(default=0, compare=False)
    annotations: tuple[uuid.UUID, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.query.kind != self.answer.KIND:
            raise ValueError(f"expected an answer of the kind {self.query.kind!r}, got a {self.answer.KIND}")
        if not self.answer.fits(len(self.query.segments)):
            raise ValueError(f"{self.answer} cannot answer a query about {len(self.query.segments)} segments")


def latest(responses: Iterable[Response]) -> list[Response]:
    """The latest response of each annotator to each query: in this way annotators correct themselves.

    The order is that of the given responses, which for stored ones is that of time.
    """
    found: dict[tuple[str, uuid.UUID], Response] = {}
    for each in responses:
        key = each.annotator, each.query.id
        found.pop(key, None)
        found[key] = each
    return list(found.values())

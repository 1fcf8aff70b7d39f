"""Annotations of an episode, or of some of its steps."""

import enum
import uuid
from dataclasses import dataclass
from typing import Any


class Kind(enum.Enum):
    """The kind of an annotation.

    >>> Kind("tag") is Kind.TAG
    True
    """

    TAG = "tag"
    """A label of an episode or a step."""
    NOTE = "note"
    """Free text."""
    RETURN = "return"
    """A number for the whole episode."""
    FIELD = "field"
    """A value of a field of the steps: a reward, an action, a field that was not recorded."""
    RETRACTION = "retraction"
    """Retracts another annotation."""


@dataclass(frozen=True, slots=True, eq=False)
class Annotation:
    """A stored annotation. Annotations never change: later ones supersede or retract them.

    Two annotations are equal if they have the same id.

    Attributes:
      id: permanent, also in copies.
      kind: of the annotation.
      episode: id of the annotated episode.
      steps: of the episode, counted from its start; None: the whole episode.
      value: a label, text, a number, or the value of the field in each of the steps.
      source: the author: a person, a program, a model.
      confidence: of the source, in [0, 1]; with 0 it does not vote.
      time_ns: time in nanoseconds since 1970 in UTC, by the clock of the machine that wrote it.
      field: name, or path into a nest, of the field; empty for other kinds.
      is_stacked: whether `value` is an array that has one entry for each step.
      user_data: any value from the source.
      digest: content digest of the episode at that time; empty while it was being recorded.
      retracts: id of the retracted annotation; None for other kinds.
    """

    id: uuid.UUID
    kind: Kind
    episode: uuid.UUID
    steps: range | None
    value: Any  # whatever is recorded
    source: str
    confidence: float
    time_ns: int
    field: str = ""
    is_stacked: bool = False
    user_data: Any = None  # whatever is recorded
    digest: bytes = b""
    retracts: uuid.UUID | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Annotation) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def order(self) -> tuple[int, bytes]:
        """Sort key: time, then id."""
        return self.time_ns, self.id.bytes

    def touches(self, steps: range) -> bool:
        """Whether it applies to one of these steps; true for one of the whole episode."""
        return self.steps is None or (self.steps.start < steps.stop and steps.start < self.steps.stop)

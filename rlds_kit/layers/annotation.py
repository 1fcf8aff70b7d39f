"""What somebody says of an episode, or of some of its steps, after it was recorded."""

import enum
import uuid
from dataclasses import dataclass
from typing import Any


class Kind(enum.Enum):
    """What is said.

    >>> Kind("tag") is Kind.TAG
    True
    """

    TAG = "tag"
    """A label; an episode or a step has it or not."""
    NOTE = "note"
    """Free text."""
    RETURN = "return"
    """A number for the whole episode."""
    FIELD = "field"
    """A value that a field of the steps should have: a reward, an action, a field that was not recorded."""
    RETRACTION = "retraction"
    """Takes another annotation back."""


@dataclass(frozen=True, slots=True, eq=False)
class Annotation:
    """One annotation as it is stored. None is ever changed: later ones supersede it, or take it back.

    Two are equal if they have the same id.

    Attributes:
      id: identifies it for ever, also in copies.
      kind: what is said.
      episode: of which episode.
      steps: of which of its steps, counted from its start; None: of the whole episode.
      value: a label, text, a number, or the value of the field in each of the steps.
      source: who says it: a person, a program, a model.
      confidence: how sure the source is, in [0, 1]; 0 is no vote.
      time_ns: when, in nanoseconds since 1970 in UTC, by the clock of the machine that wrote it.
      field: name, or path into a nest, of the field; empty for other kinds.
      is_stacked: whether `value` is an array that has one entry for each step.
      user_data: whatever the source adds.
      digest: content digest that the episode had; empty while it was being recorded.
      retracts: the annotation that is taken back; None for other kinds.
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
        """Annotations are in order of time; where that is equal, of id."""
        return self.time_ns, self.id.bytes

    def touches(self, steps: range) -> bool:
        """Whether it says something of one of these steps; one of the whole episode does."""
        return self.steps is None or (self.steps.start < steps.stop and steps.start < self.steps.stop)

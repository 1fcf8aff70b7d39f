"""The interface of assigners of credit, and their names."""

import dataclasses
import hashlib
import json
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import StepClock


class Credit(NamedTuple):
    """The steps that an event is about.

    Attributes:
      first: the first step with credit; 0 if there is none.
      weights: of this step and the following ones, each in [0, 1]; their sum is 1, or less if a part of the credit
        belongs to time before or after the episode.
    """

    first: int
    weights: tuple[float, ...]

    @property
    def steps(self) -> range:
        """The steps of the weights."""
        return range(self.first, self.first + len(self.weights))


@runtime_checkable
class Assigner(Protocol):
    """Assigns the credit of an event. Implementations are frozen dataclasses: their fields are the parameters.

    The result depends only on the parameters, the event, and the first `event.marks` marks of the clock, not on later
    ones. So the same assigner gives the same bits during a game and afterwards.
    """

    name: ClassVar[str]
    """Name of the rule."""
    version: ClassVar[int]
    """Version of the rule; it changes when the results change."""

    def credit(self, event: FeedbackEvent, clock: StepClock) -> Credit:
        """The steps that an event is about.

        Args:
          event: with the `marks` that `FeedbackStream.add` set.
          clock: of its episode.
        """


def parameters(assigner: Assigner) -> dict[str, Any]:
    """The fields of an assigner as values for JSON."""
    described: Any = assigner  # a dataclass, which a protocol cannot state
    fields: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(described)))
    return fields


def identity(assigner: Assigner) -> str:
    """Identifies the results of an assigner: a hash of its name, its version and its parameters.

    >>> from rlds_kit.shaping.credit import UniformWindow
    >>> identity(UniformWindow(0.2, 0.6))
    '1982658109cc0e9d'
    """
    rule = {"name": assigner.name, "version": assigner.version, "parameters": parameters(assigner)}
    canonical = json.dumps(rule, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]

"""Messages of the service of trials and of those who use it.

All values of environments are as `values.encode` makes them. What is sent to a service is read
strictly: no value is converted, no unknown field is allowed.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal

from rlds_kit.base.extras import needs

with needs("trials"):
    from pydantic import ConfigDict, Field, StringConstraints

STRICT: Final = ConfigDict(extra="forbid", strict=True)
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Content = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """A reward for a step that was done.

    Attributes:
      seat: name of a seat, "*" for all, or "class.*" for those of a class.
      value: the reward.
      confidence: 0 to 1.
      step: from 1; null: the latest.
      details: anything to record with it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    seat: Name
    value: Finite
    confidence: Share = 1.0
    step: Count | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A message between seats.

    Attributes:
      content: text.
      sender: name of a seat; "" where it is known.
      to: names of seats, or "class.*"; empty: all others.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    content: Content
    sender: Annotated[str, StringConstraints(max_length=200)] = ""
    to: Annotated[tuple[Name, ...], Field(max_length=64)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """The first message of a program: it takes a seat that is free.

    Attributes:
      token: of its role.
      trial: id of the trial; null: any.
      seat: name of the seat; null: any.
      actor_class: of the seat; null: any.
      wait_seconds: how long to wait for such a seat.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    type: Literal["join"] = "join"
    token: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    trial: Name | None = None
    seat: Name | None = None
    actor_class: Name | None = None
    wait_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An action for an observation.

    Attributes:
      step: of the observation.
      action: within the action space; lists and numbers are converted to the dtype of the space.
      messages: to other seats.
      rewards: for any seat and step.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    type: Literal["act"] = "act"
    step: Count
    action: Any
    messages: Annotated[tuple[Text, ...], Field(max_length=16)] = ()
    rewards: Annotated[tuple[Reward, ...], Field(max_length=64)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """The program leaves its seat."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    type: Literal["leave"] = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The program has a seat.

    Attributes:
      trial: id of the trial.
      seat: name of the seat.
      actor_class: its class.
      observation_space: as `rlds_kit.spec.to_json` describes it.
      action_space: as above.
      seed: for random numbers.
      config: of the actor.
      properties: of the trial.
    """

    type: Literal["joined"] = "joined"
    trial: str
    seat: str
    actor_class: str
    observation_space: Any
    action_space: Any
    seed: int
    config: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """The program has to act.

    Attributes:
      step: number of this request, from 1.
      observation: of the seat.
      reward: of its latest step; null: there is none.
      messages: since the latest step.
    """

    type: Literal["observe"] = "observe"
    step: int
    observation: Any
    reward: float | None = None
    messages: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The trial is over, for this seat.

    Attributes:
      reason: "" if it ended as trials do.
    """

    type: Literal["ended"] = "ended"
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A message changed nothing.

    Attributes:
      reason: what was expected.
    """

    type: Literal["refused"] = "refused"
    reason: str

"""What REST requests and answers hold."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from rlds_kit.base.extras import needs
from rlds_kit.trials.wire.messages import STRICT, Count, Name, Seconds

with needs("trials"):
    from pydantic import ConfigDict, Field, StringConstraints


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorRequest:
    """Who acts from a seat.

    Attributes:
      implementation: a name that the service knows; "remote": a program that joins.
      config: for the actor; of "remote": `join_seconds`, how long the trial waits for it.
      is_required: whether the trial ends when the actor fails.
      default_action: of a seat that is not required.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    implementation: Name
    config: dict[str, Any] = field(default_factory=dict)
    is_required: bool = True
    default_action: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTrial:
    """A trial to start.

    Attributes:
      environment: a name that the service knows.
      actors: by seat, who acts.
      id: no other trial may have it; null: one is made.
      user: for whom it runs; recorded.
      seed: of the environment; null: one is drawn.
      max_steps: after so many the episode is truncated.
      max_seconds: after so long the episode is truncated.
      answer_seconds: for an actor to give an action.
      properties: any keys and values; recorded.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    environment: Name
    actors: Annotated[dict[Name, ActorRequest], Field(min_length=1, max_length=1000)]
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}$")] | None = None
    user: Name | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    max_steps: Annotated[int, Field(ge=1, lt=1 << 53)] | None = None
    max_seconds: Seconds | None = None
    answer_seconds: Seconds = 10.0
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A trial was accepted.

    Attributes:
      id: of the trial.
    """

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTrial:
    """How to end a trial.

    Attributes:
      reason: recorded with it.
      is_hard: whether at once; if not, after one more step.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    reason: Annotated[str, StringConstraints(max_length=1000)] = "it was ended"
    is_hard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregates:
    """What a reward makes of its step; it is on the disk.

    Attributes:
      aggregates: by seat.
    """

    aggregates: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialInfo:
    """Where a trial stands.

    Attributes:
      id: of the trial.
      number: in its host, from 0.
      phase: "initializing", "running", "ended" and others.
      step: how many were done.
      seconds: since it began.
      totals: sums of the environment's rewards by seat.
      properties: of the trial.
      status: what became of it; null: it is not known, or not over.
      reason: why it ended, if its environment did not end it.
      episode_id: in the recording; "" if there is none.
      observations: the latest ones, by seat, if they were wanted.
    """

    id: str
    number: int
    phase: str
    step: int
    seconds: float
    totals: dict[str, float] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    status: str | None = None
    reason: str = ""
    episode_id: str = ""
    observations: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """A list of trials.

    Attributes:
      trials: in the order in which they were started.
    """

    trials: tuple[TrialInfo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSeat:
    """A seat that waits for a program.

    Attributes:
      trial: id of the trial.
      seat: name of the seat.
      actor_class: its class.
    """

    trial: str
    seat: str
    actor_class: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSeats:
    """Seats that wait for programs.

    Attributes:
      seats: those that wait longest first.
    """

    seats: tuple[OpenSeat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """That a service answers.

    Attributes:
      status: "ok".
      version: of rlds_kit.
      trials: how many run.
    """

    status: str = "ok"
    version: str
    trials: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a request was refused.

    Attributes:
      problems: what was expected, what came, and where.
    """

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A request was executed.

    Attributes:
      is_done: true.
    """

    is_done: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeTokens:
    """Tokens that are to be refused.

    Attributes:
      name: of whom they are for; those that are made later are accepted.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterService:
    """A program that acts in trials, which connect to it.

    Attributes:
      url: of its WebSocket.
      properties: what it can do.
      is_permanent: whether it stays though it is silent.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    url: Annotated[str, StringConstraints(pattern=r"^wss?://", max_length=1000)]
    properties: dict[Name, Annotated[str, StringConstraints(max_length=1000)]] = field(default_factory=dict)
    is_permanent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A service is registered.

    Attributes:
      id: of the service.
      secret: with which it can be changed.
      alive_seconds: how long it may be silent.
    """

    id: str
    secret: str
    alive_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A service is alive.

    Attributes:
      secret: of the service.
      load: how busy it is; null: as before.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    secret: Name
    load: Annotated[float, Field(allow_inf_nan=False)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deregister:
    """A service goes.

    Attributes:
      secret: of the service.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    secret: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceInfo:
    """A service that is registered.

    Attributes:
      id: of the service.
      url: of its WebSocket.
      properties: what it can do.
      load: how busy it is.
      is_permanent: whether it stays though it is silent.
    """

    id: str
    url: str
    properties: dict[str, str]
    load: float
    is_permanent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Services that are registered.

    Attributes:
      services: the newest or the least busy first.
    """

    services: tuple[ServiceInfo, ...]

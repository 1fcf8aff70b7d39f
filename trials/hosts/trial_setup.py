"""The whole configuration of a trial."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rlds_kit.trials.engine.aggregates import DEFAULT
from rlds_kit.trials.engine.config import Pace, TrialConfig, Turn
from rlds_kit.trials.engine.seat import Driver, SeatConfig
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.workers.placement import Placement
from rlds_kit.trials.workers.requests import Opened


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorConfig:
    """Who acts from a seat.

    Attributes:
      implementation: a registered name, the name of an entry point of `rlds_kit.actors`, "module:name", or the class or
        function itself.
      config: for the actor, in `ActorInfo.config`.
      is_required: whether the trial ends when the actor fails; if not, the default action is done in its place.
      default_action: of a seat that is not required.
      placement: where it runs on a cluster; None: as the cluster does by default.
    """

    implementation: str | Callable[..., Any]
    config: Mapping[str, Any] = field(default_factory=dict)
    is_required: bool = True
    default_action: Any = None
    placement: Placement | None = None


class InvalidSetupError(ValueError):
    """A trial cannot be as its setup says; the message has what to change."""


Actors = Mapping[str, "ActorConfig | str | Callable[..., Any]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSetup:
    """A trial to run; a hook may return another one in its place.

    Attributes:
      environment: which; its agents are the seats ("player" where there is one).
      actors: by seat, who acts: an `ActorConfig`, or only its implementation. A seat that has none, and is not in the
        `policies` of the environment, does nothing: only a teacher may.
      trial_id: no other trial of the host may have it; recorded. None: one is made, and not recorded.
      user: for whom it runs; recorded.
      seed: of the environment, from which those of the actors follow; None: one is drawn, and recorded.
      options: of the reset.
      max_steps: after so many the episode is truncated.
      max_seconds: after so long one more step is done, and the episode is truncated.
      answer_seconds: for an actor to give an action; then it is lost.
      end_seconds: for an actor when its trial is over; then it is killed.
      properties: any keys and values, for hooks, actors and queries; recorded.
      aggregate: how several rewards of a step become one; see `TrialConfig`.
      placement: where the environment runs on a cluster; None: as the cluster does by default.
    """

    environment: EnvironmentSpec
    actors: Actors
    trial_id: str | None = None
    user: str | None = None
    seed: int | None = None
    options: Mapping[str, Any] | None = None
    max_steps: int | None = None
    max_seconds: float | None = None
    answer_seconds: float = 10.0
    end_seconds: float = 30.0
    properties: Mapping[str, Any] = field(default_factory=dict)
    aggregate: str = DEFAULT
    placement: Placement | None = None

    def actor(self, seat: str) -> ActorConfig | None:
        """Who acts from a seat; None: no actor does."""
        found = self.actors.get(seat)
        return found if found is None or isinstance(found, ActorConfig) else ActorConfig(implementation=found)


def trial_config(setup: TrialSetup, opened: Opened, seed: int) -> TrialConfig:
    """The engine's settings of a trial.

    Raises:
      InvalidSetupError: actors have no seat, a seat no actor, or an optional actor no default action within its space.
    """
    strangers = sorted(setup.actors.keys() - set(opened.seats))
    if strangers:
        raise InvalidSetupError(f"expected actors for the seats {', '.join(opened.seats)}, got {', '.join(strangers)}")
    seats = tuple(_seat(setup, name, opened) for name in opened.seats)
    try:
        return TrialConfig(
            seats=seats,
            pace=Pace(Turn.PRESS),
            seed=seed,
            options=setup.options,
            max_steps=setup.max_steps,
            max_seconds=setup.max_seconds,
            is_confirmed=False,
            idle_seconds=None,
            answer_seconds=setup.answer_seconds,
            aggregate=setup.aggregate,
        )
    except ValueError as error:
        raise InvalidSetupError(str(error)) from error


def _seat(setup: TrialSetup, name: str, opened: Opened) -> SeatConfig:
    actor, kind = setup.actor(name), opened.classes[name]
    if actor is None:
        driver = Driver.POLICY if name in setup.environment.policies else Driver.NOBODY
        if driver is Driver.NOBODY and not kind.is_optional:
            raise InvalidSetupError(
                f"expected an actor for seat {name!r}; there are actors for {', '.join(setup.actors)}"
            )
        return SeatConfig(name=name, driver=driver, is_required=False, actor_class=kind.name)
    default = actor.default_action
    if not actor.is_required and not kind.contains(default):
        raise InvalidSetupError(
            f"seat {name!r}: expected a default_action in {kind.action_space}, for its actor is not required, "
            f"got {default!r}"
        )
    return SeatConfig(
        name=name,
        driver=Driver.ACTOR,
        is_required=actor.is_required,
        default_action=default,
        actor_class=kind.name,
    )

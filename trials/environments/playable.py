"""What a worker needs of an environment, whatever its interface."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from rlds_kit import spec as specs
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.trials.environments.actor_class import ActorClass
from rlds_kit.trials.environments.controls import Controls
from rlds_kit.trials.environments.look_ahead import LookAhead
from rlds_kit.trials.frames.picture import Picture

SEAT: Final = "player"
"""The seat of an environment that has one."""


@dataclass(frozen=True, slots=True)
class EnvironmentSpec:
    """Which environment to make.

    Attributes:
      id: that its interface knows it by, as "ALE/Breakout-v5"; of PettingZoo also, of dm_env always "module:function".
      kwargs: for making it.
      interface: "gymnasium", "pettingzoo" or "dm_env".
      policies: by seat, the name of the policy that drives it where no person does; a seat that has none of its own is
        driven at random.
      name: for people.
      controls: keys, names and default of discrete actions, as `Controls.edited` takes them; None: those that are
        known.
      seat_controls: by seat, such a table for the actions of this seat, in place of `controls`.
      is_for_people: whether people can play it; if not, it may have any actions, and has no controls.
      has_teacher: whether there is a second seat, for a teacher; see `TaughtPlayable`.
    """

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    interface: str = "gymnasium"
    policies: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    controls: Mapping[str, Any] | None = None
    seat_controls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_for_people: bool = True
    has_teacher: bool = False


class Outcome(NamedTuple):
    """What a step brought.

    Attributes:
      observed: fields of the row after it.
      acted: fields of the action: action, reward, discount.
      rewards: by seat.
      ending: how the episode ends with this step; None: it goes on.
      flags: Gymnasium's terminated and truncated.
    """

    observed: Mapping[str, Any]
    acted: Mapping[str, Any]
    rewards: Mapping[str, float | None]
    ending: EpisodeEnd | None
    flags: tuple[bool, bool]


class Playable(Protocol):
    """An environment.

    Attributes:
      seats: names of its agents.
      is_seeded: whether a seed makes an episode begin the same again.
      declared: the fields that every step has.
      provenance: what it is, for the recording.
      classes: by seat, what its actor observes and does.
      controls: by seat, how people act; empty if the environment is not for people.
      cameras: names of the views that `picture` can give.
      rate: steps a second that it was made for; None: it does not say.
      own_pictures: by seat, what gives its own picture; seats that are not in it see the common one.
      look_ahead: draws what the first view would show after each action; None: the state cannot be copied.
    """

    seats: tuple[str, ...]
    is_seeded: bool
    declared: specs.Dict
    provenance: Mapping[str, Any]
    classes: Mapping[str, ActorClass]
    controls: Mapping[str, Controls]
    cameras: tuple[str, ...]
    rate: float | None
    own_pictures: Mapping[str, Callable[[], Picture]]
    look_ahead: LookAhead | None

    def reset(self, seed: int, options: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Begins an episode; returns the fields of the first row."""

    def observations(self) -> Mapping[str, Any]:
        """By seat, the latest observation; seats that got none are not in it."""

    def gone(self) -> tuple[str, ...]:
        """Seats whose agents are not in the episode any more."""

    def act(self, policy: str, seat: str) -> Any:
        """The action that a policy chooses for a seat now."""

    def step(self, actions: Mapping[str, Any]) -> Outcome:
        """Does a step."""

    def picture(self, camera: int) -> Picture:
        """What a person sees now."""

    def close(self) -> None:
        """Lets everything go."""

"""Requests to a worker, and its answers. Both travel by pipe between processes of one program.

What travels with every step are named tuples: they are made, and pickled, sooner.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rlds_kit import spec as specs
from rlds_kit.trials.environments.actor_class import ActorClass
from rlds_kit.trials.environments.controls import Controls
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.frames.picture import Encoded, Quality
from rlds_kit.trials.workers.step_counter import StepCounter


class View(NamedTuple):
    """How a person wants to see the environment.

    Attributes:
      camera: number of the view.
      quality: of the picture; None: no picture at all.
    """

    camera: int = 0
    quality: Quality | None = Quality.MEDIUM


@dataclass(frozen=True, slots=True)
class Open:
    """Make an environment, and record it.

    Attributes:
      environment: which.
      directory: of the dataset; None: nothing is recorded.
      about: name, description, citation and licence of the dataset.
      are_pictures_recorded: whether every step has what there was to see, as it was drawn.
      are_observations_returned: whether answers have what each seat observes, for actors.
      counter: counts each step; None: nothing is counted.
    """

    environment: EnvironmentSpec
    directory: str | None
    about: Mapping[str, str] = field(default_factory=dict)
    are_pictures_recorded: bool = False
    are_observations_returned: bool = False
    counter: StepCounter | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """The environment is there.

    Attributes:
      seats: names of its agents.
      controls: by seat.
      cameras: names of the views.
      rate: steps a second that it was made for; None: it does not say.
      declared: the fields that every step has.
      classes: by seat, what its actor observes and does.
      ahead: actions that keys stand for, and whose pictures can be drawn ahead of the step; empty: none can.
    """

    seats: tuple[str, ...]
    controls: Mapping[str, Controls]
    cameras: tuple[str, ...]
    rate: float | None
    declared: specs.Dict
    classes: Mapping[str, ActorClass] = field(default_factory=dict)
    ahead: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reset:
    """Begin an episode.

    Attributes:
      view: of the first picture.
      seed: None: one is drawn.
      options: of the reset.
      metadata: of the episode, as far as it is known now.
    """

    view: View
    seed: int | None = None
    options: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Begun:
    """An episode has begun.

    Attributes:
      episode_id: in the recording, 32 hexadecimal digits; "" where nothing is recorded.
      seed: that was used; None: the environment takes none.
      picture: what there is to see.
      observations: by seat, if they are returned.
      own: by seat, its own picture, where it has one.
    """

    episode_id: str
    seed: int | None
    picture: Encoded
    observations: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Encoded] = field(default_factory=dict)


class Step(NamedTuple):
    """Do a step.

    Attributes:
      view: of the picture.
      actions: by seat, of those that no policy drives.
      play: what is recorded of people: who acted, keys, frames, messages.
      is_last: whether the step is truncated by a limit of the study.
      clocks: measured times that are recorded, by seat; digests leave them out.
    """

    view: View
    actions: Mapping[str, Any]
    play: Mapping[str, Any] = {}
    is_last: bool = False
    clocks: Mapping[str, Any] = {}


class Stepped(NamedTuple):
    """A step was done.

    Attributes:
      step: its number; the first is 1.
      rewards: by seat.
      terminated: Gymnasium's flag.
      truncated: Gymnasium's flag, also true at the limit of the study.
      picture: what there is to see.
      observations: by seat, if they are returned.
      gone: seats whose agents are not in the episode any more.
      own: by seat, its own picture, where it has one.
      counted: by seat, what a counter has counted so far, by name.
      came_true: whether the picture ahead of this action is the one of this step, pixel by pixel; None: there was none.
    """

    step: int
    rewards: Mapping[str, float | None]
    terminated: bool
    truncated: bool
    picture: Encoded
    observations: Mapping[str, Any] = {}
    gone: tuple[str, ...] = ()
    own: Mapping[str, Encoded] = {}
    counted: Mapping[str, Mapping[str, float]] = {}
    came_true: bool | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """Give a picture of what there is to see now; nothing changes.

    Attributes:
      view: of the picture.
    """

    view: View


@dataclass(frozen=True, slots=True)
class Ahead:
    """Give the picture that there would be in the first view after an action; nothing changes.

    Attributes:
      action: one of `Opened.ahead`.
      quality: of the picture.
    """

    action: int
    quality: Quality


@dataclass(frozen=True, slots=True)
class Sync:
    """Put what is recorded so far on the disk."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The episode is over.

    Attributes:
      metadata: what is known only now.
      is_kept: whether to keep the recording.
    """

    metadata: Mapping[str, Any]
    is_kept: bool = True


@dataclass(frozen=True, slots=True)
class Close:
    """Let the environment go; an open episode ends as INTERRUPTED."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Say which environments can be made; needs none.

    Attributes:
      modules: to import, because they register environments.
      interface: "pettingzoo" for those of PettingZoo; else all others.
    """

    modules: tuple[str, ...] = ()
    interface: str = "gymnasium"


@dataclass(frozen=True, slots=True)
class Describe:
    """Say what can be set when an environment is made; needs none.

    Attributes:
      id: of the environment.
    """

    id: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A request could not be done.

    Attributes:
      reason: for people to read.
      is_lost: whether the environment can be used no more.
    """

    reason: str
    is_lost: bool


Request = Open | Reset | Step | Show | Ahead | Sync | Finish | Close | Catalogue | Describe
Answer = Opened | Begun | Stepped | Encoded | Mapping[str, Any] | Failed | None
"""None: it is done. A mapping: by id of an environment, its module; or a JSON schema."""

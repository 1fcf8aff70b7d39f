"""What playing needs of the server around it: who may come in, what is played, and where the outcome goes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from rlds_kit.studio.play.attendance import Presence
from rlds_kit.studio.play.rules import Rules
from rlds_kit.trials import Driver, Status, Turn
from rlds_kit.trials.engine.messages import StepEnvironment
from rlds_kit.trials.frames.picture import Quality
from rlds_kit.trials.hosts.trial_setup import ActorConfig
from rlds_kit.trials.workers import requests

UNPLAYABLE: Final = "the environment failed; inform the person who invited you, the studio's log says why"
"""What participants see instead of tracebacks and advice on installations."""


class NotAdmittedError(Exception):
    """A person may not come in.

    Args:
      code: a word for programs, such as "token" or "disabled".
      reason: for the person to read.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class NotNotedError(Exception):
    """The host will never store something; after any other error it is notified again."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A person may come in.

    Attributes:
      session: in which is played; names a `Play`.
      holder: the person, as recordings know it: never a name or an address.
      seat: to act from; None: the person is an observer.
      account: the only one that may bring the token; None: the host has no accounts.
      is_guest: whether the person came by the link of a study: guests leave places to those who were invited.
    """

    session: str
    holder: str
    seat: str | None
    account: str | None = None
    is_guest: bool = False


class Watch(Protocol):
    """Sees what is played while it is; it returns at once, and does not raise."""

    def stepped(self, doing: StepEnvironment, done: requests.Stepped) -> None:
        """A step was done, and is recorded."""

    def lost(self) -> None:
        """The environment was lost; another one may be made in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is played in a session.

    Attributes:
      open: the environment, and where it is recorded.
      turn: when a step is done.
      fps: steps a second; None: those that the environment was made for, else 15.
      first: number of the first episode: how many were begun in the session before.
      seed: of an episode, by its number in the session; None: one is drawn.
      options: of the reset.
      max_steps: after so many an episode is truncated.
      drivers: by seat, who acts where it is not a person.
      fallbacks: by seat, who acts while a person is missing.
      actors: by seat, the program that acts where the driver, or the fallback, is an actor.
      optional: seats that the episode does not wait for, and that do their default action if their program fails.
      defaults: by seat, the default action, where it is not that of the keys.
      idle: by seat, seconds without a key after which the fallback acts, until a key is pressed.
      people: by seat, the person who may sit there, as recordings know them; for their metadata.
      notes: by seat, instructions for its person beside those for all.
      rules: what people decide together.
      metadata: recorded with every episode: study, user, and so on.
      instructions: for people to read.
      quality: of pictures, until a person chooses another.
      limits: other settings of `TrialConfig` by name, such as idle_seconds.
      shows_errors: whether people see what an environment raised; else they see `UNPLAYABLE`, and the log has the
        error.
      is_rate_fixed: whether people cannot change the steps a second.
      is_ahead: whether pictures of possible next steps are sent ahead, where each step waits for a key.
      watch: sees what is played; None: not used.
    """

    open: requests.Open
    turn: Turn = Turn.CLOCK
    fps: float | None = None
    first: int = 0
    seed: Callable[[int], int | None] = lambda _: None
    options: Mapping[str, Any] | None = None
    max_steps: int | None = None
    drivers: Mapping[str, Driver] = field(default_factory=dict)
    fallbacks: Mapping[str, Driver] = field(default_factory=dict)
    actors: Mapping[str, ActorConfig] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    idle: Mapping[str, float] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""
    quality: Quality = Quality.MEDIUM
    limits: Mapping[str, Any] = field(default_factory=dict)
    shows_errors: bool = True
    is_rate_fixed: bool = False
    is_ahead: bool = True
    watch: Watch | None = None

    def public(self, error: str) -> str:
        """What people see of an error of an environment."""
        return error if self.shows_errors else UNPLAYABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEpisode:
    """An episode that is over; its recording is on the disk.

    Attributes:
      session: in which it was played.
      number: in the session, from 0.
      episode_id: in the recording, 32 hexadecimal digits; "" if nothing is recorded.
      seed: of the reset; None: the environment takes none.
      status: what became of it; ABANDONED if the environment was lost, whatever a person had decided.
      reason: why, if no person ended it.
      steps: how many were done.
      totals: sums of rewards by seat.
      started_ns: when it was reset, nanoseconds since 1970.
      ended_ns: when it ended.
      is_kept: False for one that was abandoned before its first step; its recording is dropped.
      is_whole: False if the environment was lost: its last second may be missing, and the recording says no status.
      facts: what else was recorded with it.
    """

    session: str
    number: int
    episode_id: str
    seed: int | None
    status: Status
    reason: str
    steps: int
    totals: Mapping[str, float]
    started_ns: int
    ended_ns: int
    is_kept: bool
    is_whole: bool
    facts: Mapping[str, Any]


class Host(Protocol):
    """The server around.

    `begun`, `finished` and `ended` come in this order for each session, one after another, `present` in between. One
    that raises is called again later with the same arguments, also if it had already done its work: doing it twice must
    change nothing. A game does not wait for them for long. What the host did not store before the server ends is in the
    recordings: their metadata have session, number, status and the rest.
    """

    async def admit(self, token: str) -> Admission:
        """Who brings a token, and what for.

        Raises:
          NotAdmittedError: the person may not.
        """

    async def scene(self, session: str) -> Scene:
        """What is played in a session.

        Raises:
          NotAdmittedError: nothing, now.
        """

    async def begun(self, session: str, number: int, episode_id: str, seed: int | None) -> None:
        """An episode has begun; if the server dies before `finished`, the next start finds it by its id.

        Raises:
          NotNotedError: the host will never store this.
        """

    async def present(self, session: str, presence: Presence) -> None:
        """A person came to a seat, or left it, which is the same presence with the time of that.

        Raises:
          NotNotedError: the host will never store this.
        """

    async def finished(self, episode: PlayedEpisode) -> None:
        """An episode is over and on the disk. What is shown as saved has been here before.

        Raises:
          NotNotedError: the host will never store this.
        """

    async def ended(self, session: str, reason: str) -> None:
        """Nothing more is played in a session, until `scene` is called again.

        Raises:
          NotNotedError: the host will never store this.
        """

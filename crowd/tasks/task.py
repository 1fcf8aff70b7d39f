"""Tasks, groups of tasks, and the whole of a crowd, as a file declares them."""

import datetime as dt
import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rlds_kit.crowd.incentives.requirement import Requirement
from rlds_kit.crowd.incentives.treatment import Treatment
from rlds_kit.crowd.tasks.form import Form
from rlds_kit.crowd.tasks.screening import Screening


class Mode(enum.Enum):
    """How a group gives out its tasks.

    >>> Mode("quota") is Mode.QUOTA
    True
    """

    CHOOSE = "choose"
    """People choose a card."""
    QUOTA = "quota"
    """The first task that has less than its target."""
    EQUAL = "equal"
    """The task with the fewest assignments, completed and active ones together."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task.

    Attributes:
      name: of the task.
      title: for people.
      text: on its card.
      environment: for `gymnasium.make` or `pettingzoo.make`, or `module:function`.
      kwargs: of the environment.
      seats: how many people play together; programs take seats that stay empty.
      pace: "realtime"; "turns": a step for each key press; "hold": steps while a key is down; "release": a step when a
        key is let go.
      fps: steps in a second, in real time and while a key is down.
      keys: by action; empty: those that the environment declares.
      instructions: by seat; the entry "" is for all others.
      collectors: names of what is counted and shown.
      treatment: how it is rewarded.
      target: assignments that are wanted.
      redirect: where people are sent when they are done; empty: nowhere.
      play_again: whether people may play again when they are done.
      wait_seconds: after which programs take the seats that are empty; without a partner, people are sent away then.
      partner: the program for empty seats, and for people who leave: "random", or "module:name"; empty: there is none.
      matchmaker: what puts people together: "order": who came first plays first; "latency": those with the closest
        round trips; "group": those of the same group; or "module:function".
      match_within_ms: by which round trips differ at most, by latency.
      match_seconds: after which people play with those whose round trips are closest, however far.
      quality: a collector, and the value with which play has the full quality of 1, for groups that are weighted; None:
        all play has it.
      is_ahead: whether pictures of possible next steps are sent ahead, in turns, where the environment can be copied.
    """

    name: str
    title: str
    environment: str
    text: str = ""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    seats: int = 1
    pace: str = "realtime"
    fps: float = 60.0
    keys: Mapping[str, Any] = field(default_factory=dict)
    instructions: Mapping[str, str] = field(default_factory=dict)
    collectors: tuple[str, ...] = ("score",)
    treatment: Treatment = field(default_factory=lambda: Treatment("challenge"))
    target: int = 1
    redirect: str = ""
    play_again: bool = False
    wait_seconds: float = 900.0
    partner: str = ""
    matchmaker: str = "order"
    match_within_ms: float = 50.0
    match_seconds: float = 30.0
    quality: Requirement | None = None
    is_ahead: bool = True

    def instructions_for(self, seat: str) -> str:
        """The instructions of a seat.

        >>> Task("t", "T", "e", instructions={"": "Play.", "left": "Go left."}).instructions_for("right")
        'Play.'
        """
        return self.instructions.get(seat, self.instructions.get("", ""))


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks behind one link.

    Attributes:
      name: in the link.
      tasks: their names, in order.
      mode: how they are given out.
      is_weighted: whether completed assignments count by the quality that their task declares.
    """

    name: str
    tasks: tuple[str, ...]
    mode: Mode = Mode.EQUAL
    is_weighted: bool = False


@dataclass(frozen=True, slots=True)
class Crowd:
    """A crowd.

    Attributes:
      name: for people.
      tasks: by name.
      groups: by name.
      consent: the text that people accept; empty: there is none.
      recruitment: ways in which people may come.
      before, after: forms.
      check: a comprehension check; `attempts` wrong ones send people away.
      attempts: at least 1.
      screening: of devices and links.
      over_recruit: of the targets, how many more may be under way, for those who drop out.
      grace_seconds: in which a participant who left may come back.
      completion_code: of the platform, as Prolific's; empty: everybody gets one of their own.
      opens, closes: None: always open.
      currency: of payments.
      text: TOML that declares it; empty: a program does.
    """

    name: str
    tasks: Mapping[str, Task]
    groups: Mapping[str, Group]
    consent: str = ""
    recruitment: tuple[str, ...] = ("laboratory", "test")
    before: Form = ()
    after: Form = ()
    check: Form = ()
    attempts: int = 2
    screening: Screening = field(default_factory=Screening)
    over_recruit: float = 0.0
    grace_seconds: float = 60.0
    completion_code: str = ""
    opens: dt.datetime | None = None
    closes: dt.datetime | None = None
    currency: str = "USD"
    text: str = field(default="", compare=False, repr=False)

    @property
    def consent_hash(self) -> str:
        """SHA-256 of the consent text, hexadecimal: what exactly a participant accepted.

        >>> Crowd("c", {}, {}, consent="I agree.").consent_hash[:8]
        '826ff0da'
        """
        return hashlib.sha256(self.consent.encode()).hexdigest()

    def is_open(self, now: dt.datetime) -> bool:
        """Whether people may begin now."""
        return (self.opens is None or self.opens <= now) and (self.closes is None or now < self.closes)

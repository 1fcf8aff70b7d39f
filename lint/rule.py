"""A rule: a permanent id, the severity of its findings, and a check that gets the episodes one by one."""

import enum
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rlds_kit.base.step import ACTION, DISCOUNT, OBSERVATION, REWARD
from rlds_kit.lint.subject import Leaf, Subject, SubjectEpisode

LEARNED_FROM = (OBSERVATION, ACTION, REWARD, DISCOUNT)
"""Fields that training code reads."""


class Severity(enum.Enum):
    """The severity of a finding."""

    ERROR = "error"
    """The data are wrong, or contradict their metadata."""
    WARNING = "warning"
    """More often an error than intended."""
    INFO = "info"
    """Worth knowing."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A finding of a check.

    Attributes:
      message: for people, without the place.
      episode: its number; None when it concerns the dataset.
      step: row of the episode; None when it concerns all of it.
      field: path of the leaf, or of the metadata; empty when none in particular.
      count: number of values or steps of the episode.
      severity: None: that of the rule.
    """

    message: str
    episode: int | None = None
    step: int | None = None
    field: str = ""
    count: int = 1
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive rows of an episode, with the leaves that some check has requested.

    Attributes:
      episode: with these rows.
      leaves: by path.
    """

    episode: SubjectEpisode
    leaves: Mapping[str, Leaf]


class Check:
    """The check of a rule on one dataset, with its state.

    Attributes:
      reads: the fields of steps that it gets in stretches. It may read others from the episode.
    """

    reads: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.done = set[str]()

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Gets the dataset before its episodes."""
        del subject
        return ()

    def wants(self, path: str) -> bool:
        """Whether it still needs a leaf: leaves that no check needs are not decoded."""
        return path.partition("/")[0] in self.reads and path not in self.done

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Gets consecutive rows, which may have leaves that it does not need."""
        del stretch
        return ()

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Gets an episode after its rows."""
        del episode
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Gets the dataset after its episodes."""
        del subject
        return ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its id, severity, title and text, and the class that checks it.

    Attributes:
      id: "RK" and three digits, the first of which is its theme. It never changes.
      name: of the rule, for people.
      title: one sentence that describes its findings.
      severity: of its findings, unless one states otherwise.
      text: the fault, why it matters and how to fix it: three paragraphs.
      start: makes its check.
      across: whether one check sees all datasets one after the other.
    """

    id: str
    name: str
    title: str
    severity: Severity
    text: str
    start: Callable[[], Check]
    across: bool = False


DECLARED: Final[dict[str, Rule]] = {}
"""The rules of all modules that were imported, by id."""


def rule(identifier: str, severity: Severity, *, across: bool = False) -> Callable[[type[Check]], type[Check]]:
    """Declares a class as the check of a rule, with its name. Its docstring describes it: a title and three paragraphs.

    Args:
      identifier: "RK" and three digits.
      severity: of its findings.
      across: whether one check gets all datasets one after the other.
    """

    def declare(check: type[Check]) -> type[Check]:
        title, _, text = inspect.cleandoc(check.__doc__ or "").partition("\n\n")
        name = re.sub("(?<!^)(?=[A-Z])", "-", check.__name__).lower()
        DECLARED[identifier] = Rule(identifier, name, title.removesuffix("."), severity, text, check, across)
        return check

    return declare

"""The errors of `publish`."""

from dataclasses import dataclass

from rlds_kit.base.errors import RldsKitError


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why a dataset cannot be published in its current state.

    Attributes:
      rule: its kind, a short permanent name.
      message: what was found, and where.
      advice: what to do.

    >>> print(Problem("licence", "there is no licence", "give one with --licence"))
    licence: there is no licence; give one with --licence
    """

    rule: str
    message: str
    advice: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}; {self.advice}"


class PublishError(RldsKitError, RuntimeError):
    """A dataset could not be published; the message explains what to do."""


class NotPublishableError(PublishError):
    """The checks found something; nothing was written.

    Attributes:
      problems: all of them.
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("not published: " + "; ".join(str(problem) for problem in problems))
        self.problems = problems

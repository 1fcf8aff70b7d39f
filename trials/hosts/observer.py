"""What is measured of trials."""

from typing import Protocol

from rlds_kit.trials.hosts.finished_trial import FinishedTrial


class Observer(Protocol):
    """Gets what a host measures; for metrics. Its methods return at once, and raise nothing."""

    def ticked(self, seconds: float) -> None:
        """A step was done, so long after the one before."""

    def answered(self, seconds: float) -> None:
        """An actor gave an action, so long after the request."""

    def dropped(self) -> None:
        """A state was replaced by a newer one before a watcher read it."""

    def finished(self, trial: FinishedTrial) -> None:
        """A trial is over."""


class Unobserved:
    """Measures nothing."""

    def ticked(self, seconds: float) -> None:
        """Does nothing."""

    def answered(self, seconds: float) -> None:
        """Does nothing."""

    def dropped(self) -> None:
        """Does nothing."""

    def finished(self, trial: FinishedTrial) -> None:
        """Does nothing."""

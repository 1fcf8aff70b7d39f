"""Where the actors of trials come from: processes of this host, or elsewhere."""

from typing import Any, Protocol

from rlds_kit.trials.actors.contract import ActorInfo, Text
from rlds_kit.trials.actors.registry import Implementation
from rlds_kit.trials.actors.requests import Acted, News
from rlds_kit.trials.workers.placement import Placement


class Seated(Protocol):
    """An actor of a trial, wherever it is."""

    @property
    def implementation(self) -> str:
        """Its name."""

    @property
    def version(self) -> str:
        """Of the implementation."""

    @property
    def learns(self) -> bool:
        """Whether it wants each step."""

    @property
    def is_amended(self) -> bool:
        """Whether it wants new aggregates of rewards."""

    async def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...], news: News) -> Acted:
        """Has the actor choose an action within its space.

        Raises:
          ActorError: it did not.
        """

    async def end(self, news: News, seconds: float) -> str:
        """Ends its trial; returns what failed, or ""."""


class ActorSource(Protocol):
    """Gives actors."""

    async def take(self, implementation: Implementation, info: ActorInfo, placement: Placement | None = None) -> Seated:
        """An actor for a trial that begins.

        Args:
          implementation: of it.
          info: of the trial.
          placement: where it runs; None: where the source has its actors.

        Raises:
          ActorError: there is none.
        """

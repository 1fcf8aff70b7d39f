"""The environment of a session, which is made again after it was lost."""

from collections.abc import Awaitable, Callable
from typing import Any

from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import Environment, EnvironmentLostError

MakeEnvironment = Callable[[], Awaitable[Environment]]


class LiveEnvironment:
    """The environment of a session.

    Args:
      make: makes it.
      on_lost: called with the reason when it is lost.

    Attributes:
      opened: what is known of it, once it was made.
      loss: why it was lost; "" if it was not.
      failures: how often it was lost since an episode ended without a loss.
    """

    opened: requests.Opened

    def __init__(self, make: MakeEnvironment, on_lost: Callable[[str], None]) -> None:
        self._make, self._on_lost = make, on_lost
        self._environment: Environment | None = None
        self.loss, self.failures = "", 0

    @property
    def is_lost(self) -> bool:
        """Whether there is none now."""
        return self._environment is None

    async def make(self) -> None:
        """Makes it.

        Raises:
          RequestFailedError: it cannot be made.
          EnvironmentLostError: making it crashed.
        """
        environment = await self._make()
        environment.on_lost = self._lost
        self._environment, self.opened, self.loss = environment, environment.opened, ""

    async def request(self, request: requests.Request) -> Any:  # the answer to the request
        """Executes a request.

        Raises:
          RequestFailedError: it failed, and nothing changed.
          EnvironmentLostError: the environment is lost.
        """
        if self._environment is None:
            raise EnvironmentLostError(self.loss)
        try:
            return await self._environment.request(request)
        except EnvironmentLostError as error:
            self._lost(str(error))
            raise

    def _lost(self, reason: str) -> None:
        if self._environment is not None:
            self._environment, self.loss = None, reason
            self.failures += 1
            self._on_lost(reason)

    async def close(self) -> None:
        """Closes it."""
        if self._environment is not None:
            self._environment.on_lost = None
            await self._environment.close()

"""One service of a directory."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rlds_kit.base.errors import RldsKitError


class UnknownServiceError(RldsKitError, LookupError):
    """There is no such service: it was never registered, is deregistered, or was silent for too long."""


class WrongSecretError(RldsKitError, ValueError):
    """Only who registered a service may change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorService:
    """A program that acts in trials.

    Attributes:
      id: in the directory.
      url: of its WebSocket.
      properties: what it can do; keys and values are free.
      load: how busy it is, as it says itself.
      number: of its registration; later ones have larger numbers.
      is_permanent: whether it stays though it is silent.
    """

    id: str
    url: str
    properties: Mapping[str, str] = field(default_factory=dict)
    load: float = 0.0
    number: int = 0
    is_permanent: bool = False

    def has(self, properties: Mapping[str, str]) -> bool:
        """Whether it has all of these properties.

        >>> ActorService(id="1", url="ws://a", properties={"game": "pong", "level": "3"}).has({"game": "pong"})
        True
        """
        return all(self.properties.get(key) == value for key, value in properties.items())

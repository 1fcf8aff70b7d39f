"""The directory."""

import dataclasses
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import FormatError
from rlds_kit.base.whole_file import make_directory, write_json
from rlds_kit.trials.directory.entry import ActorService, UnknownServiceError, WrongSecretError

ALIVE_SECONDS: Final = 30.0
"""After so long without a heartbeat a service is gone."""


@dataclasses.dataclass(slots=True)
class _Registered:
    service: ActorService
    secret: str
    seen: float


class ServiceDirectory:
    """Services that registered, and still send heartbeats.

    Args:
      path: of a file for permanent services, which are there again after a restart; None: they are not stored.
      alive_seconds: after so long without a heartbeat a service is gone, unless it is permanent.
      clock: in seconds.

    Raises:
      FormatError: the file is not one of a directory.

    >>> directory = ServiceDirectory()
    >>> service, secret = directory.register("ws://127.0.0.1:9001", {"game": "pong"})
    >>> [each.url for each in directory.inquire({"game": "pong"})], directory.inquire({"game": "chess"})
    (['ws://127.0.0.1:9001'], [])
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        alive_seconds: float = ALIVE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = None if path is None else Path(path)
        self.alive_seconds: Final = alive_seconds
        self._clock = clock
        self._services: dict[str, _Registered] = {}
        if self._path is not None and self._path.exists():
            self._load(self._path)
        self._last = max((each.service.number for each in self._services.values()), default=0)

    def register(
        self, url: str, properties: Mapping[str, str], *, is_permanent: bool = False
    ) -> tuple[ActorService, str]:
        """Adds a service; returns it, and the secret with which it can be changed.

        Args:
          url: of its WebSocket.
          properties: what it can do.
          is_permanent: whether it stays though it is silent.

        Raises:
          OSError: the file cannot be written.
        """
        self._last += 1
        service = ActorService(
            id=secrets.token_hex(8),
            url=url,
            properties=dict(properties),
            number=self._last,
            is_permanent=is_permanent,
        )
        secret = secrets.token_urlsafe(24)
        self._services[service.id] = _Registered(service, _digest(secret), self._clock())
        self._store()
        return service, secret

    def heartbeat(self, service: str, secret: str, *, load: float | None = None) -> None:
        """A service is alive.

        Args:
          service: its id.
          secret: that it was given.
          load: how busy it is; None: as before.

        Raises:
          UnknownServiceError: it is not registered any more.
          WrongSecretError: it has another secret.
        """
        found = self._registered(service, secret)
        found.seen = self._clock()
        if load is not None:
            found.service = dataclasses.replace(found.service, load=load)

    def deregister(self, service: str, secret: str) -> None:
        """Removes a service.

        Raises:
          UnknownServiceError: it is not registered any more.
          WrongSecretError: it has another secret.
          OSError: the file cannot be written.
        """
        self._registered(service, secret)
        del self._services[service]
        self._store()

    def inquire(self, properties: Mapping[str, str] | None = None, *, is_by_load: bool = False) -> list[ActorService]:
        """Services that have all of some properties.

        Args:
          properties: none: all services.
          is_by_load: whether the least busy comes first, else the newest.
        """
        self._forget()
        found = [each.service for each in self._services.values() if each.service.has(properties or {})]
        return sorted(found, key=lambda each: (each.load if is_by_load else 0, -each.number))

    def _registered(self, service: str, secret: str) -> _Registered:
        self._forget()
        found = self._services.get(service)
        if found is None:
            raise UnknownServiceError(f"expected a service that is registered, got {service!r}; register it again")
        if not hmac.compare_digest(found.secret, _digest(secret)):
            raise WrongSecretError(f"expected the secret that {service!r} was given when it was registered")
        return found

    def _forget(self) -> None:
        """Services that are silent for too long are gone."""
        oldest = self._clock() - self.alive_seconds
        self._services = {
            key: each for key, each in self._services.items() if each.service.is_permanent or each.seen >= oldest
        }

    def _store(self) -> None:
        if self._path is None:
            return
        permanent = [each for each in self._services.values() if each.service.is_permanent]
        make_directory(self._path.parent)
        write_json(self._path, [[dataclasses.asdict(each.service), each.secret] for each in permanent])

    def _load(self, path: Path) -> None:
        try:
            for fields, secret in json.loads(path.read_text("utf-8")):
                service = ActorService(**fields)
                self._services[service.id] = _Registered(service, str(secret), self._clock())
        except (TypeError, ValueError) as error:
            raise FormatError(f"{path}: expected the permanent services of a directory: {error}") from error


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()

"""The settings of a studio."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rlds_kit.base.rate_limit import Limit
from rlds_kit.crowd.tasks import Crowd
from rlds_kit.studio.export_limits import ExportLimits
from rlds_kit.studio.play.live_sessions import Guests

_LOGINS: Final = Limit(per_second=2, burst=100)
"""A class that opens a study together has one address; tokens are too long to guess at any rate of logins."""
_REQUESTS: Final = Limit(per_second=100, burst=500)
_CHANGES: Final = Limit(per_second=10, burst=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one server.

    Attributes:
      directory: for the database, the secret, and the recordings, with one folder for each study and environment.
      database: URL; None: a SQLite file in the directory.
      name: of this server; two that share a database have different ones.
      hosts: names that browsers may call the server by, without port; those of this machine are always among them.
      origins: that may send requests besides the server's own pages, as "https://studio.example.org".
      is_secure: whether cookies are for HTTPS only; for a server behind a proxy that does HTTPS.
      modules: imported because they register environments. Only the configuration can name modules.
      are_pictures_recorded: whether steps have the picture that was shown, as it was drawn.
      actors: implementations of programs that studies may name, besides those that are registered or installed.
      matchmakers: functions "module:name" that studies may name to match people; see `lobby.matchmaking`.
      tasks: of this studio besides playing: names of installed tasks, with "=" and an argument if they take one.
      policy: name of the policy that people may hand over to; None: there is none.
      workers: processes for environments; None: as many as there are cores.
      environments_per_worker: how many share a process at most.
      sessions_per_person: how many sessions of a study one person may play at once.
      guests: limits for people who come through the link of a study, without an invitation.
      answer_seconds: time limit for an environment to answer.
      exports_limits: how many exports a person may have, and for how long.
      body_bytes: of a request at most.
      login_limit: of logins from an address.
      request_limit: of requests by a person who was invited; of all others together from an address.
      change_limit: of requests that change something, by a person.
      crowd: whose people come by links, and go from consent to a completion code; None: there is none.
      is_crowd_file_taken: whether `crowd` runs, also where it was edited on the page.
    """

    directory: Path
    database: str | None = None
    name: str = "studio"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    is_secure: bool = False
    modules: tuple[str, ...] = ()
    are_pictures_recorded: bool = False
    actors: tuple[str, ...] = ()
    matchmakers: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    policy: str | None = None
    workers: int | None = None
    environments_per_worker: int = 16
    sessions_per_person: int = 8
    guests: Guests = field(default_factory=Guests)
    answer_seconds: float = 60.0
    exports_limits: ExportLimits = field(default_factory=ExportLimits)
    body_bytes: int = 1 << 20
    login_limit: Limit = _LOGINS
    request_limit: Limit = _REQUESTS
    change_limit: Limit = _CHANGES
    crowd: Crowd | None = None
    is_crowd_file_taken: bool = False

    @property
    def recordings(self) -> Path:
        """Where recordings are; `Episode.directory` is below it."""
        return self.directory / "recordings"

    @property
    def manuals(self) -> Path:
        """Where tables of manuals are, besides those of the package."""
        return self.directory / "manuals"

    @property
    def exports(self) -> Path:
        """Where exports are made, and stored until they are deleted or expire."""
        return self.directory / "exports"


def named(url: str | None, names: tuple[str, ...]) -> dict[str, Any]:
    """The settings for the addresses at which browsers may reach a server.

    Args:
      url: that people open it by; None: one of the names, by HTTP.
      names: of the machine.

    >>> named("https://studio.example.org", ())
    {'hosts': ('studio.example.org',), 'origins': ('https://studio.example.org',), 'is_secure': True}
    """
    if url is None:
        return {"hosts": names}
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return {"hosts": (parts.hostname or "", *names), "origins": (origin,), "is_secure": parts.scheme == "https"}

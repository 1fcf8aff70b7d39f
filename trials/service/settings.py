"""What a service of trials is like."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rlds_kit.base.rate_limit import Limit
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.hosts.trial_host import Hook

REMOTE: Final = "remote"
"""The implementation of a seat that a program elsewhere takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """A service.

    Attributes:
      secret: of its tokens.
      environments: that trials can be started with, by name. Only these: an environment is code.
      actors: implementations that trials can be started with, by name: a registered one, or "module:name". "remote" is
        always there, for programs that join, and "service", for those that are registered.
      directory: of the dataset, in which all environments need the same spaces: run a service for each kind. None:
        nothing is recorded.
      parallel: how many trials run at a time; others wait.
      is_here: whether everything runs in this program, for tests.
      hooks: of trials.
      join_seconds: how long a trial waits for a program to take a seat.
      limit: requests of a token.
      services: file for permanent services of its directory; None: they are not stored.
      revoked: file for names whose tokens were revoked; None: they are forgotten when the service ends.
    """

    secret: bytes
    environments: Mapping[str, EnvironmentSpec]
    actors: Mapping[str, str] = field(default_factory=lambda: {"random": "random"})
    directory: str | os.PathLike[str] | None = None
    parallel: int | None = None
    is_here: bool = False
    hooks: tuple[Hook, ...] = ()
    join_seconds: float = 60.0
    limit: Limit = field(default_factory=lambda: Limit(per_second=50, burst=200))
    services: str | os.PathLike[str] | None = None
    revoked: str | os.PathLike[str] | None = None

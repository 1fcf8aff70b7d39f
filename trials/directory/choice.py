"""A hook that chooses services for the actors of a trial."""

import dataclasses
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final

from rlds_kit.trials.directory.entry import UnknownServiceError
from rlds_kit.trials.directory.service_directory import ServiceDirectory
from rlds_kit.trials.hosts.trial_setup import ActorConfig, TrialSetup

SERVICE: Final = "rlds_kit.trials.directory:ServiceActor"
"""The implementation of actors that are services."""


def choosing(
    directory: ServiceDirectory, *, draws: random.Random | None = None, is_by_load: bool = False
) -> Callable[[TrialSetup], Awaitable[TrialSetup]]:
    """A hook for `TrialHost`: actors that are services, and have no "url" in their configuration, get one.

    The configuration may have "properties", all of which the service must have. A trial for which there is none is
    refused.

    Args:
      directory: of the services.
      draws: for the choice, which is uniform; None: seeded by the system.
      is_by_load: whether the least busy is chosen instead.
    """
    source = draws or random.SystemRandom()

    async def choose(setup: TrialSetup) -> TrialSetup:
        actors: dict[str, Any] = dict(setup.actors)
        for seat in actors:
            actor = setup.actor(seat)
            if actor is not None and actor.implementation == SERVICE and "url" not in actor.config:
                actors[seat] = _chosen(actor, directory, source, is_by_load=is_by_load)
        return dataclasses.replace(setup, actors=actors)

    return choose


def _chosen(actor: ActorConfig, directory: ServiceDirectory, draws: random.Random, *, is_by_load: bool) -> ActorConfig:
    properties = actor.config.get("properties", {})
    found = directory.inquire(properties, is_by_load=is_by_load)
    if not found:
        raise UnknownServiceError(f"expected a service with the properties {properties}, and none is registered")
    chosen = found[0] if is_by_load else draws.choice(found)
    return dataclasses.replace(actor, config={**actor.config, "url": chosen.url})

"""A hook that fixes the versions of models before a trial begins, so that they are recorded."""

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable
from typing import Any

from rlds_kit.trials.hosts.trial_setup import ActorConfig, TrialSetup
from rlds_kit.trials.models.registry import LATEST, ModelRegistry


def with_models(place: str | os.PathLike[str]) -> Callable[[TrialSetup], Awaitable[TrialSetup]]:
    """A hook for `TrialHost`, which gives the actors of models what they need from a registry.

    An actor that is configured with `{"model": "pong"}` gets the version that is the latest when its trial begins, or
    the one in "version". Name, number and hash of each model are recorded as the trial's property `models`, by seat.

    Args:
      place: of the registry.
    """
    registry = ModelRegistry(place)
    return lambda setup: asyncio.to_thread(_with_versions, registry, setup)


def _with_versions(registry: ModelRegistry, setup: TrialSetup) -> TrialSetup:
    actors: dict[str, Any] = dict(setup.actors)
    models = {}
    for seat in actors:
        actor = setup.actor(seat)
        if actor is not None and "model" in actor.config:
            version = registry.get(actor.config["model"], actor.config.get("version", LATEST))
            models[seat] = {"name": version.name, "number": version.number, "sha256": version.sha256}
            actors[seat] = _of_version(actor, registry.place, version.number)
    if not models:
        return setup
    return dataclasses.replace(setup, actors=actors, properties={**setup.properties, "models": models})


def _of_version(actor: ActorConfig, place: str, number: int) -> ActorConfig:
    """The actor with this version."""
    config = {**actor.config, "registry": place, "version": number}
    return dataclasses.replace(actor, config=config)

"""Makes a recorded environment again."""

import importlib
import json
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec


def make(environment: Mapping[str, Any], **kwargs: Any) -> Any:
    """Makes the Gymnasium environment that `Dataset.environment` describes.

    Args:
      environment: needs `spec`, Gymnasium's own description, or `id` and `kwargs`.
      **kwargs: replace recorded keyword arguments, for instance `render_mode="human"`.

    Raises:
      ValueError: nothing was recorded that an environment can be made from.
      gymnasium.error.Error: Gymnasium does not know the environment; import the package that registers it first.

    >>> make({"id": "CartPole-v1", "kwargs": {}}).spec.id
    'CartPole-v1'
    """
    identifier = str(environment.get("id", ""))
    if not identifier:
        raise ValueError(
            "expected an environment with a Gymnasium id, but the recording has none; make the environment by hand: "
            f"it was {environment.get('class', 'not described')}"
        )
    register(identifier)
    if "spec" in environment:
        return gymnasium.make(EnvSpec.from_json(json.dumps(environment["spec"])), **kwargs)
    return gymnasium.make(identifier, **{**environment.get("kwargs", {}), **kwargs})


def register(identifier: str) -> None:
    """Imports the package whose import registers its environments, where the id names it."""
    if identifier.startswith("ALE/") and identifier not in gymnasium.registry:
        gymnasium.register_envs(importlib.import_module("ale_py"))

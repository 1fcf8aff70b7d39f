"""The frame rate of a dataset, in steps per second."""

import math
from collections.abc import Mapping
from typing import Any, Final

import gymnasium
from gymnasium.envs.registration import load_env_creator

from rlds_kit.base.environment import register

DEFAULT: Final = 30.0
"""The rate if nothing is known."""


def known_rate(metadata: Mapping[str, Any], environment: Mapping[str, Any]) -> float | None:
    """The rate in the metadata, or the render rate of the recorded Gymnasium environment; None if neither is known.

    Args:
      metadata: of the dataset: `fps`, `render_fps`, or the rate in LeRobot's `meta/info.json`.
      environment: as recorded. It is only looked up in Gymnasium's registry, not made.

    >>> known_rate({"fps": 10}, {}), known_rate({}, {"id": "CartPole-v1"})
    (10.0, 50.0)
    """
    info = metadata.get("lerobot")
    named = [metadata.get("fps"), metadata.get("render_fps"), info.get("fps") if isinstance(info, Mapping) else None]
    for each in (*named, _rendered(str(environment.get("id") or ""))):
        if isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each) and each > 0:
            return float(each)
    return None


def _rendered(identifier: str) -> Any:
    """The render rate of the class of a registered environment; None if there is none."""
    if not identifier:
        return None
    try:
        register(identifier)
        entry = gymnasium.spec(identifier).entry_point
        creator = load_env_creator(entry) if isinstance(entry, str) else entry
    except (gymnasium.error.Error, ImportError, AttributeError):
        return None
    about = getattr(creator, "metadata", None)
    return about.get("render_fps") if isinstance(about, Mapping) else None

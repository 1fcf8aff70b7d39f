"""The time limit that an environment was recorded with."""

from collections.abc import Mapping
from typing import Any

from rlds_kit.tools.replay.rebuilt import TIME_LIMIT


def time_limit(provenance: Mapping[str, Any]) -> int | None:
    """Finds after how many actions Gymnasium's `TimeLimit` truncated an episode; None if it did not, or if unknown.

    >>> time_limit({"interface": "gymnasium", "spec": {"max_episode_steps": 500}})
    500
    >>> time_limit({"spec": {"max_episode_steps": 500}, "wrapper_classes": []}) is None
    True
    """
    spec = provenance.get("spec")
    if provenance.get("interface") not in (None, "gymnasium") or not isinstance(spec, Mapping):
        return None
    limit, layers = spec.get("max_episode_steps"), provenance.get("wrapper_classes")
    is_wrapped = layers is None or TIME_LIMIT in layers
    return limit if isinstance(limit, int) and limit > 0 and is_wrapped else None

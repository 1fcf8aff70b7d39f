"""Copies of recorded values, taken before an environment can overwrite its buffers."""

from typing import Any

import numpy as np


def copy_value(value: Any) -> Any:  # any value from an agent or environment
    """Copies arrays and the dicts, lists and tuples around them; shares the rest, which is immutable or not supported.

    >>> action = {"throttle": np.zeros(1)}
    >>> before = copy_value(action)
    >>> action["throttle"] += 1
    >>> before
    {'throttle': array([0.])}
    """
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: copy_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_value(item) for item in value]
    if isinstance(value, tuple):
        items = [copy_value(item) for item in value]
        return type(value)._make(items) if hasattr(value, "_make") else tuple(items)
    return value

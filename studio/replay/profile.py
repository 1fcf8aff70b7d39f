"""The reward profile of an episode: the reward of each step, and the sum so far."""

import contextlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit.base.step import REWARD
from rlds_kit.episode.episode import Episode
from rlds_kit.studio.json_numbers import number

MOST_POINTS: Final = 4000
"""Maximum number of steps that are drawn one by one."""
MOST_SERIES: Final = 16
"""Maximum number of shown series of a reward with many parts."""

Series = dict[str, np.ndarray]
"""`[length]` float64 by name; the name of a reward that is one number is empty."""


def series(episode: Episode) -> Series:
    """The rewards of each step; one series for each agent, or for each number of a reward.

    A reward that is None, undefined, or not a number counts as 0; NaN and infinity are not changed.
    """
    found: Series = {}
    if episode.length:
        with contextlib.suppress(KeyError):  # there are none
            _collect(episode[REWARD], "", found, episode.length)  # zeros where there is none
    return found or {"": np.zeros(episode.length)}


def profile(episode: Episode, first: int = 0, end: int | None = None, points: int = MOST_POINTS) -> dict[str, Any]:
    """The rewards of some steps as JSON; see `routes` for what is in it.

    Args:
      episode: the episode.
      first: number of the first step.
      end: one past the last step; None: the end of the episode.
      points: if there are more steps, about this many are selected.

    >>> profile(rlds_kit.open("data/pong").episodes[0])["steps"]  # doctest: +SKIP
    [0, 1, 2]
    """
    end = episode.length if end is None else end
    all_series = series(episode)
    shown = dict(list(all_series.items())[:MOST_SERIES])
    steps = _chosen(shown, first, end, points)
    return {
        "first": first,
        "end": end,
        "is_exact": len(steps) == end - first,
        "steps": steps.tolist(),
        "series": [_series(name, values, steps) for name, values in shown.items()],
        "hidden_series": len(all_series) - len(shown),
    }


def episode_return(episode: Episode) -> float:
    """The sum of all finite rewards of all agents."""
    with np.errstate(over="ignore"):  # then it is infinite
        return float(sum(_finite(values).sum() for values in series(episode).values()))


def _series(name: str, values: np.ndarray, steps: np.ndarray) -> dict[str, Any]:
    with np.errstate(over="ignore"):
        sums = np.cumsum(_finite(values))
    return {
        "name": name,
        "rewards": [number(each) for each in values[steps].tolist()],
        "sums": [number(each) for each in sums[steps].tolist()],
        "total": number(float(sums[-1]) if len(sums) else 0.0),
        "not_finite": int((~np.isfinite(values)).sum()),
    }


def _chosen(shown: Mapping[str, np.ndarray], first: int, end: int, points: int) -> np.ndarray:
    """The first and the last step, and in each section the steps with the least and greatest reward of each series."""
    if end - first <= points:
        return np.arange(first, end)
    stretches = max(1, points // (2 * len(shown)))
    edges = np.linspace(first, end, stretches + 1).astype(np.int64)
    picked = {first, end - 1}
    for values in shown.values():
        sortable = np.where(np.isnan(values), np.inf, values)  # a NaN must be visible, too
        for begin, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            if begin < stop:
                part = sortable[begin:stop]
                picked |= {begin + int(part.argmin()), begin + int(part.argmax())}
    return np.array(sorted(picked), np.int64)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, 0.0)


def _collect(stacked: Any, name: str, found: Series, length: int) -> None:
    if isinstance(stacked, dict):
        for key, part in stacked.items():
            _collect(part, f"{name}/{key}" if name else str(key), found, length)
    elif isinstance(stacked, list | tuple):
        for index, part in enumerate(stacked):
            _collect(part, f"{name}[{index}]", found, length)
    elif isinstance(stacked, np.ndarray) and stacked.dtype == np.object_:
        _collect_objects(stacked, name, found)
    elif isinstance(stacked, np.ndarray) and stacked.dtype.kind in "biuf" and len(stacked) == length:
        parts = stacked.astype(np.float64).reshape(length, -1).T
        for index, part in enumerate(parts):
            found[name if len(parts) == 1 else f"{name}[{index}]"] = part


def _collect_objects(values: np.ndarray, name: str, found: Series) -> None:
    """Rewards without a common type: some are None, or dicts of the current agents."""
    for step, value in enumerate(values):
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for key, part in parts:
            full = "/".join(each for each in (name, str(key)) if each)
            amount = _amount(part)
            if amount is not None:
                found.setdefault(full, np.zeros(len(values)))[step] = amount


def _amount(value: Any) -> float | None:
    try:
        array = np.asarray(value)
        return float(array.item()) if array.dtype.kind in "biuf" and array.size == 1 else None
    except (TypeError, ValueError, OverflowError):
        return None

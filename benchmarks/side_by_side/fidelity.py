"""Compares what a system reads back with the trace that it was given: numbers that differ are not to be compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from side_by_side.trace import Trace


@dataclass(frozen=True)
class ReadEpisode:
    """An episode as a system gives it back.

    Attributes:
      observation: of every row, the last included.
      action: one fewer.
      reward: one fewer.
      terminated: whether it ended in a terminal state.
      info: of every row; None where infos are not recorded.
    """

    observation: Sequence[Any]
    action: Sequence[Any]
    reward: Sequence[Any]
    terminated: bool
    info: Sequence[Any] | None


def compare(trace: Trace, rows: int, episodes: Iterable[ReadEpisode]) -> dict[str, str]:
    """For each field "exact", or what is wrong with it."""
    found = dict.fromkeys(("episodes", "observation", "action", "reward", "end", "info"), "exact")
    row = 0
    for episode in episodes:
        begin, row = row, row + len(episode.observation)
        at = np.arange(begin, row) % len(trace)
        whole = trace.first[at[0]] and not trace.first[at[1:]].any()
        if not whole or not (trace.terminated | trace.truncated)[at[-1]]:
            found["episodes"] = f"cut differently at row {begin}"
            break
        _note(found, "observation", _numbers(trace.observation[at], episode.observation))
        _note(found, "action", _numbers(trace.action[at[1:]], episode.action))
        _note(found, "reward", _numbers(trace.reward[at[1:]], episode.reward))
        _note(found, "end", None if episode.terminated == trace.terminated[at[-1]] else "wrong")
        if episode.info is None:
            found["info"] = "not recorded"
        else:
            _note(found, "info", _infos([trace.infos[index] for index in at], episode.info))
    if row != rows:
        found["episodes"] = f"{row} of {rows} rows"
    return found


def _note(found: dict[str, str], field: str, problem: str | None) -> None:
    if problem is not None and found[field] == "exact":
        found[field] = problem


def _numbers(expected: np.ndarray, got: Sequence[Any]) -> str | None:
    values = np.asarray(got)
    if values.shape != expected.shape:
        return f"shape {values.shape} for {expected.shape}"
    if values.tobytes() != expected.astype(values.dtype).tobytes():
        return f"lossy: differs by up to {np.abs(values.astype(float) - expected.astype(float)).max():g}"
    return None if values.dtype == expected.dtype else f"equal, but {values.dtype} for {expected.dtype}"


def _infos(expected: list[dict[str, Any]], got: Sequence[Any]) -> str | None:
    if len(expected) != len(got) or any(one != other for one, other in zip(expected, got, strict=True)):
        return "wrong"
    kinds = (
        {(key, type(item)) for key, item in one.items()} for pair in zip(expected, got, strict=True) for one in pair
    )
    return None if all(next(kinds) == other for other in kinds) else "equal, but of other types"

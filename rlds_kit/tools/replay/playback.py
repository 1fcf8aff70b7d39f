"""Replays one episode."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import numpy as np

from rlds_kit.base.step import ACTION, INFO, OBSERVATION, REWARD, STEP_INDEX, EpisodeEnd
from rlds_kit.episode.episode import Episode
from rlds_kit.tools.compare.values import ABSENT, differences, short
from rlds_kit.tools.replay.report import Divergence

STRETCH: Final = 64
"""Steps that are read at once."""
FLAG_NAMES: Final = ("terminated", "truncated")
OPEN_ENDED: Final = (None, EpisodeEnd.INCOMPLETE)
"""The endings of episodes whose last flags are unknown."""


@dataclass(frozen=True, slots=True)
class Row:
    """A recorded step, with ABSENT for undefined values."""

    number: int
    observation: Any
    action: Any
    reward: Any
    info: Any


@dataclass(frozen=True, slots=True)
class Played:
    """The result of replaying an episode.

    Attributes:
      compared: actions whose results were compared.
      taken: actions that were taken.
      divergences: all differences at the first step with any.
      reason: why not all actions were taken; empty if all were, or if the replay ended at a difference.
    """

    compared: int
    taken: int
    divergences: tuple[Divergence, ...] = ()
    reason: str = ""


def play(env: gymnasium.Env[Any, Any], episode: Episode, *, with_info: bool, to_the_end: bool = False) -> Played:
    """Resets an environment as recorded, and takes the actions of the episode until something differs.

    Args:
      env: like the recorded one; if the episode has no seed, in the state after all episodes since the last seed.
      episode: to play.
      with_info: whether to compare infos.
      to_the_end: whether to continue after a difference, because later episodes depend on all actions.

    Raises:
      DamagedError: a step is damaged.
    """
    steps = played(env, episode, with_info=with_info, to_the_end=to_the_end)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Played = end.value
            return result


def played(
    env: gymnasium.Env[Any, Any], episode: Episode, *, with_info: bool, to_the_end: bool = False
) -> Generator[int, None, Played]:
    """Works as `play`, row by row: yields the number of each row that the environment reaches as recorded."""
    rows = _rows(episode, with_info=with_info)
    row, compared, taken = next(rows, None), 0, 0
    if row is None:
        return Played(0, 0)
    try:
        observation, info = env.reset(seed=episode.seed, options=episode.options)
    except Exception as error:  # noqa: BLE001  any error is a divergence: none was raised during the recording
        return Played(0, 0, (_raised(row.number, error),), "its reset raised an error")
    found = _compared(row.number, (OBSERVATION, row.observation, observation), (INFO, row.info, info))
    for following in rows:
        if found and not to_the_end:
            break
        if not found:
            yield row.number
        if row.action is ABSENT:
            return Played(compared, taken, found, f"the action of step {row.number} was not recorded")
        try:
            observation, reward, terminated, truncated, info = env.step(row.action)
        except Exception as error:  # noqa: BLE001  likewise
            return Played(compared, taken, found or (_raised(row.number, error),), f"step {row.number} raised an error")
        taken += 1
        if found:
            row = following
            continue
        compared += 1
        found = _compared(row.number, (REWARD, row.reward, reward))
        found += _compared(
            following.number,
            (OBSERVATION, following.observation, observation),
            *_flags(episode, following.number, terminated=bool(terminated), truncated=bool(truncated)),
            (INFO, following.info, info),
        )
        row = following
    if all(each.field in FLAG_NAMES for each in found):  # it ends differently, but the frame is the same
        yield row.number
    return Played(compared, taken, found)


def _raised(row: int, error: Exception) -> Divergence:
    return Divergence("error", row, "none", f"{type(error).__name__}: {error}")


def gap(episode: Episode) -> str:
    """The reason why left-out steps at the start prevent a replay; empty if there are none."""
    if STEP_INDEX not in episode.fields or not episode.length:
        return ""
    first = episode[:1][STEP_INDEX]
    return f"the first {int(first[0])} steps were not recorded" if first[0] else ""


def _rows(episode: Episode, *, with_info: bool) -> Iterator[Row]:
    names = [OBSERVATION, ACTION, REWARD, *([INFO] if with_info else [])]
    known = [name for name in names if name in episode.fields]
    for begin in range(0, episode.length, STRETCH):
        part = episode[begin : begin + STRETCH]
        masks = {name: _mask(part, name) for name in known}
        for index, step in enumerate(part.steps):
            values = {name: step[name] if name in known and masks[name][index] else ABSENT for name in names}
            yield Row(begin + index, *(values.get(name, ABSENT) for name in (OBSERVATION, ACTION, REWARD, INFO)))


def _mask(part: Episode, name: str) -> np.ndarray:
    try:
        return part.mask(name)
    except KeyError:  # none of these steps has it
        return np.zeros(part.length, np.bool_)


def _flags(episode: Episode, row: int, *, terminated: bool, truncated: bool) -> list[tuple[str, object, object]]:
    """The flags of a row: those of the episode's end on the last row, else False."""
    is_last = row == episode.length - 1
    if is_last and episode.end in OPEN_ENDED:
        return []
    recorded = (episode.terminated, episode.truncated) if is_last else (False, False)
    return [("terminated", recorded[0], terminated), ("truncated", recorded[1], truncated)]


def _compared(row: int, *values: tuple[str, object, object]) -> tuple[Divergence, ...]:
    """The differences from the recorded values. Equal numbers of different types count as equal."""
    return tuple(
        Divergence(found.path, row, short(found.a), short(found.b), found.max_difference)
        for name, recorded, replayed in values
        if recorded is not ABSENT
        for found in differences(recorded, replayed, name)
        if found.kind != "type" or found.max_difference != 0
    )

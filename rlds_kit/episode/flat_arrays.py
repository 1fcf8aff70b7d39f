"""Episodes in D4RL's layout: all steps of all episodes in one array per field.

There are `observations`, `actions`, `terminals`, and maybe `rewards`, `timeouts`, `next_observations`, `infos/...`,
`metadata/...`. Row k is a transition. `array_ends` finds where episodes end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.base.step import (
    ACTION,
    DECLARED_FIELDS,
    FLAGS,
    INFO,
    OBSERVATION,
    RECORDED,
    REWARD,
    STEP_INDEX,
    TIME_NS,
    EpisodeEnd,
)
from rlds_kit.episode.array_ends import (
    NEXT,
    OBSERVATIONS,
    REWARDS,
    TERMINALS,
    TIMEOUTS,
    Ends,
    joined,
    leaves_of,
    mapped,
    rows_of,
)
from rlds_kit.storage.array_rows import ArrayRows

ACTIONS: Final = "actions"
METADATA: Final = "metadata"
REQUIRED: Final = (OBSERVATIONS, ACTIONS, TERMINALS)
NAMES: Final = {OBSERVATIONS: OBSERVATION, ACTIONS: ACTION, REWARDS: REWARD, "infos": INFO}
"""The fields of a step that arrays become."""
_TAKEN: Final = frozenset((*DECLARED_FIELDS, *FLAGS, INFO, STEP_INDEX, TIME_NS))

Tree: TypeAlias = Mapping[str, Any]
"""Arrays, or datasets of h5py, by name, nested as groups are."""


@dataclass(frozen=True)
class FlatEpisode:
    """An episode of flat arrays.

    Attributes:
      observed: the observations, and other fields.
      acted: the actions and rewards.
      end: how it ended.
      terminated: whether the environment ended it.
      truncated: whether a limit did.
    """

    observed: ArrayRows
    acted: ArrayRows
    end: EpisodeEnd
    terminated: bool
    truncated: bool


def unequal_lengths(tree: Tree, rows: int) -> str:
    """The lengths of the arrays that must have so many rows; empty if they have."""
    names = [*REQUIRED, *(name for name in (REWARDS, NEXT, TIMEOUTS) if name in tree)]
    lengths = {name: sorted(set(leaves_of(tree[name], lambda array: array.shape[:1]))) for name in names}
    if all(found == [(rows,)] for found in lengths.values()):
        return ""
    return ", ".join(f"{name} {[each[0] if each else 'no' for each in found]}" for name, found in lengths.items())


def steps_in(tree: Tree, rows: int) -> dict[str, Any]:
    """What belongs to steps: for each name True, or for a group the same of what is in it."""

    def per_step(node: Any) -> Any:
        if isinstance(node, dict):
            return {name: stepped for name, each in node.items() if (stepped := per_step(each))}
        return node.ndim > 0 and len(node) == rows and node.dtype != np.object_

    return {name: per_step(node) for name, node in tree.items() if name not in (NEXT, TERMINALS, TIMEOUTS, METADATA)}


def flat_episode(
    tree: Tree, steps: Mapping[str, Any], ends: Ends, begin: int, end: int, final: Any = None
) -> FlatEpisode:
    """The episode of some rows. Its final observation is the next one of its last row; without any it is missing.

    Args:
      tree: the arrays.
      steps: what of them belongs to steps, from `steps_in`.
      ends: of all episodes.
      begin: its first row.
      end: the row after its last one.
      final: its final observation, `[1, ...]`; None: not known.
    """
    columns = {_field(name): rows_of(chosen(tree[name], stepped), begin, end) for name, stepped in steps.items()}
    rows = count = end - begin
    if final is not None:
        columns[OBSERVATION] = joined([columns[OBSERVATION], final])
        rows += 1
    acted = {name: columns.pop(name) for name in (ACTION, REWARD) if name in columns}
    first: dict[str, int] = {}
    if ends.final[end - 1]:
        count -= 1
        not_done = {f"{RECORDED}{name}": mapped(lambda array: array[count:], each) for name, each in acted.items()}
        columns |= not_done
        first = dict.fromkeys(not_done, count)
    terminated, truncated = bool(ends.terminal[end - 1]), bool(ends.timeout[end - 1])
    ending = EpisodeEnd.TERMINATED if terminated else EpisodeEnd.TRUNCATED
    return FlatEpisode(
        ArrayRows(columns, rows, first),
        ArrayRows(mapped(lambda array: array[:count], acted), count),
        ending if terminated or truncated else EpisodeEnd.INTERRUPTED,
        terminated=terminated,
        truncated=truncated,
    )


def chosen(node: Any, stepped: Any) -> Any:
    """The part of a nest that belongs to steps; `stepped` is from `steps_in`."""
    return {name: chosen(node[name], each) for name, each in stepped.items()} if isinstance(stepped, dict) else node


def _field(name: str) -> str:
    own = NAMES.get(name, name)
    return f"{RECORDED}{own}" if own in _TAKEN and name not in NAMES else own

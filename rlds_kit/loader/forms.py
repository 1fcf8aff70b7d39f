"""Flat arrays of steps in the forms of other libraries: D4RL's dict, d3rlpy, Tianshou, TorchRL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.base.errors import DamagedError, SpecError
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.base.step import ACTION, IS_TERMINAL, OBSERVATION, REWARD
from rlds_kit.loader.nests import flattened, map_arrays


@dataclass(frozen=True, slots=True)
class Acted:
    """The steps with an action, in order.

    Attributes:
      rows: `[N]` int64, among all steps. Each is followed by the step that the action led to.
      terminals: `[N]` bool, the step after it is terminal.
      timeouts: `[N]` bool, it is the last action of an episode, or before a gap, and the step after it is not terminal.
    """

    rows: np.ndarray
    terminals: np.ndarray
    timeouts: np.ndarray


def acted(fields: Mapping[str, Any], valid: Mapping[str, Any], followed: np.ndarray, name: str) -> Acted:
    """Finds the steps with an action.

    Args:
      fields: of all steps.
      valid: where they are defined.
      followed: `[steps]` bool, which steps are followed by one of the same episode.
      name: of the dataset, for messages.

    Raises:
      KeyError: observation, action, reward or is_terminal was not read.
      DamagedError: an action is missing.
      SpecError: an observation is missing.
    """
    for needed in (OBSERVATION, ACTION, REWARD, IS_TERMINAL):
        if needed not in fields:
            raise KeyError(f"{name}: expected the field {needed!r}, which was not read; there are {', '.join(fields)}")
    rows = np.flatnonzero(followed)
    has_action = np.any([*flattened(valid[ACTION]).values()], axis=0)[rows]
    if not has_action.all():
        raise DamagedError(
            f"{name}: step {rows[int(np.argmin(has_action))]} of all steps has no action and is not the last of its "
            "episode; `rlds-kit verify` searches for the damage"
        )
    observed = np.any([*flattened(valid[OBSERVATION]).values()], axis=0)
    if not (observed[rows] & observed[rows + 1]).all():
        raise SpecError(
            f"{name}: {int((~observed).sum())} steps have no observation, as data may lack the last one of an episode, "
            "and these forms have no place for that; make the arrays from `transitions().arrays()`, where "
            "`valid['next_observation']` marks them"
        )
    terminals = np.asarray(fields[IS_TERMINAL])[rows + 1]
    return Acted(rows, terminals, ~followed[rows + 1] & ~terminals)


def d4rl_dict(fields: Mapping[str, Any], found: Acted) -> dict[str, Any]:
    """The dict of D4RL's `qlearning_dataset`, and so of CORL."""
    observations, actions, rewards = (fields[name] for name in (OBSERVATION, ACTION, REWARD))
    return {
        "observations": map_arrays(lambda each: each[found.rows], observations),
        "actions": map_arrays(lambda each: each[found.rows], actions),
        "rewards": map_arrays(lambda each: each[found.rows], rewards),
        "next_observations": map_arrays(lambda each: each[found.rows + 1], observations),
        "terminals": found.terminals,
        "timeouts": found.timeouts,
    }


def mdp_dataset(made: Mapping[str, Any]) -> Any:  # a d3rlpy.dataset.MDPDataset
    """d3rlpy's dataset of a D4RL dict.

    Raises:
      MissingExtraError: d3rlpy is not installed.
      SpecError: observations, actions or rewards are nested.
    """
    try:
        import d3rlpy
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{error.name} is not installed: pip install --no-deps d3rlpy, and what it imports; it names an older "
            "Gymnasium than rlds_kit, so both cannot be resolved together"
        ) from error
    for name in ("observations", "actions", "rewards"):
        if not isinstance(made[name], np.ndarray):
            raise SpecError(f"d3rlpy has no nested {name}; name one part in `select`, such as 'observation/state'")
    return d3rlpy.dataset.MDPDataset(
        observations=made["observations"],
        actions=made["actions"],
        rewards=made["rewards"].reshape(len(made["rewards"]), -1),
        terminals=made["terminals"],
        timeouts=made["timeouts"],
    )


def replay_buffer(made: Mapping[str, Any]) -> Any:  # a tianshou.data.ReplayBuffer
    """Tianshou's buffer of a D4RL dict.

    Raises:
      MissingExtraError: Tianshou is not installed.
    """
    try:
        from tianshou.data import Batch, ReplayBuffer
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{error.name} is not installed: pip install tianshou") from error
    observations, following = (
        each if isinstance(each, np.ndarray) else Batch(each)
        for each in (made["observations"], made["next_observations"])
    )
    buffer = ReplayBuffer.from_data(
        obs=observations,
        act=made["actions"],
        rew=made["rewards"],
        terminated=made["terminals"],
        truncated=made["timeouts"],
        done=made["terminals"] | made["timeouts"],
        obs_next=following,
    )
    buffer.last_index[0] = max(0, len(made["terminals"]) - 1)  # else it takes the first step for the latest one
    return buffer


def tensordict(made: Mapping[str, Any], found: Acted, offsets: np.ndarray) -> Any:  # a tensordict.TensorDict
    """TorchRL's transitions: what an action led to is below "next".

    Raises:
      MissingExtraError: tensordict is not installed.
    """
    try:
        import torch
        from tensordict import TensorDict
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{error.name} is not installed: pip install torchrl") from error

    def tensor(array: np.ndarray) -> Any:
        return torch.from_numpy(array)

    def column(array: np.ndarray) -> Any:
        return tensor(array)[:, None] if array.ndim == 1 else tensor(array)

    episode = np.searchsorted(offsets, found.rows, "right") - 1
    size = [len(found.rows)]
    following = {
        "observation": map_arrays(tensor, made["next_observations"]),
        "reward": map_arrays(column, made["rewards"]),
        "terminated": column(made["terminals"]),
        "truncated": column(made["timeouts"]),
        "done": column(made["terminals"] | made["timeouts"]),
    }
    return TensorDict(
        {
            "observation": map_arrays(tensor, made["observations"]),
            "action": map_arrays(tensor, made["actions"]),
            "episode": tensor(episode),
            "step": tensor(found.rows - offsets[episode]),
            "next": TensorDict(following, batch_size=size),
        },
        batch_size=size,
    )

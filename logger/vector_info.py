"""Splits the infos of a vector environment into those of its sub-environments.

Gymnasium batches infos key by key, with a mask under `_key` for the sub-environments that have it; nested dicts
likewise. Some vector environments omit masks; then all sub-environments have the key.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs

FINAL: Final = ("final_obs", "_final_obs", "final_info", "_final_info")
"""The keys that SAME_STEP adds to infos."""
STATISTICS: Final = ("episode",)
"""The key of RecordEpisodeStatistics, which refers to the ended episode, unlike the other infos of the reset."""


def split(infos: Mapping[str, Any], index: int, num_envs: int) -> dict[str, Any]:
    """The info of the sub-environment `index`.

    Numbers are NumPy scalars, because Gymnasium batches them.

    Args:
      infos: of all of them.
      index: of the sub-environment.
      num_envs: number of sub-environments; a value without this length belongs to each of them.

    >>> infos = {"lives": np.array([3, 0]), "_lives": np.array([True, False]), "step": np.array([7, 8])}
    >>> split(infos, 1, 2)
    {'step': np.int64(8)}
    """
    check(infos)
    found = {}
    for key, batch in infos.items():
        if is_mask(key, infos):
            continue
        mask = infos.get(f"_{key}")
        if mask is None or mask[index]:
            found[key] = split(batch, index, num_envs) if isinstance(batch, Mapping) else _item(batch, index, num_envs)
    return found


def check(infos: object) -> None:
    """Raises TypeError if infos are no dict."""
    if not isinstance(infos, Mapping):
        raise TypeError(
            f"infos: expected Gymnasium's dict of batches, got {type(infos).__name__}; put the wrapper that changes "
            "them around the logger, or record with record_info=False"
        )


def is_mask(key: object, infos: Mapping[str, Any]) -> bool:
    """Whether the value of a key is the mask of another key.

    >>> infos = {"lives": [3], "_lives": [True], "_private": [1]}
    >>> [key for key in infos if is_mask(key, infos)]
    ['_lives']
    """
    # If an environment itself has a key "_key" beside "key", that has its own mask, "__key".
    if not isinstance(key, str) or key[:1] != "_" or f"_{key}" in infos:
        return False
    return key[1:] in infos or any(str(each) == key[1:] for each in infos)  # keys need not be text


def _item(batch: Any, index: int, num_envs: int) -> Any:  # infos have any type
    count = len(batch) if isinstance(batch, list | tuple) or (isinstance(batch, np.ndarray) and batch.ndim) else None
    return batch[index] if count == num_envs else batch


def final_observation(infos: Mapping[str, Any], index: int, spec: specs.Spec | None) -> Any:  # of any type
    """The last observation, of this spec, of an episode that ended in this step; None if the environment has none."""
    batch = infos.get("final_obs")
    mask = infos.get("_final_obs")
    if batch is None or (mask is not None and not mask[index]):
        return None
    return _row(batch, index, spec)


def _row(batch: Any, index: int, spec: specs.Spec | None) -> Any:  # an observation of any type
    """One element of a batch: of a sequence of observations, or of arrays stacked leaf by leaf."""
    if isinstance(batch, Mapping):
        fields = spec.fields if isinstance(spec, specs.Dict) else {}
        return {key: _row(item, index, fields.get(key)) for key, item in batch.items()}
    if isinstance(batch, tuple) and isinstance(spec, specs.Tuple) and len(batch) == len(spec.items):
        return tuple(_row(item, index, each) for item, each in zip(batch, spec.items, strict=True))
    if isinstance(batch, tuple) and spec is None and all(getattr(item, "ndim", 0) for item in batch):
        return tuple(item[index] for item in batch)
    return batch[index]  # also of a tuple of texts, which Gymnasium makes of a space `Text`


def final(infos: Mapping[str, Any], index: int, num_envs: int, spec: specs.Spec | None) -> tuple[Any, dict[str, Any]]:
    """The last observation and info of an episode that ended in this step, with autoreset SAME_STEP.

    The observation is None if the environment does not return it.
    """
    every = split(infos, index, num_envs)
    ended = {key: every[key] for key in STATISTICS if key in every}
    return final_observation(infos, index, spec), {**every.get("final_info", {}), **ended}


def of_steps(infos: Mapping[str, Any]) -> dict[str, Any]:
    """The infos without the entries that SAME_STEP adds."""
    check(infos)
    return {key: item for key, item in infos.items() if key not in FINAL}


def of_finals(infos: Mapping[str, Any]) -> dict[str, Any]:
    """The infos, with autoreset SAME_STEP, of the episodes that have ended in this step."""
    ended = {key: item for key, item in of_steps(infos).items() if str(key).removeprefix("_") in STATISTICS}
    return {**infos.get("final_info", {}), **ended}


def of_resets(infos: Mapping[str, Any]) -> dict[str, Any]:
    """The infos, with autoreset SAME_STEP, of the episodes that have begun in this step."""
    return {key: item for key, item in of_steps(infos).items() if str(key).removeprefix("_") not in STATISTICS}

"""Splits the infos of a vector environment into those of its sub-environments.

Gymnasium batches infos key by key, with a mask under `_key` for the sub-environments that have it; nested dicts
likewise. Some vector environments omit masks; then all sub-environments have the key.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.logger.autoreset import flags_of
from rlds_kit.logger.batch_fields import check_batch

FINAL: Final = ("final_obs", "_final_obs", "final_info", "_final_info")
"""The keys that SAME_STEP adds to infos."""
STATISTICS: Final = ("episode",)
"""The key of RecordEpisodeStatistics, which refers to the ended episode, unlike the other infos of the reset."""
OWN_STATISTICS: Final = frozenset(f"{prefix}{key}" for prefix in ("", "_", "__") for key in STATISTICS)
"""Keys in last infos that could be taken for those of statistics beside them, or for their masks."""
_ENDED: Final = ("final_info", *STATISTICS)
"""The keys of infos that refer to the ended episode."""
_REMEDY: Final = "put the wrapper that changes them around the logger, or record with record_info=False"


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

    Raises:
      TypeError: infos are no dict, or a mask does not have a truth value for each sub-environment.
    """
    check(infos)
    found = {}
    for key, batch in infos.items():
        if is_mask(key, infos):
            continue
        if has(key, infos, index, num_envs):
            found[key] = split(batch, index, num_envs) if isinstance(batch, Mapping) else _item(batch, index, num_envs)
    return found


def check(infos: object, name: str = "infos") -> None:
    """Raises TypeError if infos are no dict."""
    if not isinstance(infos, Mapping):
        raise TypeError(f"{name}: expected Gymnasium's dict of batches, got {type(infos).__name__}; {_REMEDY}")


def has(key: object, infos: Mapping[str, Any], index: int, num_envs: int) -> bool:
    """Whether a sub-environment has a key: what the mask of this key says.

    Raises:
      TypeError: the mask does not have a truth value for each sub-environment.
    """
    mask = infos.get(f"_{key}")
    if mask is None:
        return True
    try:
        return bool(flags_of(f"_{key}", mask, num_envs)[index])
    except SpecError as error:
        raise TypeError(f"infos: {error} as the mask of {key!r}; {_REMEDY}") from error


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


def final_observation(infos: Mapping[str, Any], index: int, num_envs: int, spec: specs.Spec | None) -> Any:  # any type
    """The last observation, of this spec, of an episode that ended in this step; None if the environment has none.

    Raises:
      TypeError: as `split`.
      SpecError: there is not one for each sub-environment.
    """
    check(infos)
    batch = infos.get("final_obs")
    if batch is None or not has("final_obs", infos, index, num_envs):
        return None
    if spec is not None:
        check_batch(batch, "final_obs", spec, num_envs)
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


def final_info(infos: Mapping[str, Any], index: int, num_envs: int) -> dict[str, Any]:
    """The last info of an episode that ended in this step, with autoreset SAME_STEP. Errors as in `split`."""
    check(infos)
    ended = {key: item for key, item in infos.items() if str(key).removeprefix("_") in _ENDED}
    found = split(ended, index, num_envs)
    own = found.pop("final_info", None)
    if own is None:
        return found
    check(own, "final_info")
    return {**own, **found}


def of_steps(infos: Any) -> Any:  # of any type in other people's environments
    """The infos without the entries that SAME_STEP adds. What is no dict stays as it is, and `split` refuses it."""
    if not isinstance(infos, dict):
        return infos
    return {key: item for key, item in infos.items() if key not in FINAL}


def of_finals(infos: Mapping[str, Any]) -> dict[str, Any]:
    """The infos, with autoreset SAME_STEP, of the episodes that have ended in this step."""
    ended = {key: item for key, item in of_steps(infos).items() if str(key).removeprefix("_") in STATISTICS}
    return {**(infos.get("final_info") or {}), **ended}


def of_resets(infos: Any) -> Any:  # as `of_steps`
    """The infos, with autoreset SAME_STEP, of the episodes that have begun in this step."""
    if not isinstance(infos, dict):
        return infos
    return {key: item for key, item in of_steps(infos).items() if str(key).removeprefix("_") not in STATISTICS}

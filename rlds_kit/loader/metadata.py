"""Selected metadata of all episodes as arrays, whose dtypes frameworks need in advance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.episode.episode import Episode

_MISSING = object()


def metadata_columns(episodes: Sequence[Episode], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Reads metadata of every episode.

    Args:
      episodes: to read, once each.
      names: keys of their metadata.

    Returns:
      By name `[episodes, ...]`, of a dtype that represents all values exactly, or an object array of str or of bytes.

    Raises:
      SpecError: an episode lacks a key, or values have no common dtype and shape.
    """
    if not names:
        return {}
    found = [episode.metadata for episode in episodes]
    return {name: _column(name, [metadata.get(name, _MISSING) for metadata in found]) for name in names}


def _column(name: str, values: list[Any]) -> np.ndarray:
    missing = [number for number, value in enumerate(values) if value is _MISSING or value is None]
    if missing:
        raise SpecError(
            f"metadata {name!r}: {len(missing)} of {len(values)} episodes have none, the first of them is episode "
            f"{missing[0]}; choose those that have it: `where(lambda metadata: metadata.get({name!r}) is not None)`"
        )
    for kind in (str, bytes):
        if values and all(isinstance(value, kind) for value in values):
            return _objects(values)
    arrays = [array for value in values if (array := _numbers(value)) is not None]
    if len(arrays) == len(values) and len({array.shape for array in arrays}) <= 1:
        stacked = np.array(arrays)
        if all(_is_same(array, row) for array, row in zip(arrays, stacked, strict=True)):
            return stacked
    raise SpecError(
        f"metadata {name!r}: expected text, bytes, or numbers of one shape in every episode, got {_described(values)}; "
        "choose episodes that agree with `where`, or leave it out"
    )


def _objects(values: list[Any]) -> np.ndarray:
    column = np.empty(len(values), object)
    column[:] = values
    return column


def _numbers(value: Any) -> np.ndarray | None:
    try:
        array = np.asarray(value)
    except ValueError:  # a list of lists of different lengths
        return None
    return array if array.dtype.kind in "biuf" else None


def _is_same(array: np.ndarray, row: np.ndarray) -> bool:
    """Whether a common dtype preserves the values and their meaning: True is not 1."""
    if (array.dtype.kind == "b") != (row.dtype.kind == "b"):
        return False
    # Compared as Python's numbers: NumPy would convert 2**53 + 1 to a float that equals its neighbour. A wider float is
    # exact.
    return array.dtype.kind == "f" or bool(array.tolist() == row.tolist())


def _described(values: list[Any]) -> str:
    kinds: dict[str, int] = {}
    for number, value in enumerate(values):
        array = _numbers(value)
        kind = type(value).__name__ if array is None else f"{array.dtype} of shape {array.shape}"
        kinds.setdefault(kind, number)
    return ", ".join(f"{kind} in episode {number}" for kind, number in kinds.items())

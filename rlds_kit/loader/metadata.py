"""Selected metadata of all episodes as arrays, whose dtypes frameworks need in advance."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.episode.episode import Episode

_MISSING = object()


class Metadata:
    """Selected metadata of episodes: read when they are needed, if the indexes of the shards describe them.

    Args:
      episodes: the episodes.
      names: keys of their metadata.
      known: the spec of all metadata; None if it is not known, so that every episode is read immediately.

    Raises:
      SpecError: an episode lacks a key, or values have no common dtype and shape.

    Attributes:
      examples: by name `[n, ...]` values of the dtype and shape of all, n > 0 if there are episodes.
    """

    def __init__(self, episodes: Sequence[Episode], names: Sequence[str], known: specs.Spec | None = None) -> None:
        self._episodes, self._names = episodes, tuple(names)
        self._columns: dict[str, np.ndarray] | None = None
        examples = described(known, names)
        if examples is None:
            examples = self._columns = metadata_columns(episodes, names)
        self.examples = examples

    def of(self, number: int) -> dict[str, Any]:
        """The metadata of an episode, by name."""
        columns, row = self._columns, number
        if columns is None:
            columns, row = metadata_columns([self._episodes[number]], self._names), 0
        return {name: column[row] for name, column in columns.items()}


def described(known: specs.Spec | None, names: Sequence[str]) -> dict[str, np.ndarray] | None:
    """One row like those of `metadata_columns`, from a spec of all metadata; None if it is not sufficient.

    >>> described(specs.Dict({"score": specs.Array((), "int64"), "player": specs.Text()}), ["score"])
    {'score': array([0])}
    """
    if not isinstance(known, specs.Dict):
        return None
    examples = {}
    for name in names:
        example = _example(known.fields.get(name))
        if example is None:
            return None
        examples[name] = example
    return examples


def _example(spec: specs.Spec | None) -> np.ndarray | None:
    match spec:
        case specs.Text():
            return _objects([""])
        case specs.Bytes():
            return _objects([b""])
        case specs.Array(shape, dtype) if dtype.kind in "biuf" and dtype.isnative and None not in shape:
            # Whether TFDS has an exact encoding for an array of floats depends on its values.
            return None if shape and dtype.kind == "f" else np.zeros((1, *(size or 0 for size in shape)), dtype)
    return None  # what some episodes lack, too


def metadata_keys(episodes: Iterable[Episode], known: specs.Spec | None) -> tuple[str, ...]:
    """The keys of metadata that some episode has, sorted; read from every episode unless all have the known ones.

    Raises:
      SpecError: one of them is no text.
    """
    if isinstance(known, specs.Dict) and not any(
        isinstance(each, specs.Any | specs.Optional) for each in known.fields.values()
    ):
        return tuple(sorted(known.fields))
    found: set[object] = {key for episode in episodes for key in episode.metadata}
    for key in found:
        if not isinstance(key, str):
            raise SpecError(f"expected metadata with keys that are text, got {key!r}; name others in `metadata`")
    return tuple(sorted(key for key in found if isinstance(key, str)))


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

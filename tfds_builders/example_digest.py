"""Digests of the values of an example, field by field, independent of how TFDS returned them.

Each field: XXH3-64 over dtype, number of values, the shape of each, and the bytes of all in C order; text counts as its
UTF-8 bytes, each with its length. It detects accidental changes, not forgery.
"""

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xxhash

from rlds_kit.base.rlds_types import STEPS

FieldDigests = dict[str, bytes]
"""Digests of 8 bytes, by the path of a field, such as `steps/observation/camera`."""
Keys = tuple[str, ...]


def example_digests(example: Mapping[str, Any], features: Any) -> FieldDigests:
    """The digest of every field of an example.

    Args:
      example: `{"steps": ..., **metadata}`, with steps as a dict of `[T, ...]`, or as an iterable of dicts of
        `[n, ...]`: stretches of consecutive steps.
      features: of the example.

    Raises:
      KeyError: the example lacks a field.

    >>> steps = tfds.features.Dataset({"reward": np.float32})
    >>> features = tfds.features.FeaturesDict({"steps": steps, "seed": np.int64})
    >>> whole = {"steps": {"reward": np.ones(3, np.float32)}, "seed": 7}
    >>> parts = {"steps": iter([{"reward": np.ones(1, np.float32)}, {"reward": np.ones(2, np.float32)}]), "seed": 7}
    >>> example_digests(whole, features) == example_digests(parts, features)
    True
    """
    facts = {name: feature for name, feature in features.items() if name != STEPS}
    of_episode = {keys: _Digest() for keys in leaf_keys(facts)}
    for keys, digest in of_episode.items():
        digest.update(_one(value_at(example, keys)))
    stepped = {keys: _Digest() for keys in leaf_keys(features[STEPS].feature)}
    steps = example[STEPS]
    for stretch in [steps] if isinstance(steps, Mapping) else steps:
        for keys, digest in stepped.items():
            digest.update(value_at(stretch, keys))
    found = of_episode | {(STEPS, *keys): digest for keys, digest in stepped.items()}
    return {"/".join(keys): digest.result() for keys, digest in found.items()}


def leaf_keys(nest: Any) -> list[Keys]:
    """The keys that lead to each value of a nest that is no dict, or to each feature that is no `FeaturesDict`.

    >>> leaf_keys({"reward": 0.0, "observation": {"camera": 1, "joints": 2}})
    [('reward',), ('observation', 'camera'), ('observation', 'joints')]
    """
    if not hasattr(nest, "items"):
        return [()]
    return [(name, *below) for name, item in nest.items() for below in leaf_keys(item)]


def value_at(nest: Any, keys: Keys) -> Any:
    """The value that keys lead to.

    Raises:
      KeyError: there is none.
    """
    return functools.reduce(operator.getitem, keys, nest)


def _one(value: Any) -> np.ndarray:
    """A single value as the only row of an array."""
    array = np.asarray(value)
    return array[np.newaxis] if array.dtype.kind not in "US" else _objects([array[()]])


def _objects(values: Sequence[Any]) -> np.ndarray:
    rows = np.empty(len(values), object)
    rows[:] = values
    return rows


class _Digest:
    """Adds the values of consecutive steps."""

    def __init__(self) -> None:
        self._count = 0
        self._dtypes: set[str] = set()
        self._shapes, self._values = xxhash.xxh3_64(), xxhash.xxh3_64()

    def update(self, rows: Any) -> None:
        """Adds rows: an array `[n, ...]`, or a sequence of arrays whose shapes differ."""
        if isinstance(rows, np.ndarray) and rows.dtype != object:
            self._add(rows)
            return
        for row in rows:
            if isinstance(row, str | bytes):
                self._add_text(row, ())
                continue
            array = np.asarray(row)
            if array.dtype == object or array.dtype.kind in "US":
                self._add_texts(array)
            else:
                self._add(array[np.newaxis])

    def _add(self, rows: np.ndarray) -> None:
        self._count += len(rows)
        self._dtypes.add(rows.dtype.newbyteorder("=").str)
        self._shapes.update(np.array(rows.shape[1:], "<i8").tobytes() * len(rows))
        if rows.size:
            native = rows.astype(rows.dtype.newbyteorder("<"), copy=False)
            self._values.update(np.ascontiguousarray(native).reshape(-1).view(np.uint8).data)

    def _add_texts(self, array: np.ndarray) -> None:
        self._count -= array.size - 1
        for text in array.reshape(-1).tolist():
            self._add_text(text, array.shape)

    def _add_text(self, text: str | bytes, shape: Iterable[int]) -> None:
        encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        self._count += 1
        self._dtypes.add("text")
        self._shapes.update(np.array([*shape], "<i8").tobytes())
        self._values.update(len(encoded).to_bytes(8, "little") + encoded)

    def result(self) -> bytes:
        """Returns the digest of all values, 8 bytes."""
        kind = f"{sorted(self._dtypes)} {self._count}".encode()
        return xxhash.xxh3_64_digest(kind + self._shapes.digest() + self._values.digest())

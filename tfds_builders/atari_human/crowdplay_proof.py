"""Digests of what was given to be recorded and of what was read back: equal for equal values."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import xxhash

from rlds_kit import Episode

READ_STEPS: Final = 64
"""Steps that are read back at once."""


def digest_of_rows(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The digest of steps, each a dict of arrays and of nests; 16 bytes.

    >>> digest_of_rows([{"reward": np.float64(1)}]) == digest_of_rows([{"reward": np.float64(2)}])
    False
    """
    digests = _Digests()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, Mapping):
                digests.add_nest(name, value)
            else:
                digests.add(name, np.asarray(value)[np.newaxis])
    return digests.result()


def digest_of_episode(episode: Episode, arrays: Iterable[str], nest: str) -> bytes:
    """The same digest of an episode, of all steps on which a field is defined.

    Args:
      episode: that was recorded.
      arrays: fields that are arrays.
      nest: the field that is a nest.
    """
    digests = _Digests()
    for begin in range(0, episode.length, READ_STEPS):
        part = episode[begin : begin + READ_STEPS]
        for name in arrays:
            digests.add(name, part[name][part.mask(name)])
        for step in part.steps:
            if nest in step:
                digests.add_nest(nest, step[nest])
    return digests.result()


class _Digests:
    """One for each field."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._values: dict[str, Any] = defaultdict(xxhash.xxh3_128)

    def add(self, name: str, rows: np.ndarray) -> None:
        """Adds rows `[n, ...]`."""
        if len(rows):
            self._counts[f"{name} {rows.dtype.str} {rows.shape[1:]}"] += len(rows)
            self._values[name].update(np.ascontiguousarray(rows).tobytes())

    def add_nest(self, name: str, nest: Mapping[str, Any]) -> None:
        """Adds one value of a nest."""
        self._counts[name] += 1
        self._values[name].update(json.dumps(nest, sort_keys=True, default=repr).encode())

    def result(self) -> bytes:
        """Of all fields."""
        values = {name: digest.hexdigest() for name, digest in self._values.items()}
        return xxhash.xxh3_128_digest(json.dumps([self._counts, values], sort_keys=True).encode())

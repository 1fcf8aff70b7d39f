"""Digests of what an episode holds while it is on its way between formats.

Equal for equal values: dtype, shape and bytes of arrays and numbers, text, bytes and nests of these. A Python number, a
NumPy scalar and an array without dimensions of the same dtype are equal; so are fields that no row has, and no field.
"""

import functools
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import xxhash

from rlds_kit.convert.protocol import ForeignEpisode

_INT64: Final = range(-(2**63), 2**63)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal in what counts here.

    >>> same({"weights": np.ones(2)}, {"weights": np.ones(2)}), same(1, 1.0)
    (True, False)
    """
    digests = []
    for value in (a, b):
        total = xxhash.xxh3_128()
        _add(total, value)
        digests.append(total.digest())
    return digests[0] == digests[1]


def content_of(episode: ForeignEpisode) -> bytes:
    """The digest of an episode, 16 bytes: of its steps, metadata, seed, options and end."""
    total = xxhash.xxh3_128()
    _add_text(total, f"{len(episode.observed)} steps, {len(episode.acted)} actions")
    actions = iter(episode.acted)
    for observed in episode.observed:
        _add(total, {**observed, **next(actions, {})})
    for value in (dict(episode.metadata), episode.seed, episode.options):
        _add(total, value)
    _add_text(total, f"{episode.end.value} {episode.terminated} {episode.truncated}")
    return total.digest()


def _add(total: "xxhash.xxh3_128", value: Any) -> None:
    match value:
        case np.ndarray():
            _add_array(total, value)
        case None:
            _add_text(total, "none")
        case str():
            _add_text(total, "text")
            _add_text(total, value)
        case bytes():
            _add_text(total, f"bytes {len(value)}")
            total.update(value)
        case Mapping():
            _add_text(total, f"dict {len(value)}")
            for key, each in sorted(value.items(), key=lambda item: repr(item[0])):
                _add(total, key)
                _add(total, each)
        case tuple() | list():
            _add_text(total, f"{'tuple' if isinstance(value, tuple) else 'list'} {len(value)}")
            for each in value:
                _add(total, each)
        case int() if value not in _INT64:
            _add_text(total, f"int {value}")
        case _:
            _add_array(total, np.asarray(value))


def _add_array(total: "xxhash.xxh3_128", array: np.ndarray) -> None:
    total.update(_kind(array.dtype, array.shape) + array.tobytes())


def _add_text(total: "xxhash.xxh3_128", text: str) -> None:
    total.update(_framed(text))


@functools.lru_cache(4096)
def _kind(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    return _framed(f"{dtype.str} {shape}")


@functools.lru_cache(4096)
def _framed(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "little") + data

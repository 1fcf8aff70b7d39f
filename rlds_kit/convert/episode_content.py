"""Digests of what an episode holds, from columns that were read elsewhere and from an episode of ours.

Only what is defined counts: the rows that have a value, which rows those are, the metadata, and the end.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xxhash

from rlds_kit.episode import Episode
from rlds_kit.step import FLAGS, EpisodeEnd


def content_of_columns(
    fields: Mapping[str, Any],
    rows: Mapping[str, int],
    metadata: Mapping[str, Any],
    end: EpisodeEnd,
    loose: frozenset[str],
) -> bytes:
    """The digest of an episode, 16 bytes.

    Args:
      fields: of its steps, each a column `[steps, ...]` or a nest of them.
      rows: for each field how many of its first rows count.
      metadata: of the episode.
      end: how it ended.
      loose: paths of columns whose values may differ in shape.
    """
    total = xxhash.xxh3_128()
    for name, field in sorted(fields.items()):
        for path, column in sorted(_flat(name, field).items()):
            _add_text(total, path)
            _add_column(total, column[: rows[name]], is_loose=path in loose)
    _add(total, metadata)
    _add_text(total, end.value)
    return total.digest()


def content_of_episode(episode: Episode, loose: frozenset[str]) -> bytes:
    """The digest of an episode that was recorded, equal to that of the columns it was recorded from."""
    names = [name for name in episode.fields if name not in FLAGS]
    rows = {name: int(np.sum(episode.mask(name))) for name in names}
    if episode.end is None:
        raise ValueError("expected an episode that has ended")
    return content_of_columns({name: episode[name] for name in names}, rows, episode.metadata, episode.end, loose)


def _flat(path: str, nest: Any) -> dict[str, Any]:
    if not isinstance(nest, dict):
        return {path: nest}
    found: dict[str, Any] = {}
    for name, each in nest.items():
        found |= _flat(f"{path}/{name}", each)
    return found


def _add_column(total: "xxhash.xxh3_128", column: Any, *, is_loose: bool) -> None:
    if is_loose or not isinstance(column, np.ndarray):
        _add_text(total, f"{len(column)} values")
        for each in column:
            _add(total, each)
    else:
        _add(total, column)


def _add(total: "xxhash.xxh3_128", value: Any) -> None:
    match value:
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
            for name, each in sorted(value.items()):
                _add_text(total, name)
                _add(total, each)
        case tuple() | list():
            _add_text(total, f"sequence {len(value)}")
            for each in value:
                _add(total, each)
        case _:
            array = np.asarray(value)
            _add_text(total, f"{array.dtype} {array.shape}")
            total.update(array.tobytes())


def _add_text(total: "xxhash.xxh3_128", text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    total.update(len(data).to_bytes(8, "little") + data)

"""Prefetches blocks for several readers of remote files: many ranges of all files concurrently."""

from collections.abc import Iterable
from typing import Final, TypeAlias

from rlds_kit.remote.directory import RemoteDirectory, Want
from rlds_kit.storage.episode_reader import EpisodeReader, Wanted

Part: TypeAlias = tuple[EpisodeReader, int, int]
"""An episode, the first row to read, and one past the last."""

_BYTES: Final = 64 << 20
"""Limit of prefetched bytes; readers fetch the rest when they need it."""


def fetch_ahead(parts: Iterable[Part], wanted: Wanted) -> None:
    """Prefetches blocks in two rounds: their headers, then the requested columns. Does nothing for local files.

    Args:
      parts: of one dataset.
      wanted: selects the columns.

    Raises:
      RemoteError: a range cannot be fetched.
    """
    parts = [part for part in parts if part[0].remote is not None]
    _fetch([want for reader, begin, end in parts for want in _wants(reader, reader.header_ranges(begin, end))])
    wants, size = list[tuple[RemoteDirectory, Want]](), 0
    for reader, begin, end in parts:
        wants += (found := _wants(reader, reader.payload_ranges(begin, end, wanted)))
        size += sum(want.end - want.begin for _, want in found)
        if size >= _BYTES:
            break
    _fetch(wants)


def _fetch(wants: list[tuple[RemoteDirectory, Want]]) -> None:
    if wants:
        wants[0][0].fetch(want for _, want in wants)


def _wants(reader: EpisodeReader, ranges: Iterable[tuple[int, int]]) -> list[tuple[RemoteDirectory, Want]]:
    remote = reader.remote
    return [] if remote is None else [(remote.directory, want) for want in remote.wants(ranges)]

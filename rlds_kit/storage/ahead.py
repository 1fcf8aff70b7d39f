"""Fetches what several readers are about to read, if it is elsewhere: many ranges at once, of all their files."""

from collections.abc import Iterable
from typing import Final, TypeAlias

from rlds_kit.remote.directory import RemoteDirectory, Want
from rlds_kit.storage.episode_reader import EpisodeReader, Wanted

Part: TypeAlias = tuple[EpisodeReader, int, int]
"""An episode, the first row to read, and one past the last."""

_BYTES: Final = 64 << 20
"""At most so much is fetched ahead; readers fetch the rest when they come to it."""


def fetch_ahead(parts: Iterable[Part], wanted: Wanted) -> None:
    """Brings blocks near in two rounds: their headers, then the columns that are wanted. Files of this machine are.

    Args:
      parts: of one dataset.
      wanted: tells which columns.

    Raises:
      RemoteError: something cannot be fetched.
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

"""Reads an episode block by block, for work on whole datasets: without a cache."""

from collections.abc import Iterator
from functools import partial

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.storage import block, shard_file
from rlds_kit.storage import column as columns
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.storage.leaf import is_at_or_below
from rlds_kit.storage.shard_file import ShardFile


def headers_of(file: ShardFile, entry: EpisodeEntry) -> Iterator[tuple[int, int, pb.BlockHeader]]:
    """Position, offset of the payloads and header of each block.

    Raises:
      DamagedError: a header is damaged, or steps are missing.
    """
    at = 0
    for position in entry.blocks.tolist():
        prefix = shard_file.read_block_prefix(file, position)
        header = prefix.header
        if header.episode_id != entry.episode_id or header.first_row != at:
            raise DamagedError(f"{file.place(position)}: the block is not the one that follows; run `rlds-kit repair`")
        at = header.end_row
        yield position, prefix.payload_base, header
    if at != entry.rows:
        raise DamagedError(f"{file.path}: {entry.rows - at} steps of an episode are missing; run `rlds-kit repair`")


def blocks_of(file: ShardFile, entry: EpisodeEntry) -> Iterator[tuple[range, list[Column]]]:
    """The steps and columns of each block, every hash checked.

    Raises:
      DamagedError: a block is damaged, or steps are missing.
    """
    for position, _, header in headers_of(file, entry):
        found = block.decode(file.record(position), file.place(position))[1]
        yield range(header.first_row, header.end_row), list(found.values())


def content_digest(file: ShardFile, entry: EpisodeEntry) -> bytes:
    """Computes the content digest of an episode from its decoded values.

    Raises:
      DamagedError: a block is damaged, or steps are missing.
    """
    digest = EpisodeDigest()
    for _, found in blocks_of(file, entry):
        digest.update(found)
    return digest.digest(start_of(file, entry), end_of(file, entry))


def columns_of(file: ShardFile, entry: EpisodeEntry, field: str) -> Iterator[Column]:
    """The columns at or below a path; nothing else is read.

    Raises:
      DamagedError: one is damaged, or steps are missing.
    """
    for position, base, header in headers_of(file, entry):
        for column in header.columns:
            if is_at_or_below(column.path, field):
                yield file.sound(partial(_column, file, position, base, column))


def _column(file: ShardFile, position: int, base: int, header: pb.Column) -> Column:
    payload = shard_file.read_payload(file, position, base + header.offset, header.length)
    place = file.place(position)
    return columns.decode(layout_of(header, place), payload, place)

"""The index of a closed shard, validated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_table import EpisodeTable, from_message, table_of
from rlds_kit.storage.plausible import BLOCK_ROWS_LIMIT, DIGEST_BYTES, ID_BYTES, ROWS_LIMIT, require_spec


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """What a shard contains.

    Attributes:
      shard_id: of the shard.
      data_end: position of the chunk that has the index.
      header: a copy of the shard's.
      amendments: the specs of undeclared fields, in file order.
      episodes: all, in the order of their starts; also discarded ones.
      metadata: the spec that the metadata of all listed episodes fit; None if an older writer wrote the index.
    """

    shard_id: bytes
    data_end: int
    header: pb.ShardHeader
    amendments: tuple[pb.Spec, ...]
    episodes: EpisodeTable
    metadata: specs.Spec | None


def parse_index(stored: pb.ShardIndex, place: object) -> ShardIndex:
    """Validates an index.

    Raises:
      DamagedError: it cannot be one: a spec is not valid, or entries contradict each other.
    """
    if not stored.header.minor_version:
        require_spec(stored.header.spec, place)
    try:
        episodes = from_message(stored.table) if stored.HasField("table") else _older(stored.episodes)
        data_end = stored.table.data_end or stored.data_end
        _require_plausible(episodes, data_end)
    except (ValueError, OverflowError) as error:
        raise DamagedError(f"{place}: an index of episodes that cannot be: {error}; run `rlds-kit repair`") from error
    amendments = tuple(stored.amendments)
    return ShardIndex(stored.shard_id, data_end, stored.header, amendments, episodes, _metadata(stored))


def _metadata(stored: pb.ShardIndex) -> specs.Spec | None:
    if not stored.HasField("episode_metadata"):
        return None
    try:
        return specs.from_message(stored.episode_metadata)
    except FormatError:  # of a later version: readers read the metadata themselves
        return None


def _older(stored: Sequence[pb.EpisodeIndex]) -> EpisodeTable:
    """The table of an index with one message for each episode."""
    for index in stored:
        if len(index.episode_id) != ID_BYTES or len(index.content_digest) not in (0, DIGEST_BYTES):
            raise ValueError(f"an id of {len(index.episode_id)} bytes, a digest of {len(index.content_digest)}")
        if not len(index.block) == len(index.first_row) == len(index.end_row):
            raise ValueError("blocks without rows")
    return table_of(
        EpisodeEntry(
            episode_id=index.episode_id,
            start=index.start,
            end=index.end,
            ending=index.ending,
            rows=index.rows,
            blocks=np.cumsum(np.array(index.block, np.int64)),
            first_row=np.array(index.first_row, np.int64),
            end_row=np.array(index.end_row, np.int64),
            content_digest=index.content_digest,
        )
        for index in stored
    )


def _require_plausible(episodes: EpisodeTable, data_end: int) -> None:
    """Raises ValueError for entries that are not well-formed, or claim more rows than blocks can have."""
    for name in ("start", "end", "block"):
        if (getattr(episodes, name) >= data_end).any() or (getattr(episodes, name) < 0).any():
            raise ValueError(f"{name} positions beyond {data_end}")
    for name in ("first_row", "end_row"):
        if (getattr(episodes, name) >= ROWS_LIMIT).any():
            raise ValueError(f"blocks with more than {ROWS_LIMIT} rows")
    if (episodes.rows.astype(np.float64) > episodes.blocks.astype(np.float64) * BLOCK_ROWS_LIMIT).any():
        raise ValueError("more rows than blocks can have")

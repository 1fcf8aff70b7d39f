"""Our own format: the blocks of every episode are copied without decoding."""

import uuid
from collections.abc import Iterator
from pathlib import Path

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.storage.contents import contents
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tfds_builders.shards.source_shards import SourceShards
from rlds_kit.tfds_builders.shards.spec import EpisodeInfo, EpisodeRef, ShardSpec
from rlds_kit.tools.upkeep.episode_blocks import content_digest
from rlds_kit.tools.upkeep.episode_copy import copy_episode


def write(spec: ShardSpec, path: Path) -> tuple[EpisodeInfo, ...]:
    """Writes the shard to `path`; one block is in memory at a time.

    Returns:
      The written episodes, with their digests from the source.

    Raises:
      BuildError: the source has changed.
      DamagedError: a shard or a block of the source is damaged.
    """
    sources = SourceShards(spec.source)
    writer = ShardWriter(path, _header(spec, sources))
    try:
        infos = tuple(_copy(ref, sources, writer) for ref in spec.episodes)
    except BaseException:
        writer.abandon()
        raise
    writer.close()
    return infos


def _header(spec: ShardSpec, sources: SourceShards) -> pb.ShardHeader:
    """The header of the run that all episodes share, with the ids and times of the plan."""
    header = pb.ShardHeader()
    header.CopyFrom(sources.shard(spec.episodes[0].shard).header)
    header.shard_id, header.writer, header.created_unix_ns = spec.shard_id.bytes, spec.writer, spec.created_unix_ns
    return header


def _copy(ref: EpisodeRef, sources: SourceShards, writer: ShardWriter) -> EpisodeInfo:
    shard, entry = sources.shard(ref.shard), sources.entry(ref)
    for amendment in shard.contents.amendments:
        writer.amend(amendment)
    copy_episode(shard.file, entry, writer)
    return EpisodeInfo(ref.id, entry.rows, entry.content_digest or content_digest(shard.file, entry))


def read_back(spec: ShardSpec) -> Iterator[EpisodeInfo]:
    """Decodes the episodes of the finished shard and computes their digests.

    Raises:
      DamagedError: the shard is damaged.
    """
    file = ShardFile(spec.path)
    found = contents(file)
    if not found.is_indexed:
        raise DamagedError(f"{spec.path}: the shard has no index that can be trusted")
    for entry in found.episodes:
        yield EpisodeInfo(uuid.UUID(bytes=entry.episode_id), entry.rows, content_digest(file, entry))

"""Our own format: the blocks of every episode are copied as they lie, compressed."""

import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.storage.contents import contents
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tfds_builders.shards.sources import Sources
from rlds_kit.tfds_builders.shards.spec import EpisodeInfo, EpisodeRef, ShardSpec
from rlds_kit.tools.upkeep.episode_blocks import blocks_of, headers_of


def write(spec: ShardSpec, path: Path) -> tuple[EpisodeInfo, ...]:
    """Writes the shard to `path`; one block is in memory at a time.

    Returns:
      What was written, with the digests that the source has stored.

    Raises:
      BuildError: the source has changed, or a shard of it is damaged.
      DamagedError: a block of the source is damaged.
    """
    sources = Sources(spec.source)
    writer = ShardWriter(path, _header(spec, sources))
    try:
        amendments: dict[bytes, None] = {}
        infos = []
        for ref in spec.episodes:
            for amendment in sources.shard(ref.shard).contents.amendments:
                name = amendment.SerializeToString(deterministic=True)
                if name not in amendments:
                    amendments[name] = None
                    writer.amend(amendment)
            infos.append(_copy(ref, sources, writer))
    except BaseException:
        writer.abandon()
        raise
    writer.close()
    return tuple(infos)


def _header(spec: ShardSpec, sources: Sources) -> pb.ShardHeader:
    """That of the first episode's run, which all of them share, with what the plan decided."""
    header = pb.ShardHeader()
    header.CopyFrom(sources.shard(spec.episodes[0].shard).header)
    header.shard_id, header.writer, header.created_unix_ns = spec.shard_id.bytes, spec.writer, spec.created_unix_ns
    return header


def _copy(ref: EpisodeRef, sources: Sources, writer: ShardWriter) -> EpisodeInfo:
    file, entry = sources.shard(ref.shard).file, sources.entry(ref)
    start, end = start_of(file, entry), end_of(file, entry)
    writer.start(start)
    for position, _, header in headers_of(file, entry):
        writer.encoded_block(entry.episode_id, range(header.first_row, header.end_row), file.record(position))
    if end is not None:
        writer.end(end)
    return EpisodeInfo(ref.id, entry.rows, entry.content_digest or _digest(file, entry))


def read_back(spec: ShardSpec) -> Iterator[EpisodeInfo]:
    """What the finished shard holds, every value decoded and digested.

    Raises:
      DamagedError: something of it is damaged.
    """
    file = ShardFile(spec.path)
    found = contents(file)
    if not found.is_indexed:
        raise DamagedError(f"{spec.path}: the shard has no index that can be trusted")
    return _infos(file, found.episodes)


def _infos(file: ShardFile, entries: Iterable[EpisodeEntry]) -> Iterator[EpisodeInfo]:
    for entry in entries:
        yield EpisodeInfo(uuid.UUID(bytes=entry.episode_id), entry.rows, _digest(file, entry))


def _digest(file: ShardFile, entry: EpisodeEntry) -> bytes:
    digest = EpisodeDigest()
    for _, columns in blocks_of(file, entry):
        digest.update(columns)
    return digest.digest(start_of(file, entry), end_of(file, entry))

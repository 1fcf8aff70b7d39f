"""The positions of the episodes of a dataset, their sizes and their runs."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import FLAGS
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.loader.layout import layout
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import ShardContents, contents
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.spec import EpisodeRef


@dataclass(frozen=True, slots=True)
class Located:
    """The data about an episode for a plan.

    Attributes:
      ref: its source.
      stored_bytes: its size in the source.
      run: the data in common with other episodes of its run: spec, metadata and environment of its shard's header.
      created_unix_ns: creation time of its shard.
    """

    ref: EpisodeRef
    stored_bytes: int
    run: bytes
    created_unix_ns: int


def located(dataset: Dataset) -> list[Located]:
    """The episodes of a dataset, in its order.

    Raises:
      BuildError: a shard is damaged, or an episode is being recorded.
    """
    found: dict[bytes, Located] = {}
    wanted = [episode.id.bytes for episode in dataset.episodes]
    for path in directories.shards_in(dataset.path):
        file = ShardFile(path)
        for each in _in_shard(file, contents(file), set(wanted)):
            found[each.ref.id.bytes] = each
    missing = next((each for each in wanted if each not in found), None)
    if missing is not None:
        raise BuildError(
            f"{dataset.path}: episode {uuid.UUID(bytes=missing)} is being recorded, or was discarded since; open the "
            "dataset again, without open episodes"
        )
    return [found[each] for each in wanted]


def _in_shard(file: ShardFile, shard: ShardContents, wanted: set[bytes]) -> Iterator[Located]:
    weights = stored_bytes(shard, file.size())
    for entry in shard.episodes:
        if entry.episode_id not in wanted or (shard.is_locked and not entry.end):
            continue
        if shard.header is None or shard.skipped:
            raise BuildError(f"{file.path}: the shard is damaged; run `rlds-kit repair` first, then use its copy")
        ref = EpisodeRef(uuid.UUID(bytes=entry.episode_id), file.path.name, entry.rows, entry.content_digest)
        yield Located(ref, weights[entry.episode_id], _run(shard.header), shard.header.created_unix_ns)


def stored_bytes(shard: ShardContents, size: int) -> dict[bytes, int]:
    """The bytes of each episode in a shard.

    Args:
      shard: its content.
      size: of the file.
    """
    owners = sorted(
        (position, entry.episode_id)
        for entry in shard.episodes
        for position in (entry.start, *entry.blocks.tolist(), entry.end)
        if position
    )
    found = dict.fromkeys((entry.episode_id for entry in shard.episodes), 0)
    ends = [position for position, _ in owners[1:]] + [size]
    for (begin, owner), end in zip(owners, ends, strict=False):
        found[owner] += end - begin
    return found


def decoded_step_bytes(dataset: Dataset) -> int:
    """The approximate bytes in memory of a step of the selected fields."""
    source = dataset.source()
    names = [name for name in source.fields if name not in FLAGS]
    return max(1, sum(leaf.row_bytes for name in names for leaf in layout(source.spec, name, {})))


def _run(header: pb.ShardHeader) -> bytes:
    shared = pb.ShardHeader(spec=header.spec, metadata=header.metadata, environment=header.environment)
    return shared.SerializeToString(deterministic=True)

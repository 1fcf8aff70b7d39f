"""The records of parts of episodes of one block each, which are made and written together."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import block
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.lane_blocks import EncodedBlock
from rlds_kit.storage.leaf import EMPTY_DICT
from rlds_kit.storage.plausible import DIGEST_BYTES

Records: TypeAlias = tuple[list[bytes], bytes, bytes, bytes]


class PartRecords(NamedTuple):
    """The records of parts of episodes, and what is known of those that end.

    Attributes:
      records: in the order of parts.
      digests: of each 16 bytes, zeros if it does not end.
      endings: a byte of each, a value of pb.EpisodeEnd.ending.
      has_metadata: a byte of each, whether its start or its end may have metadata.
    """

    records: list[bytes]
    digests: bytes
    endings: bytes
    has_metadata: bytes


def hashes_of(encoded: EncodedBlock) -> bytes:
    """What the digest of an episode needs that has only this block."""
    if encoded.hashes:
        return encoded.hashes
    digest = EpisodeDigest()
    digest.update_values(encoded.leaves)
    return digest.hashes_of_leaves()


def part_records_in_python(
    hashes: list[bytes], starts: list[bytes], blocks: list[bytes], ends: list[bytes], begins: bytes
) -> Records:
    """The records of parts of episodes, and what is known of those that end.

    Args:
      hashes: of those that end from `EpisodeDigest.hashes_of_leaves`.
      starts: of those that begin or end the serialized EpisodeStart.
      blocks: the record of the block of each; empty if it has no rows.
      ends: of those that end the serialized EpisodeEnd, without a digest; of others nothing.
      begins: a byte of each, whether it begins.

    Returns:
      The attributes of `PartRecords`.
    """
    records, digests, endings, has_metadata = list[bytes](), bytearray(), bytearray(), bytearray()
    for leaves, start_data, record, end_data, is_first in zip(hashes, starts, blocks, ends, begins, strict=True):
        start, end, digest = pb.EpisodeStart.FromString(start_data), pb.EpisodeEnd.FromString(end_data), EpisodeDigest()
        digest.update_whole(leaves)
        end.content_digest = digest.digest(start, end)
        records += [block.record_of(block.START, start)] * bool(is_first) + [record] * bool(record)
        records += [block.record_of(block.END, end)] * bool(end_data)
        digests += end.content_digest if end_data else bytes(DIGEST_BYTES)
        endings.append(end.ending)
        has_metadata.append(max(each.metadata.ByteSize() for each in (start, end)) > len(EMPTY_DICT))
    return records, bytes(digests), bytes(endings), bytes(has_metadata)


part_records: Final[Callable[[list[bytes], list[bytes], list[bytes], list[bytes], bytes], Records]] = getattr(
    block.native, "part_records", part_records_in_python
)

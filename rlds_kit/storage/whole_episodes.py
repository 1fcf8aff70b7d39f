"""Whole episodes of one block each, whose records are made and written together."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import block
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.jobs import Whole
from rlds_kit.storage.lane_blocks import EncodedBlock
from rlds_kit.storage.leaf import EMPTY_DICT
from rlds_kit.storage.plausible import DIGEST_BYTES

_DIGEST_FIELD: Final = 2 + DIGEST_BYTES
"""Bytes of EpisodeEnd.content_digest, with its tag and size."""
Records: TypeAlias = tuple[list[bytes], bytes, bytes]


class WholeEpisodes(NamedTuple):
    """Episodes that can be written.

    Attributes:
      jobs: of the episodes.
      records: of the start, the block and the end of each.
      digests: 16 bytes of each.
      has_metadata: a byte of each, whether it may have metadata.
    """

    jobs: list[Whole]
    records: list[bytes]
    digests: bytes
    has_metadata: bytes


class WholeBuilder:
    """Collects episodes."""

    def __init__(self) -> None:
        self._jobs, self._blocks, self._hashes = list[Whole](), list[bytes](), list[bytes]()

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, job: Whole, encoded: EncodedBlock) -> int:
        """Adds an episode; returns the bytes of its records."""
        self._jobs.append(job)
        self._blocks.append(encoded.record)
        self._hashes.append(encoded.hashes or _hashes_of(encoded))
        size, end_size = block.record_size(len(job.start)), block.record_size(len(job.end) + _DIGEST_FIELD)
        return size + len(encoded.record) + end_size

    def build(self) -> WholeEpisodes:
        """The episodes, with their digests."""
        starts, ends = [each.start for each in self._jobs], [each.end for each in self._jobs]
        return WholeEpisodes(self._jobs, *whole_records(self._hashes, starts, self._blocks, ends))


def _hashes_of(encoded: EncodedBlock) -> bytes:
    digest = EpisodeDigest()
    digest.update_values(encoded.leaves)
    return digest.hashes_of_leaves()


def whole_records_in_python(
    hashes: list[bytes], starts: list[bytes], blocks: list[bytes], ends: list[bytes]
) -> Records:
    """The records of episodes of one block each, their digests, and whether each may have metadata.

    Args:
      hashes: from `EpisodeDigest.hashes_of_leaves`.
      starts: the serialized EpisodeStart of each.
      blocks: the record of the block of each.
      ends: the serialized EpisodeEnd of each, without a digest.

    Returns:
      As in `WholeEpisodes`.
    """
    records, digests, has_metadata = list[bytes](), bytearray(), bytearray()
    for leaves, start_data, record, end_data in zip(hashes, starts, blocks, ends, strict=True):
        start, end, digest = pb.EpisodeStart.FromString(start_data), pb.EpisodeEnd.FromString(end_data), EpisodeDigest()
        digest.update_whole(leaves)
        end.content_digest = digest.digest(start, end)
        records += (block.record_of(block.START, start), record, block.record_of(block.END, end))
        digests += end.content_digest
        has_metadata.append(max(each.metadata.ByteSize() for each in (start, end)) > len(EMPTY_DICT))
    return records, bytes(digests), bytes(has_metadata)


whole_records: Final[Callable[[list[bytes], list[bytes], list[bytes], list[bytes]], Records]] = getattr(
    block.native, "whole_records", whole_records_in_python
)

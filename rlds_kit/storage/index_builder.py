"""Collects the index of a shard while it is written."""

import itertools
from array import array

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec.message import to_message
from rlds_kit.storage.episode_table import EpisodeTable
from rlds_kit.storage.metadata_spec import MetadataSpec
from rlds_kit.storage.plausible import DIGEST_BYTES, ID_BYTES
from rlds_kit.storage.whole_episodes import WholeEpisodes

_NOTHING = pb.Value()


class IndexBuilder:
    """Collects the records of episodes. Takes about 100 bytes of memory for an episode with one block.

    Attributes:
      open_episodes: number and start metadata of each episode that has not ended, by id.
    """

    def __init__(self) -> None:
        self.open_episodes: dict[bytes, tuple[int, pb.Value]] = {}
        self._ids, self._digests = bytearray(), bytearray()
        self._starts, self._ends, self._rows, self._endings = array("Q"), array("Q"), array("Q"), array("L")
        self._owners, self._blocks = array("Q"), array("Q")
        self._first_rows, self._end_rows = array("Q"), array("Q")
        self._metadata = MetadataSpec()

    def __len__(self) -> int:
        return len(self._starts)

    def start(self, start: pb.EpisodeStart, position: int) -> None:
        """Adds the start of an episode."""
        self.open_episodes[start.episode_id] = len(self), start.metadata
        self._ids += start.episode_id
        self._digests += bytes(DIGEST_BYTES)
        self._starts.append(position)
        for column in (self._ends, self._rows, self._endings):
            column.append(0)

    def block(self, episode_id: bytes, rows: range, position: int) -> None:
        """Adds a step block of an open episode."""
        number, _ = self.open_episodes[episode_id]
        self._owners.append(number)
        self._blocks.append(position)
        self._first_rows.append(rows.start)
        self._end_rows.append(rows.stop)
        self._rows[number] = rows.stop

    def end(self, end: pb.EpisodeEnd, position: int) -> None:
        """Adds the end of an open episode."""
        number, metadata = self.open_episodes.pop(end.episode_id)
        self._ends[number], self._rows[number], self._endings[number] = position, end.rows, end.ending
        if end.content_digest:
            self._digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES] = end.content_digest
        if end.rows and end.ending != pb.DISCARDED:
            self._metadata.add(metadata, end.metadata)

    def whole(self, episodes: WholeEpisodes, positions: "array[int]") -> None:
        """Adds whole episodes of one block each; `positions` has those of start, block and end of each."""
        first, rows = len(self), [each.rows for each in episodes.jobs]
        self._ids += b"".join([each.episode_id for each in episodes.jobs])
        self._digests += episodes.digests
        self._starts += positions[::3]
        self._ends += positions[2::3]
        self._endings.extend([each.ending for each in episodes.jobs])
        self._owners.extend(range(first, first + len(rows)))
        self._blocks += positions[1::3]
        self._first_rows.extend([0] * len(rows))
        self._rows.extend(rows)
        self._end_rows.extend(rows)
        self._metadata.add_without(episodes.has_metadata.count(0))
        for job in itertools.compress(episodes.jobs, episodes.has_metadata):
            start, end = pb.EpisodeStart.FromString(job.start), pb.EpisodeEnd.FromString(job.end)
            self._metadata.add(start.metadata, end.metadata)

    def build(self) -> EpisodeTable:
        """The table of all episodes."""
        owners = np.array(self._owners, np.int64)
        order = np.argsort(owners, kind="stable")  # episodes may have been written at the same time
        blocks = np.bincount(owners, minlength=len(self))
        return EpisodeTable(
            episode_id=np.frombuffer(bytes(self._ids), np.uint8).reshape(-1, ID_BYTES),
            start=np.array(self._starts),
            end=np.array(self._ends),
            rows=np.array(self._rows),
            ending=np.array(self._endings),
            content_digest=np.frombuffer(bytes(self._digests), np.uint8).reshape(-1, DIGEST_BYTES),
            is_cut=np.zeros(len(self), np.bool_),
            first_block=np.cumsum(blocks) - blocks,
            blocks=blocks,
            block=np.array(self._blocks)[order],
            first_row=np.array(self._first_rows)[order],
            end_row=np.array(self._end_rows)[order],
        )

    def metadata(self) -> pb.Spec:
        """The spec that the metadata of all listed episodes fit."""
        for number, metadata in self.open_episodes.values():
            if self._rows[number]:
                self._metadata.add(metadata, _NOTHING)
        self.open_episodes.clear()
        return to_message(self._metadata.to_spec())

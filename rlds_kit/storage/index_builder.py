"""Collects the index of a shard while it is written."""

from array import array

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec.message import to_message
from rlds_kit.storage.episode_table import EpisodeTable
from rlds_kit.storage.jobs import Parts
from rlds_kit.storage.metadata_spec import MetadataSpec
from rlds_kit.storage.part_records import PartRecords
from rlds_kit.storage.plausible import DIGEST_BYTES, ID_BYTES

_NOTHING = pb.Value()


class IndexBuilder:
    """Collects the records of episodes. Takes about 100 bytes of memory for an episode with one block.

    Attributes:
      open_episodes: number and start metadata, or serialized EpisodeStart, of each episode that has not ended, by id.
    """

    def __init__(self) -> None:
        self.open_episodes: dict[bytes, tuple[int, pb.Value | bytes]] = {}
        self._ids, self._digests = bytearray(), bytearray()
        self._starts, self._ends, self._rows, self._endings = array("Q"), array("Q"), array("Q"), array("L")
        self._owners, self._blocks = array("Q"), array("Q")
        self._first_rows, self._end_rows = array("Q"), array("Q")
        self._metadata = MetadataSpec()

    def __len__(self) -> int:
        return len(self._starts)

    def start(self, start: pb.EpisodeStart, position: int) -> None:
        """Adds the start of an episode."""
        self._start(start.episode_id, start.metadata, position)

    def _start(self, episode_id: bytes, start: pb.Value | bytes, position: int) -> None:
        self.open_episodes[episode_id] = len(self), start
        self._ids += episode_id
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
        start = self._end(end.episode_id, end.rows, end.ending, end.content_digest, position)
        if end.rows and end.ending != pb.DISCARDED:
            self._metadata.add(_metadata_of(start), end.metadata)

    def _end(self, episode_id: bytes, rows: int, ending: int, digest: bytes, position: int) -> pb.Value | bytes:
        """Adds an end; returns what `open_episodes` has of the start."""
        number, start = self.open_episodes.pop(episode_id)
        self._ends[number], self._rows[number], self._endings[number] = position, rows, ending
        if digest:
            self._digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES] = digest
        return start

    def parts(self, parts: Parts, made: PartRecords, positions: "array[int]") -> None:
        """Adds parts of episodes; `positions` has those of their records."""
        if parts.are_whole:
            self._whole(parts, made, positions)
            return
        places = iter(positions)
        each = zip(parts.ids, parts.first_rows, parts.end_rows, parts.starts, parts.ends, made.endings, strict=True)
        for number, (episode_id, first_row, end_row, start, end, ending) in enumerate(each):
            if start:
                self._start(episode_id, start, next(places))
            if first_row < end_row:
                self.block(episode_id, range(first_row, end_row), next(places))
            if end:
                digest = made.digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
                begun = self._end(episode_id, end_row, ending, digest, next(places))
                self._add_metadata(begun, end, made.has_metadata[number])

    def _whole(self, parts: Parts, made: PartRecords, positions: "array[int]") -> None:
        first, rows = len(self), parts.end_rows
        self._ids += b"".join(parts.ids)
        self._digests += made.digests
        self._starts += positions[::3]
        self._ends += positions[2::3]
        self._endings.extend(made.endings)
        self._owners.extend(range(first, first + len(rows)))
        self._blocks += positions[1::3]
        self._first_rows.extend(parts.first_rows)
        self._rows.extend(rows)
        self._end_rows.extend(rows)
        if not any(made.has_metadata):
            self._metadata.add_without(len(rows))
            return
        for start, end, has_metadata in zip(parts.starts, parts.ends, made.has_metadata, strict=True):
            self._add_metadata(start, end, has_metadata)

    def _add_metadata(self, start: pb.Value | bytes, end: bytes, has_metadata: int) -> None:
        """Adds the metadata of an episode that has ended, from its serialized end."""
        if has_metadata:
            self._metadata.add(_metadata_of(start), pb.EpisodeEnd.FromString(end).metadata)
        else:
            self._metadata.add_without(1)

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
        for number, start in self.open_episodes.values():
            if self._rows[number]:
                self._metadata.add(_metadata_of(start), _NOTHING)
        self.open_episodes.clear()
        return to_message(self._metadata.to_spec())


def _metadata_of(start: pb.Value | bytes) -> pb.Value:
    """The metadata of a start, which may be serialized."""
    return pb.EpisodeStart.FromString(start).metadata if isinstance(start, bytes) else start

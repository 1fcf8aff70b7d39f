"""Collects the records of a shard during a scan, and decides which of them belong there.

Checksums show that a chunk is as it was written, but not that it was written here: it may come from another file, or be
a copy, or have been moved. Such a chunk is rejected and counts as damage; other chunks are not affected.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.riegeli.recovery import SkippedRegion
from rlds_kit.storage.episode_entry import EpisodeEntry, content_digest_of
from rlds_kit.storage.place import Place
from rlds_kit.storage.plausible import BLOCK_ROWS_LIMIT, DIGEST_BYTES, ID_BYTES, ROWS_LIMIT, require_spec
from rlds_kit.storage.shard_index import ShardIndex, parse_index

SIGNATURE_END: Final = 64
_LOST_ROWS_LIMIT: Final = 1 << 28
"""If an end claims this many rows more than were found, they cannot have been lost: the end belongs to another
episode."""


@dataclass(frozen=True, slots=True)
class SightedBlock:
    """A step block: bytes `[position, end)` of the file, and data of its header."""

    position: int
    end: int
    header: pb.BlockHeader
    is_intact: bool = True


@dataclass(slots=True)
class SightedEpisode:
    """The records of one episode that were found; positions are 0 if there is none."""

    episode_id: bytes
    start: pb.EpisodeStart | None = None
    start_position: int = 0
    blocks: list[SightedBlock] = field(default_factory=list)
    end: pb.EpisodeEnd | None = None
    end_position: int = 0
    is_cut: bool = False

    @property
    def first(self) -> int:
        """The position of its first record."""
        positions = (self.start_position, self.end_position, *(block.position for block in self.blocks[:1]))
        return min(position for position in positions if position)

    @property
    def is_discarded(self) -> bool:
        """Whether readers leave it out."""
        return self.end is not None and self.end.ending == pb.DISCARDED

    def entry(self) -> EpisodeEntry:
        """Makes the entry of the episode: the positions of its records, and what its end says."""
        end, headers = self.end, [block.header for block in self.blocks]
        return EpisodeEntry(
            episode_id=self.episode_id,
            start=self.start_position,
            end=self.end_position,
            ending=pb.UNKNOWN if end is None else end.ending,
            rows=_rows(self) if end is None else end.rows,
            blocks=np.array([block.position for block in self.blocks], np.int64),
            first_row=np.array([header.first_row for header in headers], np.int64),
            end_row=np.array([header.end_row for header in headers], np.int64),
            content_digest=content_digest_of(end),
            is_cut=self.is_cut and end is None,
        )


class Sightings:
    """Collects records in file order.

    Attributes:
      header: of the shard, if it is intact.
      amendments: in file order.
      episodes: by id, in the order of their first records; complete after `finish`.
      index: the last record, if it belongs to the shard.
      index_position: of the index; 0 if there is none.
      refused: records that do not belong here.
    """

    def __init__(self, path: object) -> None:
        self.header: pb.ShardHeader | None = None
        self.amendments: list[pb.Spec] = []
        self.episodes: dict[bytes, SightedEpisode] = {}
        self.index: ShardIndex | None = None
        self.index_position = 0
        self.refused: list[SkippedRegion] = []
        self._path = path
        self._header_end, self._ends = 0, dict[int, int]()
        self._last_position = 0

    @property
    def has_any(self) -> bool:
        """Whether any record of rlds_kit was found."""
        return bool(self.header or self.episodes or self.amendments or self.index)

    def refuse(self, position: int, end: int, message: str) -> None:
        """Adds a record that does not belong here."""
        self.refused.append(SkippedRegion(position, end, message))

    def block(self, block: SightedBlock) -> None:
        """Adds a block.

        Raises:
          DamagedError: the block is not valid.
        """
        header = block.header
        self._require_id(header.episode_id, block.position)
        if not 0 < header.end_row - header.first_row <= BLOCK_ROWS_LIMIT or header.end_row >= ROWS_LIMIT:
            raise self._not_ours(block.position, f"a block of steps {header.first_row} to {header.end_row}")
        self._episode(header.episode_id).blocks.append(block)
        self._last_position = block.position

    def record(self, record: pb.Record, position: int, end: int) -> bool:
        """Adds a record that is not a block; True at the shard's own index, which is our last record.

        Raises:
          DamagedError: it does not belong here.
        """
        match kind := record.WhichOneof("kind"):
            case "shard":
                self._take_header(record.shard, position, end)
            case "start":
                self._take_start(record.start, position, end)
            case "end":
                self._take_end(record.end, position, end)
            case "amendment":
                self._take_amendment(record.amendment.spec, position)
            case "index":
                return self._take_index(record.index, position, end)
            case _ if self.header is None or not self.header.minor_version:  # else a later version may define it
                raise self._not_ours(position, f"a record of {kind or 'no known'} kind")
        return False

    def _take_header(self, header: pb.ShardHeader, position: int, end: int) -> None:
        if position != SIGNATURE_END:
            raise self._not_ours(position, "a second header of a shard")
        if not header.minor_version:
            require_spec(header.spec, self._place(position))
        self.header, self._header_end = header, end

    def _take_start(self, start: pb.EpisodeStart, position: int, end: int) -> None:
        self._require_id(start.episode_id, position)
        episode = self._episode(start.episode_id)
        if episode.start is not None:
            raise self._not_ours(position, f"a second start of episode {start.episode_id.hex()}")
        episode.start, episode.start_position, self._ends[position] = start, position, end

    def _take_end(self, end: pb.EpisodeEnd, position: int, after: int) -> None:
        self._require_id(end.episode_id, position)
        if len(end.content_digest) not in (0, DIGEST_BYTES):
            raise self._not_ours(position, f"a digest of {len(end.content_digest)} bytes")
        episode = self._episode(end.episode_id)
        if episode.end is not None:
            raise self._not_ours(position, f"a second end of episode {end.episode_id.hex()}")
        if end.rows >= ROWS_LIMIT or end.rows > _rows(episode) + _LOST_ROWS_LIMIT:
            raise self._not_ours(position, f"an end after {end.rows} steps, where there are {_rows(episode)}")
        episode.end, episode.end_position, self._ends[position] = end, position, after
        self._last_position = position

    def _take_amendment(self, spec: pb.Spec, position: int) -> None:
        if spec in self.amendments:
            return  # earlier writers wrote one for each kind of value with this spec; the repetition is harmless
        if self.header is None or not self.header.minor_version:
            require_spec(spec, self._place(position))
        self.amendments.append(spec)

    def _take_index(self, stored: pb.ShardIndex, position: int, end: int) -> bool:
        index = parse_index(stored, self._place(position))
        own_header = self.header is None or self.header.shard_id == index.shard_id
        if index.data_end == position and own_header:
            self.index, self.index_position = index, position
            return True
        if not own_header and self._lists_what_is_here(index):
            self.refuse(SIGNATURE_END, self._header_end, "the header is another shard's")
            self.header = index.header
            if index.data_end == position:
                self.index, self.index_position = index, position
                return True
        self.refuse(position, end, "the index of a shard that has other records, or has them at other places")
        return False

    def _lists_what_is_here(self, index: ShardIndex) -> bool:
        listed = {key.tobytes() for key in index.episodes.episode_id}
        return bool(listed) and 2 * len(listed & self.episodes.keys()) > len(self.episodes)

    def finish(self, damage: Iterable[SkippedRegion] = ()) -> None:
        """Sorts blocks, and rejects records that belong to no episode of this shard.

        Args:
          damage: bytes that could not be read.
        """
        places = [region.begin for region in chain(damage, self.refused)]
        if self.header is None and self.episodes and SIGNATURE_END not in places:
            self.refuse(SIGNATURE_END, SIGNATURE_END, "the shard's header is missing")
        for episode in sorted(self.episodes.values(), key=lambda each: each.first):
            self._remove_repeated_steps(episode)
            is_unexplained = episode.start is None and self._is_first_fault(episode.first, places)
            if not episode.blocks and (places or self.refused):
                continue  # its steps may have been in the damaged bytes
            if not episode.blocks or (is_unexplained and len(episode.blocks) == 1 and episode.end is None):
                self._refuse_all(episode)
            elif is_unexplained:
                self.refuse(episode.first, episode.first, f"the start of episode {episode.episode_id.hex()} is missing")
        places += [region.begin for region in self.refused]
        for episode in self.episodes.values():
            episode.is_cut = any(place > episode.first for place in places)

    def _is_first_fault(self, position: int, places: Iterable[int]) -> bool:
        """Whether there is no damage before this position that could explain missing records."""
        return all(each > position for each in chain(places, (region.begin for region in self.refused)))

    def _remove_repeated_steps(self, episode: SightedEpisode) -> None:
        """If several blocks have the same steps, keeps the first."""
        blocks, at = list[SightedBlock](), 0
        for block in sorted(
            episode.blocks, key=lambda each: (each.header.first_row, not each.is_intact, each.position)
        ):
            if block.header.first_row < at:
                self.refuse(block.position, block.end, "a block of steps that another block has")
                continue
            blocks.append(block)
            at = block.header.end_row
        episode.blocks = blocks

    def _refuse_all(self, episode: SightedEpisode) -> None:
        """Rejects records of a foreign episode; a start as the last record is valid: the writer stopped there."""
        for position in (episode.start_position, episode.end_position):
            if position and not (position == episode.start_position and position > self._last_position):
                self.refuse(position, self._ends[position], "it belongs to an episode that has no step here")
        for block in episode.blocks:
            self.refuse(block.position, block.end, "a block of an episode that is not in this shard")
        del self.episodes[episode.episode_id]

    def _episode(self, episode_id: bytes) -> SightedEpisode:
        return self.episodes.setdefault(episode_id, SightedEpisode(episode_id))

    def _require_id(self, episode_id: bytes, position: int) -> None:
        if len(episode_id) != ID_BYTES:
            raise self._not_ours(position, f"an episode's id of {len(episode_id)} bytes")

    def _not_ours(self, position: int, what: str) -> DamagedError:
        return DamagedError(f"{self._place(position)}: {what}, which does not belong here; run `rlds-kit repair`")

    def _place(self, position: int) -> object:
        return Place(self._path, position)  # type: ignore[arg-type]  # printed only


def _rows(episode: SightedEpisode) -> int:
    return max((block.header.end_row for block in episode.blocks), default=0)

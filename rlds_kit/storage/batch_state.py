"""What a batch recorder knows: the open episodes of its lanes, and where their rows are. Never changed, only replaced.

A signal handler may flush or close the recorder between any two lines of a call. As the state is one object, the call
notices that it was replaced, and nothing is ever half done.
"""

import functools
import time
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.array_form import add_flags, any_true
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.batch_jobs import EpisodeParts, OpenEpisode, Starts, WrittenBuffer
from rlds_kit.storage.episode_messages import end_message
from rlds_kit.storage.jobs import Jobs
from rlds_kit.storage.row_log import RowLog

_Episodes: TypeAlias = dict[int, OpenEpisode]  # by lane


class Boundary(NamedTuple):
    """Where episodes of some lanes begin or end, since the last blocks.

    They are a linked list, because a tuple would be copied at each; and few objects, because Python's garbage collector
    looks at each that waits to be written. What they mean for each lane is found when blocks are cut.

    Attributes:
      before: the boundary before this one; None: there is none.
      lanes: `[lanes]` bool.
      places: `[lanes]` int64, of the next row of each lane.
      begins: the starts of the episodes that begin; None: episodes end.
      ends: what the last records of the episodes that end have in common; None: episodes begin.
    """

    before: "Boundary | LoggedRows | None"
    lanes: np.ndarray
    places: np.ndarray
    begins: Starts | None
    ends: pb.EpisodeEnd | None

    def apply(self, episodes: _Episodes, parts: EpisodeParts) -> None:
        """Begins or ends episodes, and adds the last parts of those that end."""
        for lane in self.lanes.nonzero()[0].tolist():
            place = int(self.places[lane])
            if self.begins is not None:
                episodes[lane] = OpenEpisode(self.begins.episode_id(lane), self.begins, 0, place)
                continue
            episode = episodes.pop(lane)
            if episode.rows or place > episode.begin:  # those without rows are not recorded
                parts.add(lane, episode, place, self.ends)

    def last_starts(self, left: np.ndarray) -> Iterator[tuple[int, Starts]]:
        """Of the lanes that are left, `[lanes]` bool, those that begin episodes here, and their starts."""
        if self.begins is not None:
            for lane in (self.lanes & left).nonzero()[0].tolist():
                yield lane, self.begins


class LoggedRows(NamedTuple):
    """Where episodes begin and end in the rows of a closed log: in place of many boundaries.

    Attributes:
      before: as in `Boundary`.
      log: of the rows.
    """

    before: "Boundary | LoggedRows | None"
    log: RowLog

    def apply(self, episodes: _Episodes, parts: EpisodeParts) -> None:
        """Begins and ends episodes, and adds the last parts of those that end."""
        log, count, places = self.log, self.log.rows, self.log.begin.tolist()
        for lane in log.first.nonzero()[0].tolist():
            starts = log.starts_at(0)
            episodes[lane] = OpenEpisode(starts.episode_id(lane), starts, 0, places[lane])
        last = -1
        for ended, lane, code in zip(*log.ended_in(), strict=True):
            row = ended + 1  # the next one
            place = places[lane] + row
            parts.add(lane, episodes.pop(lane), place, _ENDS[code])
            if row == count:
                continue
            if row != last:
                starts, last = log.starts_at(row), row
            episodes[lane] = OpenEpisode(starts.episode_id(lane), starts, 0, place)

    def last_starts(self, left: np.ndarray) -> Iterator[tuple[int, Starts]]:
        """Of the lanes that are left, `[lanes]` bool, those that begin episodes here, and their last starts."""
        begins = self.log.begins()
        for lane in (np.any(begins, axis=0) & left).nonzero()[0].tolist():
            yield lane, self.log.starts_at(int(begins[:, lane].nonzero()[0][-1]))


def _in_order(last: Boundary | LoggedRows | None) -> list[Boundary | LoggedRows]:
    """All boundaries up to one, in their order."""
    found: list[Boundary | LoggedRows] = []
    while last is not None:
        found.append(last)
        last = last.before
    return found[::-1]


class BatchState(NamedTuple):
    """The state between two calls.

    Attributes:
      is_open: `[lanes]` bool, which lanes have an open episode.
      places: `[lanes]` int64, rows of each lane in the buffer.
      episodes: those that were open before the first boundary, by lane.
      buffer: None: there are no rows.
      most: an upper bound of `places`.
      nbytes: of the rows in the buffer.
      boundary: the last one since the last blocks; None: there is none.
      oldest: time (`time.monotonic`) of the oldest row, or end, that was not passed on; None: there is none.
      leaving: jobs that may have been passed on.
      log: of later rows, which the other attributes do not count yet; None: there is none.
    """

    is_open: np.ndarray
    places: np.ndarray
    episodes: Mapping[int, OpenEpisode]
    buffer: BatchBuffer | None = None
    most: int = 0
    nbytes: int = 0
    boundary: Boundary | LoggedRows | None = None
    oldest: float | None = None
    leaving: Jobs | None = None
    log: RowLog | None = None

    def with_rows(self, rows: np.ndarray, nbytes: int) -> "BatchState":
        """Returns a state with another row in some lanes, `[lanes]` bool, which has `nbytes` in all of them."""
        oldest = time.monotonic() if self.oldest is None else self.oldest
        return self._replace(
            places=add_flags(self.places, rows), most=self.most + 1, nbytes=self.nbytes + nbytes, oldest=oldest
        )

    def with_log(self, log: RowLog) -> "BatchState":
        """Returns a state with the rows of a closed log."""
        is_open = ~log.due if log.has_boundaries else self.is_open
        boundary = LoggedRows(self.boundary, log) if log.has_boundaries else self.boundary
        most, nbytes = self.most + log.rows, self.nbytes + log.nbytes
        return self._replace(is_open=is_open, places=log.places, boundary=boundary, most=most, nbytes=nbytes, log=None)

    def with_starts(self, lanes: np.ndarray, starts: Starts) -> "BatchState":
        """Returns a state with new episodes in some lanes, `[lanes]` bool, which have none."""
        boundary = Boundary(self.boundary, lanes, self.places, starts, None)
        return self._replace(is_open=self.is_open | lanes, boundary=boundary)

    def with_ends(self, lanes: np.ndarray, end: pb.EpisodeEnd) -> "BatchState":
        """Returns a state in which the episodes of some lanes, `[lanes]` bool, which have one, have ended."""
        boundary = Boundary(self.boundary, lanes, self.places, None, end)
        oldest = time.monotonic() if self.oldest is None else self.oldest
        return self._replace(is_open=self.is_open ^ lanes, boundary=boundary, oldest=oldest)

    def cut(self) -> "BatchState":
        """Returns a state in which all rows and ends are in `leaving`."""
        parts, episodes = self.parts()
        left, places = dict[int, OpenEpisode](), self.places.tolist()
        for lane, episode in sorted(episodes.items()):
            stop = places[lane]
            if stop > episode.begin:
                parts.add(lane, episode, stop, None)
            rows = episode.rows + stop - episode.begin
            left[lane] = OpenEpisode(episode.episode_id, None if rows else episode.starts, rows, 0)
        written = None if self.buffer is None else WrittenBuffer(self.buffer, self.places, self.nbytes, parts.blocks)
        leaving = Jobs(len(parts), parts.jobs(written)) if len(parts) else None
        return BatchState(self.is_open, np.zeros_like(self.places), left, leaving=leaving)

    def open_ids(self) -> list[bytes]:
        """The ids of all open episodes, without those that have ended: in a fraction of the time of `parts`."""
        found, left = list[bytes](), self.is_open.copy()
        one = self.boundary
        while one is not None and any_true(left):
            for lane, starts in one.last_starts(left.copy()):
                found.append(starts.episode_id(lane))
                left[lane] = False
            one = one.before
        return found + [self.episodes[lane].episode_id for lane in left.nonzero()[0].tolist()]

    def parts(self) -> tuple[EpisodeParts, dict[int, OpenEpisode]]:
        """The last parts of the episodes that have ended, and those that are open, by lane."""
        parts, episodes = EpisodeParts(), dict(self.episodes)
        for boundary in _in_order(self.boundary):
            boundary.apply(episodes, parts)
        return parts, episodes


@functools.cache
def end_of(ending: EpisodeEnd, *, terminated: bool, truncated: bool) -> pb.EpisodeEnd:
    """What the ends of all episodes that end in this way have in common; it must not be changed."""
    return end_message(b"", ending, terminated=terminated, truncated=truncated)


_ENDS: Final = (
    None,
    end_of(EpisodeEnd.TERMINATED, terminated=True, truncated=False),
    end_of(EpisodeEnd.TRUNCATED, terminated=False, truncated=True),
    end_of(EpisodeEnd.TERMINATED, terminated=True, truncated=True),
)
"""By their codes in `RowLog.ends`."""

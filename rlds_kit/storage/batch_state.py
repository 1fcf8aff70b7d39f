"""What a batch recorder knows: the open episodes of its lanes, and where their rows are. Never changed, only replaced.

A signal handler may flush or close the recorder between any two lines of a call. As the state is one object, the call
notices that it was replaced, and nothing is ever half done.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.array_form import add_flags, any_true
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.batch_jobs import EpisodeParts, OpenEpisode, Starts, WrittenBuffer
from rlds_kit.storage.jobs import Jobs

Begins = tuple[np.ndarray, Starts]
"""The lanes, `[lanes]` bool, in which episodes begin, and their starts."""
Ends = tuple[np.ndarray, np.ndarray, pb.EpisodeEnd]
"""The lanes, `[lanes]` bool, in which episodes end, the others, and what their last records have in common."""


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

    before: "Boundary | None"
    lanes: np.ndarray
    places: np.ndarray
    begins: Starts | None
    ends: pb.EpisodeEnd | None

    def in_order(self) -> Iterator["Boundary"]:
        """All boundaries up to this one, in their order."""
        found: list[Boundary] = []
        one: Boundary | None = self
        while one is not None:
            found.append(one)
            one = one.before
        found.reverse()
        return iter(found)


class BatchState(NamedTuple):  # made for each row, in a third of the time of a frozen dataclass
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
    """

    is_open: np.ndarray
    places: np.ndarray
    episodes: Mapping[int, OpenEpisode]
    buffer: BatchBuffer | None = None
    most: int = 0
    nbytes: int = 0
    boundary: Boundary | None = None
    oldest: float | None = None
    leaving: Jobs | None = None

    def with_rows(self, rows: np.ndarray, nbytes: int) -> "BatchState":
        """Returns a state with another row in some lanes, `[lanes]` bool, which has `nbytes` in all of them."""
        return self._with(self.is_open, add_flags(self.places, rows), nbytes, self.boundary)

    def with_row(self, every: np.ndarray, nbytes: int, begins: Begins | None, ends: Ends | None) -> "BatchState":
        """Returns a state with another row of all lanes, in which all have an open episode.

        Args:
          every: `[lanes]` bool, all True.
          nbytes: of the row in all lanes.
          begins: the episodes that begin before the row.
          ends: those that end after it.
        """
        is_open, places, boundary = every, add_flags(self.places, every), self.boundary
        if begins is not None:
            lanes, starts = begins
            boundary = _boundary((boundary, lanes, self.places, starts, None))
        if ends is not None:
            lanes, is_open, end = ends
            boundary = _boundary((boundary, lanes, places, None, end))
        return self._with(is_open, places, nbytes, boundary)

    def _with(self, is_open: np.ndarray, places: np.ndarray, nbytes: int, boundary: Boundary | None) -> "BatchState":
        """A state with another row."""
        oldest = time.monotonic() if self.oldest is None else self.oldest
        most, nbytes = self.most + 1, self.nbytes + nbytes
        return _state((is_open, places, self.episodes, self.buffer, most, nbytes, boundary, oldest, self.leaving))

    def with_starts(self, lanes: np.ndarray, starts: Starts) -> "BatchState":
        """Returns a state with new episodes in some lanes, `[lanes]` bool, which have none."""
        boundary = Boundary(self.boundary, lanes, self.places, starts, None)
        return self._changed(self.is_open | lanes, boundary, self.oldest)

    def with_ends(self, lanes: np.ndarray, end: pb.EpisodeEnd) -> "BatchState":
        """Returns a state in which the episodes of some lanes, `[lanes]` bool, which have one, have ended."""
        boundary = Boundary(self.boundary, lanes, self.places, None, end)
        oldest = time.monotonic() if self.oldest is None else self.oldest
        return self._changed(self.is_open ^ lanes, boundary, oldest)

    def _changed(self, is_open: np.ndarray, boundary: Boundary, oldest: float | None) -> "BatchState":
        """A state with another boundary."""
        places, episodes, buffer = self.places, self.episodes, self.buffer
        return _state((is_open, places, episodes, buffer, self.most, self.nbytes, boundary, oldest, self.leaving))

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
            if one.begins is not None:
                found += map(one.begins.episode_id, (one.lanes & left).nonzero()[0].tolist())
                left &= ~one.lanes
            one = one.before
        return found + [self.episodes[lane].episode_id for lane in left.nonzero()[0].tolist()]

    def parts(self) -> tuple[EpisodeParts, dict[int, OpenEpisode]]:
        """The last parts of the episodes that have ended, and those that are open, by lane."""
        parts, episodes = EpisodeParts(), dict(self.episodes)
        for boundary in () if self.boundary is None else self.boundary.in_order():
            places = boundary.places
            for lane in boundary.lanes.nonzero()[0].tolist():
                place = int(places[lane])
                if boundary.begins is not None:
                    starts = boundary.begins
                    episodes[lane] = OpenEpisode(starts.episode_id(lane), starts, 0, place)
                    continue
                episode = episodes.pop(lane)
                if episode.rows or place > episode.begin:  # those without rows are not recorded
                    parts.add(lane, episode, place, boundary.ends)
        return parts, episodes


_boundary: Final[Callable[[tuple[Any, ...]], Boundary]] = partial(tuple.__new__, Boundary)
_state: Final[Callable[[tuple[Any, ...]], BatchState]] = partial(tuple.__new__, BatchState)
"""Both make one of all of its values; calls of Python, as in `Boundary()`, would take longer than all else of a row."""

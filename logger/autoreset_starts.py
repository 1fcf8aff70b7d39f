"""The first records of episodes that autoresets begin: those of an environment differ in a few numbers only."""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import UnsupportedTypeError
from rlds_kit.base.reset_chain import RESET_CHAIN
from rlds_kit.logger.reset_counter import ResetCounters, ResetCounts, position_of
from rlds_kit.logger.vector_result import start_provenance
from rlds_kit.spec import value
from rlds_kit.storage.episode_messages import new_id, start_message
from rlds_kit.storage.row_log import RowLog


class LaterStarts(NamedTuple):
    """The starts of episodes that one step begins; their records are made when they are written.

    Attributes:
      fill: makes the first record of the episode of a lane with an id; it may be changed at the next call. Not
        thread-safe.
      ids: of the episodes, by lane, as far as they were needed.
    """

    fill: Callable[[int, bytes], pb.EpisodeStart]
    ids: dict[int, bytes]

    def episode_id(self, lane: int) -> bytes:
        """The id of the episode of a lane."""
        return self.ids.setdefault(lane, new_id())  # one call: a signal handler may need the id too

    def message(self, lane: int, episode_id: bytes) -> pb.EpisodeStart:
        """The first record of the episode of a lane. Not thread-safe."""
        start = pb.EpisodeStart()
        start.CopyFrom(self.fill(lane, episode_id))
        return start

    def serialized(self, lane: int, episode_id: bytes) -> bytes:
        """The bytes of `message`."""
        return self.fill(lane, episode_id).SerializeToString()


class LoggedStarts:
    """The starts of episodes that begin with rows of a log.

    Args:
      log: of the rows.
      chains: of the resets of all environments.
      counts: of resets before the first row.
      steps: that any of the environments had made before it.
    """

    def __init__(self, log: RowLog, chains: "_Chains", counts: ResetCounts, steps: int) -> None:
        self._log, self._chains, self._counts, self._steps = log, chains, counts, steps
        self._seeded, self._others = counts.seeded.tolist(), counts.others.tolist()  # read in less time than arrays
        self._replaced: dict[tuple[int, int], int] | None = None
        self._made = dict[int, LaterStarts]()

    def at(self, row: int) -> LaterStarts:
        """Of those that begin with a row; the same object at each call. The log is closed."""
        # The last call is one of C: a signal handler may need the same ids.
        return self._made.get(row) or self._made.setdefault(row, LaterStarts(partial(self._fill, row), {}))

    def _fill(self, row: int, lane: int, episode_id: bytes) -> pb.EpisodeStart:
        if self._replaced is None:
            self._replaced = self._replaced_with()
        others = self._others[0][lane], self._others[1][lane]
        position = position_of(self._seeded[lane], self._replaced[row, lane], others, self._steps + row + 1)
        return self._chains.fill(lane, episode_id, int(self._log.times[row]), position)

    def _replaced_with(self) -> dict[tuple[int, int], int]:
        """By row and environment of each episode that begins, the resets until then that took the place of a step."""
        counts = (self._counts.replaced + self._log.first).tolist()
        found = {(0, lane): count for lane, count in enumerate(counts)}
        for row, lane, _ in zip(*self._log.ended_in(), strict=True):
            counts[lane] += 1
            found[row + 1, lane] = counts[lane]
        return found


class AutoresetStarts:
    """Makes the starts of episodes that autoresets begin; their common part is encoded once for each chain of resets.

    Args:
      resets: of the environments.

    Attributes:
      failed: the errors of environments, by number, whose seeds cannot be recorded, among those of the last `starts`.

    >>> resets = ResetCounters(2)
    >>> resets.reset(1, 7)
    >>> later = AutoresetStarts(resets).starts(np.array([False, True]))
    >>> value.decode(later.message(1, later.episode_id(1)).provenance)["reset_chain"]["seed"]
    7
    """

    def __init__(self, resets: ResetCounters) -> None:
        self._resets = resets
        self._chains = _Chains(resets.copy(), {})
        self.failed = dict[int, UnsupportedTypeError]()

    def starts(self, lanes: np.ndarray) -> LaterStarts:
        """The starts of episodes of some environments, `[environments]` bool, that begin now, but for `failed` ones."""
        self.failed = {lane: error for lane, error in self._current().failed.items() if lanes[lane]}
        chains, counts, steps, now = self._chains, self._resets.counts, self._resets.steps, time.time_ns()

        def fill(lane: int, episode_id: bytes) -> pb.EpisodeStart:
            return chains.fill(lane, episode_id, now, counts.position(lane, steps))

        return LaterStarts(fill, {})

    def are_ready(self) -> bool:
        """Whether episodes of all environments can begin with rows of a log."""
        return not self._current().failed

    def of_log(self, log: RowLog) -> LoggedStarts:
        """The starts of episodes that begin with rows of a log, whose first row is the next step."""
        return LoggedStarts(log, self._chains, self._resets.counts, self._resets.steps)

    def _current(self) -> "_Chains":
        """The chains since the last seeds."""
        if self._chains.seeded is not self._resets.counts.seeded:
            self._chains = _Chains(self._resets.copy(), self._chains.still_valid(self._resets.counts.seeded))
        return self._chains


class _Chains:
    """The chains of resets of all environments, between two resets with seeds; encoded when they are first needed.

    Args:
      resets: of the environments; a copy, as it was.
      made: those that were encoded before.

    Attributes:
      seeded: as in `ResetCounts`.
      failed: the errors of environments, by number, whose seeds cannot be recorded.
    """

    def __init__(self, resets: ResetCounters, made: "dict[int, _Chain]") -> None:
        self.seeded, self.failed = resets.counts.seeded, dict[int, UnsupportedTypeError]()
        self._resets, self._made = resets, made
        for lane in resets.odd_seeds():
            try:
                self.of(lane)
            except UnsupportedTypeError as error:
                self.failed[lane] = error

    def of(self, lane: int) -> "_Chain":
        """The chain of an environment. Called by the writer thread, or by `__init__`."""
        found = self._made.get(lane)
        if found is None:
            start = start_message(provenance=start_provenance(self._resets, lane, autoreset=True))
            found = self._made[lane] = _Chain(start, *_numbers(start))
        return found

    def fill(
        self, lane: int, episode_id: bytes, started_unix_ns: int, position: tuple[int, int, int] | None
    ) -> pb.EpisodeStart:
        """The first record of an episode, from its `ResetCounts.position`; changed at the next call for its lane."""
        chain = self.of(lane)
        chain.start.episode_id, chain.start.started_unix_ns = episode_id, started_unix_ns
        if position is not None:
            _, chain.resets.integer, chain.steps.integer = position
        return chain.start

    def still_valid(self, seeded: np.ndarray) -> "dict[int, _Chain]":
        """Those of environments that have had no other seed."""
        same = (self.seeded == seeded).tolist()
        return {lane: chain for lane, chain in self._made.copy().items() if same[lane]}


class _Chain(NamedTuple):
    """The resets of an environment since its last seed.

    Attributes:
      start: of the latest episode whose record was made; others get copies.
      resets: the number of resets in it; undefined without a seed.
      steps: likewise.
    """

    start: pb.EpisodeStart
    resets: pb.Value
    steps: pb.Value


def _numbers(start: pb.EpisodeStart) -> tuple[pb.Value, pb.Value]:
    """The numbers of resets and steps in the chain of a start, to be changed there."""
    chain = _item(start.provenance.dict, RESET_CHAIN)
    return _item(chain.dict, "resets"), _item(chain.dict, "steps")


def _item(entries: pb.Entries, name: str) -> pb.Value:
    """The value of a name; another one if there is none."""
    key = value.encode_text(name)
    return next((item for each, item in zip(entries.key, entries.value, strict=True) if each.text == key), pb.Value())

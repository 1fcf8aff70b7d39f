"""Counts of a session, step by step while it is played, equal to those of its recording."""

import logging
import pickle
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.base.step import OBSERVATION
from rlds_kit.crowd.collectors.collector import READS, Collector
from rlds_kit.crowd.collectors.moment import Moment
from rlds_kit.crowd.collectors.people import PLAY, of_person
from rlds_kit.logger.value_copy import copy_value

log = logging.getLogger(__name__)
CONSOLE: Final = (128,)
"""The shape of a console's memory."""


def can_travel(collector: Collector) -> bool:
    """Whether the counts of a collector can be pickled, so that they can go on in another process.

    >>> from rlds_kit.crowd.collectors import SCORE
    >>> can_travel(SCORE), can_travel(Collector("one", "One", lambda: lambda moment: 1.0))
    (True, False)
    """
    try:
        pickle.dumps(collector.begin())
    except Exception:  # noqa: BLE001  pickle raises what it likes
        return False
    return True


class LiveCounts:
    """Counts what people do in the seats of a session; a `StepCounter` of `rlds_kit.trials.workers`.

    A collector that raises ends the counting: the error is logged, and from then on there are no values.

    Args:
      collectors: by seat; their counts can be pickled, see `can_travel`.
      fps: steps in a second.

    Attributes:
      values: by seat, what is counted so far, by name of the collector.

    >>> from rlds_kit.crowd.collectors import SCORE
    >>> counts = LiveCounts({"player": [SCORE]}, 60.0)
    >>> counts.begin({"observation": 0})
    >>> counts.count({"action": 1, "reward": 2.0}, {"observation": 1})
    {'player': {'score': 2.0}}
    """

    def __init__(self, collectors: Mapping[str, Sequence[Collector]], fps: float) -> None:
        self._counts = {seat: {each.name: each.begin() for each in listed} for seat, listed in collectors.items()}
        self.values = {seat: dict.fromkeys(counts, 0.0) for seat, counts in self._counts.items()}
        reads = [each.reads for listed in collectors.values() for each in listed]
        self._reads = None if None in reads else frozenset((*READS, PLAY)).union(*(each or () for each in reads))
        self._fps, self._index = fps, 0
        self._before: dict[str, Any] = {}

    def add(self, seat: str, moments: Iterable[Moment]) -> None:
        """Counts moments of a seat that were recorded before."""
        for each in moments:
            if self._counts:
                self._add(seat, each)

    def _add(self, seat: str, moment: Moment) -> None:
        try:
            self.values[seat] = {name: count(moment) for name, count in self._counts[seat].items()}
        except Exception:  # a collector may be anybody's
            log.exception("nothing is counted any more: a collector raised")
            self._counts, self.values = {}, {}

    def begin(self, observed: Mapping[str, Any]) -> None:
        """Begins an episode; see `StepCounter`."""
        self._index, self._before = 0, self._kept(observed)

    def count(self, acted: Mapping[str, Any], observed: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]]:
        """Counts a step; see `StepCounter`."""
        before, self._before = {**self._before, **acted}, self._kept(observed)
        index, self._index = self._index, self._index + 1
        for seat in list(self._counts):
            found = of_person(index, before, self._before, seat, self._fps)
            if found is not None and self._counts:
                self._add(seat, found)
        return self.values

    def _kept(self, observed: Mapping[str, Any]) -> dict[str, Any]:
        """Copies of the fields that collectors read; of observations only a console's memory, unless they read all."""
        return {
            name: copy_value(value)
            for name, value in observed.items()
            if self._reads is None or name in self._reads or (name == OBSERVATION and np.shape(value) == CONSOLE)
        }

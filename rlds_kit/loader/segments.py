"""Segments: consecutive steps without a gap. No sample spans two of them."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import STEP_INDEX
from rlds_kit.loader.source import Source
from rlds_kit.storage.ahead import fetch_ahead
from rlds_kit.storage.episode_reader import fields


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Steps `[begin, end)` of an episode, for each segment.

    Attributes:
      episode: `[segments]` int64.
      begin: `[segments]` int64, the first step.
      end: `[segments]` int64, one past the last.
      base: `[segments]` int64, the number among all steps of the episode's first.
      rows: `[segments]` int64, steps of the whole episode.
      is_ended: `[segments]` bool, whether the episode is no longer being recorded.
      is_terminated: `[segments]` bool, whether the episode ended in a terminal state.
      is_cut: `[segments]` bool, whether damaged bytes may contain the episode's end.
    """

    episode: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    base: np.ndarray
    rows: np.ndarray
    is_ended: np.ndarray
    is_terminated: np.ndarray
    is_cut: np.ndarray

    def __getitem__(self, numbers: np.ndarray) -> Self:
        """The segments of these numbers."""
        return type(self)(*(getattr(self, name)[numbers] for name in self.__slots__))

    @property
    def lengths(self) -> np.ndarray:
        """The number of steps in each segment, `[segments]` int64."""
        steps: np.ndarray = self.end - self.begin
        return steps


def segments(source: Source) -> Segments:
    """The segments of all episodes, in order.

    Raises:
      DamagedError: the numbers of the steps are damaged.
    """
    is_terminated = source.entries.column("ending") == pb.TERMINATED
    is_cut = source.entries.column("is_cut", np.bool_)
    if STEP_INDEX not in source.spec.fields:
        rows, count = source.lengths, len(source.entries)
        begin = np.zeros(count, np.int64)
        return Segments(np.arange(count), begin, rows, source.bases, rows, source.ended, is_terminated, is_cut)
    episode, begin, end = _cut_at_gaps(source)
    return Segments(
        episode,
        begin,
        end,
        base=source.bases[episode],
        rows=source.lengths[episode],
        is_ended=source.ended[episode],
        is_terminated=is_terminated[episode],
        is_cut=is_cut[episode],
    )


def _cut_at_gaps(source: Source) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    parts = [np.empty((3, 0), np.int64)]
    fetch_ahead(
        ((source.reader(number), 0, length) for number, length in enumerate(source.lengths.tolist())),
        fields((STEP_INDEX,)),
    )
    for number, length in enumerate(source.lengths.tolist()):
        stack = source.reader(number).stacks(0, length, fields((STEP_INDEX,))).get(STEP_INDEX)
        bounds = np.concatenate([[0], [] if stack is None else _after_gaps(*stack.result()), [length]]).astype(np.int64)
        parts.append(np.stack([np.full(len(bounds) - 1, number), bounds[:-1], bounds[1:]]))
    episode, begin, end = np.concatenate(parts, axis=1)
    return episode, begin, end


def _after_gaps(indices: np.ndarray, has_index: np.ndarray) -> np.ndarray:
    """The steps before which steps were left out."""
    # A last step whose observation is missing has no number either: there is no gap before it.
    return np.flatnonzero((np.diff(indices) != 1) & has_index[1:]) + 1

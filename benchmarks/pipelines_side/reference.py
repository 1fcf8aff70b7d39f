"""What must come out, computed from the input itself; and how well a stream has mixed it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from pipelines_side import fields
from pipelines_side.arrays import Arrays, rows_of, undefined
from pipelines_side.inputs import once
from pipelines_side.player import Batch, digests

CLOSE: Final = 1e-4
"""Statistics may differ by so much: sums of floats depend on their order, and one divides by n - 1."""
_CHUNK: Final = 256


@dataclass(frozen=True)
class Reference:
    """All transitions or windows of an input, in the order of the recording.

    Attributes:
      digests: `[n]` uint64.
      episodes: `[n]`, the number of the episode of each.
    """

    digests: np.ndarray
    episodes: np.ndarray

    def of_first(self, episodes: int) -> "Reference":
        """Those of the first episodes only."""
        count = int(np.searchsorted(self.episodes, episodes))
        return Reference(self.digests[:count], self.episodes[:count])


@dataclass(frozen=True)
class Mixing:
    """How far a stream is from an exact permutation, for which both numbers are 1.

    Attributes:
      travel: how far transitions are from where they were in the recording, on average; in its order it is 0.
      spread: how many episodes have a part in a batch, on average.
    """

    travel: float
    spread: float


def transitions(folder: Path) -> Reference:
    """Those of the input in `folder`; kept there."""
    arrays = Arrays(folder / "arrays")

    def element(rows: np.ndarray) -> Batch:
        here, there = ({name: arrays[name][at] for name in fields.STEP} for at in (rows, rows + 1))
        return fields.transition(here, there)

    return _reference(folder / "transitions.digests", arrays, arrays.starts(2), element)


def windows(folder: Path) -> Reference:
    """Those of the input in `folder`; kept there."""
    arrays = Arrays(folder / "arrays")

    def element(rows: np.ndarray) -> Batch:
        return {name: arrays[name][rows[:, None] + np.arange(fields.WINDOW)] for name in fields.STEP}

    return _reference(folder / "windows.digests", arrays, arrays.starts(fields.WINDOW), element)


def same_elements(found: np.ndarray, reference: Reference, *, sample: bool) -> str:
    """Whether a stream delivered the right elements, in whatever order: "all equal", or what is wrong.

    Args:
      found: digests of what was delivered.
      reference: what is right.
      sample: whether it is enough that each of `found` is among them.
    """
    if sample:
        wrong = np.count_nonzero(~np.isin(found, reference.digests))
        return f"{wrong:,} of {len(found):,} differ" if wrong else f"{len(found):,} compared, all equal"
    if len(found) != len(reference.digests):
        return f"{len(found):,}, expected {len(reference.digests):,}"
    wrong = np.count_nonzero(np.sort(found) != np.sort(reference.digests))
    return f"{wrong:,} of {len(found):,} differ" if wrong else "all equal"


def same_statistics(found: dict[str, np.ndarray], folder: Path) -> str:
    """Whether `observation_mean`, `reward_std` and so on are those of the episodes in memory."""
    arrays = Arrays(folder / "arrays")
    rows = rows_of(arrays, arrays.prefix(fields.MEMORY_BYTES))
    wrong = []
    for name, value in found.items():
        field, _, what = name.rpartition("_")
        defined = rows[field][~rows["is_last"]] if undefined(field) else rows[field]
        if not np.allclose(value[0], getattr(defined.astype(np.float64), what)(axis=0), rtol=CLOSE, atol=CLOSE):
            wrong.append(name)
    return f"{', '.join(wrong)} differ" if wrong else f"all {len(found)} equal to {CLOSE:g}"


def mixing(found: np.ndarray, reference: Reference) -> Mixing:
    """Of digests in the order of delivery. What the input has more than once cannot be located and does not count."""
    values, first, counts = np.unique(reference.digests, return_index=True, return_counts=True)
    at = np.searchsorted(values, found).clip(max=len(values) - 1)
    place = np.where(counts[at] == 1, first[at], -1)
    rank = np.arange(len(found))
    travel = np.abs(rank - place)[place >= 0].mean() / (len(found) / 3)  # a third: uniform rank and uniform place
    order = np.random.default_rng(0).permutation(len(reference.episodes))
    spread = _episodes_in_a_batch(reference.episodes[first[at]]) / _episodes_in_a_batch(reference.episodes[order])
    return Mixing(float(travel), float(spread))


def _episodes_in_a_batch(episodes: np.ndarray) -> float:
    whole = episodes[: len(episodes) // fields.BATCH * fields.BATCH].reshape(-1, fields.BATCH)
    return float(np.mean([len(np.unique(batch)) for batch in whole]))


def _reference(path: Path, arrays: Arrays, starts: np.ndarray, element: Callable[[np.ndarray], Batch]) -> Reference:
    def write(partial: Path) -> None:
        partial.mkdir()
        chunks = np.array_split(starts, len(starts) // _CHUNK + 1)
        np.save(partial / "digests.npy", np.concatenate([digests(element(rows)) for rows in chunks]))

    return Reference(np.load(once(path, write) / "digests.npy"), arrays.episode_of(starts))

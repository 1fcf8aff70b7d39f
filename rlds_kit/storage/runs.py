"""The filter XOR_RUNS: rows as runs of bytes that differ from the previous row (`docs/format.md`, "XOR_RUNS").

Changes in frames of a game are adjacent: a sprite is a few dozen bytes in each of its lines. Begin and length of each
run take fewer bytes than a bitmap of the whole frame, and a reader skips the bytes in between.
"""

from typing import Final

import numpy as np

from rlds_kit.storage.native import native
from rlds_kit.storage.rows import Part, Rows, Stored, array_bytes, in_whole
from rlds_kit.storage.running_hash import RunningHash, encoded_and_hashed
from rlds_kit.storage.xor import unxor, xor

WIDE: Final = 32
"""Minimum bytes of a row. For rows below 20 bytes the result may exceed the limit of readers, twice the size."""
_APART: Final = 2
"""Number of equal bytes that end a run: fewer do not take more bytes in the run than a new pair."""
_MOST: Final = (1 << 16) - 1
"""Maximum of a gap and of a length."""


def runs(rows: Rows, running: RunningHash | None = None) -> Stored:
    """`xor`, then how many pairs each row has, the pairs of gaps and lengths of runs, and the bytes of all runs.

    Rows are also added to a running hash, if one is given.

    >>> runs(np.array([[1, 2, 3], [1, 2, 7]], np.uint8)).tolist()
    [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 2, 0, 1, 0, 1, 2, 3, 4]
    """
    return encoded_and_hashed(getattr(native, "runs", None), runs_twin, rows, running)


def runs_twin(rows: Rows) -> Stored:
    """`runs` in NumPy."""
    differences = xor(rows)
    row, at = np.nonzero(differences)
    is_begin = np.ones(len(row), np.bool_)
    is_begin[1:] = (np.diff(row) > 0) | (np.diff(at) > _APART)
    is_end = np.append(is_begin[1:], True)[: len(at)]
    row, begin, end = row[is_begin], at[is_begin], at[is_end] + 1
    before = np.where(np.diff(row, prepend=-1) > 0, 0, np.roll(end, 1))
    run, pairs = _pairs(begin - before, end - begin)
    counts = np.bincount(row[run], minlength=len(rows)).astype("<u4")
    values = differences.reshape(-1)[_places(row * rows.shape[1] + begin, end - begin)]
    return np.concatenate((counts.view(np.uint8), pairs.astype("<u2").reshape(-1).view(np.uint8), values))


def unruns(stored: Stored, out: Rows, part: Part | None = None) -> None:
    """The inverse of `runs`; for a part of the rows, if one is given.

    Raises:
      ValueError: the bytes are not the encoding of such rows.
    """
    part = part or Part(len(out))
    if native is not None and out.flags.c_contiguous and out.size:
        native.unruns(stored, out, len(out), *part, array_bytes(out))
    else:
        in_whole(unruns_twin, stored, out, part)


def unruns_twin(stored: Stored, out: Rows) -> None:
    """`unruns` in NumPy."""
    (count, width), message = out.shape, "runs and their bytes do not fit together"
    if stored.size < 4 * count:
        raise ValueError(message)
    counts = stored[: 4 * count].view("<u4").astype(np.int64)
    total = int(counts.sum())
    if stored.size < 4 * (count + total):
        raise ValueError(message)
    gaps, lengths = stored[4 * count : 4 * (count + total)].view("<u2").astype(np.int64).reshape(-1, 2).T
    values, row = stored[4 * (count + total) :], np.repeat(np.arange(count), counts)
    ends = np.append(0, np.cumsum(gaps + lengths))
    ends = ends[1:] - ends[np.cumsum(counts) - counts][row]
    if ends.max(initial=0) > width or lengths.sum() != len(values):
        raise ValueError(message)
    differences = np.zeros_like(out, order="C")
    differences.reshape(-1)[_places(row * width + ends - lengths, lengths)] = values
    unxor(differences, out)


def _pairs(gaps: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The run of each pair, `[m]`, and the pairs: gaps and lengths of 16 bits, `[m, 2]`."""
    # A run consists of pairs that only skip a part of a long gap, then the parts of the run, numbered from 0.
    skips, parts = np.maximum(gaps - 1, 0) // _MOST, (lengths - 1) // _MOST + 1
    run = np.repeat(np.arange(len(gaps)), skips + parts)
    number = np.arange(len(run)) - (np.cumsum(skips + parts) - skips - parts)[run] - skips[run]
    gap = np.where(number < 0, _MOST, np.where(number == 0, (gaps - skips * _MOST)[run], 0))
    length = np.where(number < 0, 0, np.minimum(lengths[run] - number * _MOST, _MOST))
    return run, np.stack((gap, length), axis=1)


def _places(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The indices of all bytes of stretches."""
    shifts = begins - (np.cumsum(lengths) - lengths)
    places: np.ndarray = np.repeat(shifts, lengths) + np.arange(lengths.sum())
    return places

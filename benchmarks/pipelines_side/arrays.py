"""The steps of an input as NumPy files, for all who write, check and play them. Needs NumPy only."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


class Arrays:
    """All episodes of an input, one after the other.

    Attributes:
      fields: name to `[n, ...]`; not in memory before it is read.
      begins, ends: `[episodes]`, the rows of each episode; it has one action fewer than rows.
    """

    def __init__(self, folder: Path) -> None:
        # A memmap would turn every row into another memmap; a plain array on top of it does not.
        self.fields = {path.stem: np.asarray(np.load(path, mmap_mode="r")) for path in sorted(folder.glob("*.npy"))}
        lengths = json.loads((folder / "lengths.json").read_text())
        self.ends = np.cumsum(lengths)
        self.begins = self.ends - lengths

    def __getitem__(self, field: str) -> np.ndarray:
        return self.fields[field]

    def __len__(self) -> int:
        return int(self.ends[-1])

    def episodes(self) -> Iterator[dict[str, np.ndarray]]:
        """Each as a dict of arrays `[length, ...]`."""
        for begin, end in zip(self.begins, self.ends, strict=True):
            yield {name: field[begin:end] for name, field in self.fields.items()}

    def starts(self, length: int) -> np.ndarray:
        """Every row at which `length` consecutive rows of one episode begin, in order."""
        return np.concatenate([np.arange(a, b - length + 1) for a, b in zip(self.begins, self.ends, strict=True)])

    def episode_of(self, rows: np.ndarray) -> np.ndarray:
        """The number of the episode that each row belongs to."""
        return np.searchsorted(self.ends, rows, side="right")

    def prefix(self, size: int) -> int:
        """How many whole episodes, one at least, take at most `size` bytes."""
        row_bytes = sum(field[0].nbytes for field in self.fields.values())
        return max(1, int(np.searchsorted(self.ends * row_bytes, size, side="right")))


def undefined(field: str) -> bool:
    """Whether a field of the last step of an episode means nothing."""
    return field in ("action", "reward", "discount")


def rows_of(arrays: Arrays, episodes: int) -> dict[str, Any]:
    """The fields of the first episodes, in memory."""
    end = arrays.ends[episodes - 1]
    return {name: np.array(field[:end]) for name, field in arrays.fields.items()}

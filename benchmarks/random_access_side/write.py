"""Writes the arrays of an input as a table of Lance and as a file of Minari's layout; runs in Lance's environment."""

import sys
from pathlib import Path
from typing import Final

import h5py
import lance
import numpy as np
import pyarrow as pa

LENGTH: Final = 8
_LARGE: Final = 4096
"""Bytes of a row above which Lance is faster with binary values than with lists of numbers."""
_ROWS: Final = 1000
"""Rows of a batch of the table."""


def write(folder: Path) -> None:
    """Adds `lance`, `minari.hdf5` and `starts.npy`, the first steps of all windows, to a folder with arrays."""
    names = ("observation", "action", "reward", "is_last")
    arrays = {name: np.load(folder / "arrays" / f"{name}.npy", mmap_mode="r") for name in names}
    ends = np.flatnonzero(arrays["is_last"]) + 1
    begins = np.concatenate([[0], ends[:-1]])
    starts = [np.arange(begin, end - LENGTH + 1) for begin, end in zip(begins, ends, strict=True)]
    np.save(folder / "starts.npy", np.concatenate(starts))
    rows = len(arrays["reward"])
    schema = pa.schema([pa.field(name, _type(each)) for name, each in arrays.items()])
    batches = (
        pa.record_batch([_column(each[at : at + _ROWS]) for each in arrays.values()], schema=schema)
        for at in range(0, rows, _ROWS)
    )
    lance.write_dataset(pa.RecordBatchReader.from_batches(schema, batches), str(folder / "lance"))
    with h5py.File(folder / "minari.hdf5", "w") as file:
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            group = file.create_group(f"episode_{number}")
            group["observations"] = arrays["observation"][begin:end]
            group["actions"] = arrays["action"][begin : end - 1]
            group["rewards"] = arrays["reward"][begin : end - 1]


def _type(array: np.ndarray) -> pa.DataType:
    if array[0].nbytes > _LARGE:
        return pa.large_binary()
    kind = pa.from_numpy_dtype(array.dtype)
    return kind if array.ndim == 1 else pa.list_(kind, int(np.prod(array.shape[1:])))


def _column(rows: np.ndarray) -> pa.Array:
    if rows[0].nbytes > _LARGE:
        return pa.array([row.tobytes() for row in rows], pa.large_binary())
    values = pa.array(np.ascontiguousarray(rows).reshape(-1))
    return values if rows.ndim == 1 else pa.FixedSizeListArray.from_arrays(values, int(np.prod(rows.shape[1:])))


if __name__ == "__main__":
    write(Path(sys.argv[1]))

"""Columns as tables of Lance, in its own environment: a table a column, since Lance has no blocks to encode alone."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import lance
import numpy as np
import pyarrow as pa

from floats_side.codec import LEAST

OPTIONS: Final = {
    "Lance": {},
    "Lance, zstd": {"lance-encoding:compression": "zstd"},
    "Lance, byte planes, zstd": {"lance-encoding:compression": "zstd", "lance-encoding:bss": "on"},
}
"""The metadata of a field: the encoding that Lance is to use."""


def measure(column: np.ndarray) -> Iterator[tuple[str, dict[str, float]]]:
    """Bytes of a value, and MB that are written and read in a second of CPU time, files and all."""
    flat = np.ascontiguousarray(column.reshape(len(column), -1))
    for name, options in OPTIONS.items():
        table = _table(flat, options)
        with tempfile.TemporaryDirectory() as folder:
            writing, reading, count, begin = 0.0, 0.0, 0, time.process_time()
            while time.process_time() - begin < 2 * LEAST or not count:
                path, at = f"{folder}/{count}", time.process_time()
                lance.write_dataset(table, path)
                between = time.process_time()
                back = lance.dataset(path).to_table()
                writing, reading, count = writing + between - at, reading + time.process_time() - between, count + 1
            if not back.equals(table):
                raise RuntimeError(f"{name}: the numbers did not come back")
            size = sum(each.stat().st_size for each in Path(folder, "0").rglob("*.lance"))
        megabytes = flat.nbytes * count / 1e6
        yield name, {"bytes": size / flat.size, "encode": megabytes / writing, "decode": megabytes / reading}


def _table(flat: np.ndarray, options: dict[str, str]) -> pa.Table:
    numbers, kind = pa.array(flat.reshape(-1)), pa.from_numpy_dtype(flat.dtype)
    if flat.shape[1] > 1:
        numbers, kind = pa.FixedSizeListArray.from_arrays(numbers, flat.shape[1]), pa.list_(kind, flat.shape[1])
    return pa.table([numbers], schema=pa.schema([pa.field("x", kind, nullable=False, metadata=options)]))

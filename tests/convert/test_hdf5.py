"""Values of HDF5 are read in fewer calls than h5py's objects need, and are the same."""

from pathlib import Path

import h5py
import numpy as np

from rlds_kit.convert import hdf5

DTYPES = ["?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", ">i4", ">f8", "<f2", "<f4", "<f8", "S3"]


def test_values_and_dtypes_are_those_of_h5py(tmp_path: Path) -> None:
    """Of datasets and attributes, in any order, also of more types than are remembered."""
    enum = h5py.enum_dtype({"NO": 0, "YES": 1}, "i1")
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        for number, dtype in enumerate([*DTYPES, enum] * 2):
            values = np.arange(6).reshape(2, 3).astype(np.int8 if dtype is enum else dtype)
            file.create_dataset(f"data/{number}", data=values, dtype=dtype)
            file["data"].attrs.create(f"scalar {number}", values[1, 0], dtype=dtype)
            file["data"].attrs.create(f"array {number}", values, dtype=dtype)
        file["data"].attrs["text"] = "é"
    with hdf5.opened(tmp_path / "a.hdf5") as file:
        group = file["data"]
        for name, stored in group.items():
            found = hdf5.column(group, name, "a.hdf5")
            assert (found.dtype, found.shape) == (stored.dtype, stored.shape)
            np.testing.assert_array_equal(found, stored[()])
        attributes = hdf5.attributes(group)
        assert [*attributes] == [*group.attrs]
        for name, value in attributes.items():
            expected = group.attrs[name]
            assert type(value) is type(expected)
            assert getattr(value, "dtype", None) == getattr(expected, "dtype", None)
            np.testing.assert_array_equal(value, expected)

"""TFRecord files written by TensorFlow, whole, damaged and cut off."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from rlds_kit.base.errors import DamagedError
from rlds_kit.convert.tfds.tf_record import records

RECORDS = [b"", b"a", bytes(1_000), np.random.default_rng(0).bytes(1_200_000), b"last"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that TensorFlow wrote."""
    path = tmp_path / "x.tfrecord-00000-of-00001"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in RECORDS:
            writer.write(record)
    return path


def test_reads_what_tensorflow_writes(path: Path) -> None:
    """Empty records, short ones and long ones, in order."""
    assert list(records(path)) == RECORDS


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    """A writer that was given nothing leaves no bytes."""
    (tmp_path / "empty").touch()
    assert list(records(tmp_path / "empty")) == []


@pytest.mark.parametrize("position", [0, 7, 8, 11, 12, 15, 16, 28, 29, 40, 1_020, 600_000, -1, -5])
def test_a_changed_bit_is_found(path: Path, position: int) -> None:
    """Wherever it is, in a length, in data or in a checksum; the records before it are good."""
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)
    read: list[bytes] = []
    with pytest.raises(DamagedError, match=rf"{path.name}: .*byte \d+"):
        read.extend(records(path))
    assert read == RECORDS[: len(read)]


def test_damaged_data_have_a_place(path: Path) -> None:
    """The error says which bytes of the file cannot be trusted."""
    data = bytearray(path.read_bytes())
    begin = (12 + 4) + (12 + 1 + 4)
    data[begin + 12 + 500] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=f"the record at byte {begin} does not match") as caught:
        list(records(path))
    assert (caught.value.begin, caught.value.end) == (begin + 12, begin + 12 + 1_000)


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 8, 15, 19, 100, 1_000_000])
def test_a_cut_file_is_found(path: Path, cut: int) -> None:
    """A file that ends inside a record is not taken for a shorter one."""
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DamagedError, match=rf"{path.name}: the file ends at byte \d+, inside the record"):
        list(records(path))

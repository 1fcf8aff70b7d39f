"""`tf.train.Example` messages written by TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.tfds.tf_example import Example

INT64 = st.integers(-(2**63), 2**63 - 1)


def message(**features: object) -> bytes:
    """An Example; the kind of each list follows from its first value."""
    made = {}
    for name, values in features.items():
        items = list(values)  # type: ignore[call-overload]  # each is a list of its own kind
        match items[:1]:
            case [bytes()]:
                made[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=items))
            case [float() | np.floating()]:
                made[name] = tf.train.Feature(float_list=tf.train.FloatList(value=items))
            case _:
                made[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=items))
    data: bytes = tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()
    return data


@given(st.lists(INT64))
def test_integers(values: list[int]) -> None:
    """All integers of 64 bits, in lists of any length."""
    read = Example(message(x=values))["x"]
    assert isinstance(read, np.ndarray)
    assert read.dtype == np.int64
    assert read.tolist() == values


@given(st.lists(st.integers(0, 127)))
def test_small_integers(values: list[int]) -> None:
    """Lists of one byte for each, which most are."""
    read = Example(message(x=values))["x"]
    assert isinstance(read, np.ndarray)
    assert read.tolist() == values


def test_floats_keep_their_bits() -> None:
    """NaN payloads, signed zeros, infinities and denormals."""
    bits = np.array([0x7FC00001, 0xFFC12345, 0x80000000, 0x7F800000, 0x00000001, 0x3F800000], np.uint32)
    read = Example(message(x=bits.view(np.float32)))["x"]
    assert isinstance(read, np.ndarray)
    assert read.view(np.uint32).tolist() == bits.tolist()


def test_bytes() -> None:
    """Byte strings keep zeros at their end."""
    assert Example(message(x=[b"", b"a\0", b"\xff"]))["x"] == [b"", b"a\0", b"\xff"]


def test_names() -> None:
    """Requested features are decoded; a missing one is a KeyError."""
    example = Example(message(a=[1], b=[b"x"]))
    assert (sorted(example), "a" in example, "c" in example) == (["a", "b"], True, False)
    with pytest.raises(KeyError):
        example["c"]


def test_numbers_that_are_not_packed() -> None:
    """Writers of older versions of protocol buffers put a tag before every number."""
    int64_list = b"".join(b"\x08" + bytes([value]) for value in (1, 2, 3))
    float_list = b"".join(b"\x0d" + np.float32(value).tobytes() for value in (0.5, 2))
    entries = [(b"i", b"\x1a", int64_list), (b"f", b"\x12", float_list)]
    features = b""
    for name, tag, content in entries:
        feature = tag + bytes([len(content)]) + content
        entry = b"\x0a\x01" + name + b"\x12" + bytes([len(feature)]) + feature
        features += b"\x0a" + bytes([len(entry)]) + entry
    example = Example(b"\x0a" + bytes([len(features)]) + features)
    assert np.asarray(example["i"]).tolist() == [1, 2, 3]
    assert np.asarray(example["f"]).tolist() == [0.5, 2]


@pytest.mark.parametrize(
    "data", [b"\x0a\xff", b"\x0a", b"\x80", b"\x0b", b"\x0a\x02\x0a\x05", b"\x08\x01\x0a\x01\xff" * 3]
)
def test_other_bytes_are_refused(data: bytes) -> None:
    """What is no such message is an error, not another exception or an empty one."""
    with pytest.raises(FormatError):
        Example(data)

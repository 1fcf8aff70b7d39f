"""Values as JSON: they come back bit for bit, and other JSON is refused."""

import contextlib
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rlds_kit.trials.wire.messages import Act, Join, Observe, Reward
from rlds_kit.trials.wire.reading import FROM_PROGRAM, read, read_any, schemas, write
from rlds_kit.trials.wire.values import WireError, decode, encode

ARRAYS = npst.arrays(
    st.sampled_from(["?", "<u1", ">i4", "<i8", "<f2", "<f4", ">f8", "<c8"]), npst.array_shapes(min_dims=0, min_side=0)
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=9) | ARRAYS
KEYS = st.text(max_size=4) | st.sampled_from(["$array", "$map", "$tuple", "dtype"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray | np.generic):
        one, two = np.asarray(first), np.asarray(second)
        little = one.astype(one.dtype.newbyteorder("="))
        same = (little.dtype, one.shape, little.tobytes()) == (two.dtype, two.shape, two.tobytes())
        return same and isinstance(first, np.generic) == isinstance(second, np.generic)
    if isinstance(first, float) and math.isnan(first):
        return isinstance(second, float) and math.isnan(second)
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)


@settings(max_examples=50)
@given(VALUES)
def test_every_value_comes_back_bit_for_bit(value: Any) -> None:
    """Through text, with dtype, shape, NaN payloads, tuples, and keys that look like ours."""
    assert _same(value, decode(json.loads(json.dumps(encode(value), allow_nan=False))))


@pytest.mark.parametrize("scalar", [np.float32(-0.0), np.int64(7), np.bool_(1)])
def test_numbers_of_numpy_stay_numbers_of_numpy(scalar: np.generic) -> None:
    assert _same(scalar, decode(encode(scalar)))


@given(JSON)
def test_other_json_is_a_value_or_refused(value: Any) -> None:
    """Nothing else is raised."""
    with contextlib.suppress(WireError):
        encode(decode(value))


@pytest.mark.parametrize(
    "value",
    [
        {"$array": "AAAA", "dtype": "<f4", "shape": [1]},
        {"$array": "AAAA", "dtype": "|O", "shape": [1]},
        {"$array": "AAAA", "dtype": "f4,f4", "shape": [1]},
        {"$array": "AAAA", "dtype": "(2,)f4", "shape": [1]},
        {"$array": "AAAA", "dtype": "|u1", "shape": [-3]},
        {"$array": "AAAA", "dtype": "|u1", "shape": [True, 3]},
        {"$array": "AAAA", "dtype": "|u1", "shape": [1 << 40, 1 << 40]},
        {"$array": "AAA", "dtype": "|u1", "shape": [2]},
        {"$array": "", "dtype": "|u1", "shape": [0] * 40},
        {"$array": "AAAA", "dtype": "|u1"},
        {"$float": "1"},
        {"$tuple": 1},
        {"$map": []},
        {"$bytes": "é"},
        {"$bytes": "", "more": 1},
    ],
)
def test_invalid_values_are_refused(value: Any) -> None:
    with pytest.raises(WireError, match="expected"):
        decode(value)


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(WireError, match="got set"):
        encode({"observation": {1, 2}})
    with pytest.raises(WireError, match="array of numbers"):
        encode(np.array(["text"]))


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_are_a_message_or_refused(content: bytes) -> None:
    with pytest.raises(WireError):
        read_any(FROM_PROGRAM, content)


def test_errors_name_the_field() -> None:
    with pytest.raises(WireError, match=r"confidence: Input should be less than or equal to 1; step: Input should be"):
        read(Reward, b'{"seat": "*", "value": 1, "confidence": 2, "step": -1}')
    with pytest.raises(WireError, match="value: Input should be a finite number"):
        read(Reward, b'{"seat": "*", "value": 1e999}')
    with pytest.raises(WireError, match=r"nested|recursion|Invalid JSON"):
        read(Reward, b"[" * 100_000)


def test_messages_come_back() -> None:
    act = Act(step=1, action=[1], rewards=(Reward(seat="*", value=0.5, details={"note": "fine"}),))
    assert read_any(FROM_PROGRAM, write(act)) == act
    join = Join(token="a token", wait_seconds=1)  # noqa: S106  none of a service
    assert read_any(FROM_PROGRAM, write(join)) == join
    observe = Observe(step=1, observation=encode(np.array([1, 2])))
    assert read(Observe, write(observe)) == observe


def test_schemas_name_every_field() -> None:
    """As the dataclasses have them."""
    found = schemas([Act, Observe])
    assert set(found) == {"Act", "Observe", "Reward", "Text"}
    assert set(found["Act"]["properties"]) == {"type", "step", "action", "messages", "rewards"}
    assert found["Act"]["additionalProperties"] is False

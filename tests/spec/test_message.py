"""Specs as protobuf messages."""

import pytest
from hypothesis import given

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import FormatError
from tests.spec.strategies import any_specs


@given(any_specs)
def test_round_trip(spec: specs.Spec) -> None:
    """Every spec survives the message and its bytes."""
    data = specs.to_message(spec).SerializeToString()
    assert specs.from_message(pb.Spec.FromString(data)) == spec


def test_order_of_fields_survives() -> None:
    """A dict comes back in its own order."""
    spec = specs.Dict({"b": specs.Text(), "a": specs.Text()})
    restored = specs.from_message(specs.to_message(spec))
    assert isinstance(restored, specs.Dict)
    assert list(restored.fields) == ["b", "a"]


@pytest.mark.parametrize(
    "message",
    [
        pb.Spec(),
        pb.Spec(array=pb.ArraySpec(dtype="float80")),
        pb.Spec(array=pb.ArraySpec(dtype="int8", shape=[-2])),
        pb.Spec(array=pb.ArraySpec(dtype="int8", minimum=pb.Value(text=b"low"))),
        pb.Spec(array=pb.ArraySpec(dtype="int8", minimum=pb.Value())),
        pb.Spec(dict=pb.DictSpec(key=["a"])),
        pb.Spec(sequence=pb.SequenceSpec()),
    ],
)
def test_a_message_that_makes_no_sense_is_refused(message: pb.Spec) -> None:
    """Unknown and contradictory messages are a FormatError."""
    with pytest.raises(FormatError, match="expected"):
        specs.from_message(message)


def test_a_shape_of_too_many_numbers_is_refused() -> None:
    """2^31 numbers are the limit of a column, so a spec of as many makes sense."""
    largest = pb.Spec(array=pb.ArraySpec(dtype="int8", shape=[1 << 16, 1 << 15]))
    assert specs.from_message(largest) == specs.Array((1 << 16, 1 << 15), "int8")
    with pytest.raises(FormatError, match=f"it claims {(1 << 31) + 1} numbers"):
        specs.from_message(pb.Spec(array=pb.ArraySpec(dtype="int8", shape=[(1 << 31) + 1])))

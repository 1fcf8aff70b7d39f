"""Specs as JSON for people."""

import json

import numpy as np
import pytest
from hypothesis import given

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from tests.spec.strategies import any_specs


@given(any_specs)
def test_round_trip(spec: specs.Spec) -> None:
    """Every spec survives strict JSON text."""
    text = json.dumps(specs.to_json(spec), allow_nan=False)
    assert specs.from_json(json.loads(text)) == spec


def test_a_person_reads_it() -> None:
    """A dict of fields is an object of fields, and a bound is the number that was meant."""
    spec = specs.Dict({"observation": specs.Array((4,), np.float32, "speed", minimum=0.1, maximum=np.inf)})
    shown = {"kind": "array", "dtype": "float32", "shape": [4], "name": "speed", "minimum": 0.1, "maximum": "Infinity"}
    assert specs.to_json(spec) == {"observation": shown}


def test_a_field_called_kind_is_distinguished_from_a_kind() -> None:
    """A dict with a field called "kind" is written out."""
    spec = specs.Dict({"kind": specs.Text()})
    assert specs.to_json(spec) == {"kind": "dict", "fields": {"kind": {"kind": "text"}}}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"observation": 3}, "spec/observation: expected an object, got 3"),
        ({"observation": {"kind": "cube"}}, "spec/observation: expected a kind among"),
        ({"observation": {"kind": []}}, "spec/observation: expected a kind among"),
        ({"a": {"kind": "array", "shape": []}}, "spec/a: expected 'dtype' beside the kind 'array', got kind, shape"),
        ({"a": {"kind": "array", "dtype": "int8", "shape": 3}}, "spec/a: 'int' object is not iterable"),
        ({"a": {"kind": "array", "dtype": "int9", "shape": []}}, "spec/a: expected the name of a recordable dtype"),
        ({"a": {"kind": "tuple", "items": [{"kind": "x"}]}}, r"spec/a/\(0\): expected a kind among"),
    ],
)
def test_an_edited_file_says_where_it_is_wrong(data: object, place: str) -> None:
    """What cannot be read is an error with its place in the file."""
    with pytest.raises(FormatError, match=place):
        specs.from_json(data)

"""Values of zeros."""

import numpy as np
import pytest
from hypothesis import given

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from tests.spec.strategies import any_specs


@given(any_specs)
def test_zeros_fit(spec: specs.Spec) -> None:
    """Zeros of a spec fit it."""
    assert specs.problems(spec, specs.zeros(spec)) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (specs.Array((), np.int64, minimum=3, num_values=2), np.int64(0)),
        (specs.Text(min_length=2), ""),
        (specs.Bytes(), b""),
        (specs.Optional(specs.Text()), None),
        (specs.Any(), None),
        (specs.OneOf((specs.Text(), specs.Bytes())), (0, "")),
        (specs.Tuple((specs.Text(), specs.List((specs.Bytes(),)))), ("", [b""])),
        (specs.Sequence(specs.Text()), ()),
    ],
)
def test_each_kind(spec: specs.Spec, expected: object) -> None:
    """Zeros are plain zeros, whatever the bounds."""
    value = specs.zeros(spec)
    assert (type(value), value) == (type(expected), expected)


def test_unknown_lengths_are_zero() -> None:
    """An array of unknown length is empty."""
    assert specs.zeros(specs.Array((None, 3), np.int8)).shape == (0, 3)


def test_a_graph_of_zeros_has_no_nodes() -> None:
    """The empty graph fits every graph spec."""
    nodes, edges, links = specs.zeros(specs.Graph(specs.Array((2,), np.int8)))
    assert (nodes.shape, edges, links) == ((0, 2), None, None)


def test_nothing_has_no_zeros() -> None:
    """A choice without alternatives has no value."""
    with pytest.raises(SpecError, match="OneOf with an alternative"):
        specs.zeros(specs.OneOf(()))

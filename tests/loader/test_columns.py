"""Descriptions of fields for frameworks that support only numbers and bytes."""

import numpy as np
import pytest

from rlds_kit import SpecError
from rlds_kit import spec as specs
from rlds_kit.loader.columns import column
from rlds_kit.loader.layout import layout


@pytest.mark.parametrize("inner", [specs.Text(), specs.Bytes(), specs.Array((2,), "float32")])
def test_a_field_that_may_be_none_is_refused_with_a_cure(inner: specs.Spec) -> None:
    """None is neither empty text nor zeros, so the caller must choose a replacement."""
    spec = specs.Dict({"note": specs.Optional(inner)})
    (leaf,) = layout(spec, "note", {})
    with pytest.raises(SpecError, match=r"data: note is None or missing at some steps.*record a value.*`select`"):
        column("data", spec, leaf)


@pytest.mark.parametrize("value", [np.array([0.1, 0.2]), np.zeros((2, 2), np.float32)], ids=["dtype", "rank"])
def test_a_value_that_deviates_from_a_field_of_changing_shape_is_refused(value: np.ndarray) -> None:
    """Recorded exactly, it may have a dtype or rank that no array of the field has; a number that fits is converted."""
    spec = specs.Dict({"observation": specs.Array((None,), np.float32)})
    (leaf,) = layout(spec, "observation", {})
    found, rows = column("data", spec, leaf), np.empty(2, object)
    rows[:] = [np.ones(3, np.float32), np.array([1, 2])]
    numbers, shapes = found.arrays(rows, np.ones(2, np.bool_))
    assert numbers.dtype == np.float32
    assert (numbers.tolist(), shapes.tolist()) == ([1, 1, 1, 1, 2], [[3], [2]])
    rows[1] = value
    with pytest.raises(SpecError, match=r"observation: expected float32 \(\?,\), got float.*`select`"):
        found.arrays(rows, np.ones(2, np.bool_))

"""The spec of a value."""

import numpy as np
import pytest
from hypothesis import given

from rlds_kit import spec as specs
from rlds_kit.base.errors import UnsupportedTypeError
from tests.spec.strategies import recordables


@given(recordables)
def test_a_value_fits_its_own_spec(value: object) -> None:
    """Whatever is recordable fits what is inferred from it."""
    assert specs.problems(specs.infer(value), value) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, specs.NONE),
        (True, specs.Array((), np.bool_)),
        (3, specs.Array((), np.int64)),
        (1 << 80, specs.Any()),
        (0.5, specs.Array((), np.float64)),
        (2j, specs.Array((), np.complex128)),
        ("a", specs.Text()),
        (np.str_("a"), specs.Text()),
        (b"a", specs.Bytes()),
        (np.float32(1), specs.Array((), np.float32)),
        (np.zeros((0, 3), ">i2"), specs.Array((0, 3), ">i2")),
        ({"a": [1], "b": ()}, specs.Dict({"a": specs.List((specs.Array((), np.int64),)), "b": specs.Tuple(())})),
        ({1: 2}, specs.Any()),
        ({"\ud800": 2}, specs.Any()),
    ],
)
def test_each_type(value: object, expected: specs.Spec) -> None:
    """Each Python and NumPy type has its spec."""
    assert specs.infer(value) == expected


@pytest.mark.parametrize("value", [{1, 2}, np.array([None]), np.longdouble(1), object()])
def test_what_cannot_be_recorded_is_named_with_its_place(value: object) -> None:
    """The error names the place inside the value."""
    with pytest.raises(UnsupportedTypeError, match=r"^info/a/\[0\]: cannot record"):
        specs.infer({"a": [value]}, "info")

"""The leaves of specs."""

import numpy as np
import pytest

from rlds_kit import spec as specs
from rlds_kit.tools.publish.fields import Field, fields_of


def test_containers_become_paths() -> None:
    """As columns are called: keys, positions in tuples and lists, slashes in keys escaped."""
    leaf = specs.Text()
    spec = specs.Dict({"a": specs.Tuple((leaf, specs.Dict({"b/c": leaf}))), "d": specs.List((leaf,))})
    assert [field.path for field in fields_of(spec)] == ["a/(0)", "a/(1)/b~1c", "d/[0]"]


def test_optional_containers_pass_it_on() -> None:
    """What is in something that may be missing may be missing."""
    spec = specs.Dict({"info": specs.Optional(specs.Dict({"lives": specs.Array((), np.int64)}))})
    assert fields_of(spec) == (Field("info/lives", specs.Array((), np.int64), may_lack=True),)


@pytest.mark.parametrize(
    ("spec", "dtype", "shape", "bounds"),
    [
        (specs.Array((2, None), np.float32, minimum=-1.5), "float32", "(2, ?)", "[-1.5, ]"),
        (specs.Array((2,), np.float64, minimum=[-1, 0], maximum=[1, 4]), "float64", "(2,)", "[-1, 4]"),
        (specs.Array((), np.int32, num_values=3), "int32", "()", "[0, 2]"),
        (specs.Array((), ">i2"), ">i2", "()", ""),
        (specs.Text(), "text", "", ""),
        (specs.Bytes(), "bytes", "", ""),
        (specs.Any(), "any", "", ""),
        (specs.NONE, "None", "", ""),
    ],
)
def test_what_a_field_says(spec: specs.Spec, dtype: str, shape: str, bounds: str) -> None:
    """For the table of the card."""
    (field,) = fields_of(specs.Dict({"x": spec}))
    assert (field.dtype, field.shape, field.bounds) == (dtype, shape, bounds)

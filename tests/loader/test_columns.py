"""What a framework that knows numbers and bytes only is told of a field."""

import pytest

from rlds_kit import SpecError
from rlds_kit import spec as specs
from rlds_kit.loader.columns import column
from rlds_kit.loader.layout import layout


@pytest.mark.parametrize("inner", [specs.Text(), specs.Bytes(), specs.Array((2,), "float32")])
def test_a_field_that_may_be_none_is_refused_with_a_cure(inner: specs.Spec) -> None:
    """None is neither empty text nor zeros, so whoever recorded it has to say what stands for it."""
    spec = specs.Dict({"note": specs.Optional(inner)})
    (leaf,) = layout(spec, "note", {})
    with pytest.raises(SpecError, match=r"data: note is None or missing at some steps.*record a value.*`select`"):
        column("data", spec, leaf)

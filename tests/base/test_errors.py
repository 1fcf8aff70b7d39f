"""The messages of errors."""

import numpy as np
import pytest

from rlds_kit.base.errors import UnsupportedTypeError


@pytest.mark.parametrize(
    ("value", "what"), [(np.dtype("O"), "dtype object"), (memoryview(b""), "memoryview"), (object(), "object")]
)
def test_an_unsupported_type_is_named(value: object, what: str) -> None:
    """A memoryview has an item size, and is no dtype."""
    assert f"info: cannot record {what}. Recordable are" in str(UnsupportedTypeError("info", value))

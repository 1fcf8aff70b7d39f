"""JSON of values that can be stored and sent again everywhere."""

import pytest

from rlds_kit.base.strict_json import from_json


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "Expecting"),
        ("[NaN]", "NaN is no number"),
        ("-Infinity", "-Infinity is no number"),
        ("1e999", "too large"),
        ('{"a": [9223372036854775808]}', "more than 64 bits"),
        ('{"\\ud800": 1}', "half of a surrogate pair"),
        ('"\\u0000"', "character 0"),
        (34 * "[" + 34 * "]", "more than 32 times"),
        (100_000 * "[", "recursion"),
        (b"\xff", "decode"),
    ],
)
def test_what_cannot_be_stored_is_refused(content: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(content)


def test_all_else_is_read() -> None:
    assert from_json('{"a": [-9223372036854775808, 1.5, true, null, "\\ud83d\\ude00"]}') == {
        "a": [-(2**63), 1.5, True, None, "\U0001f600"]
    }

"""Conditions on episodes."""

import ast
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.tools.edit.expression import MAX_DEPTH, parse

VALUES: dict[str, Any] = {
    "length": 10,
    "return": 2.5,
    "end": "terminated",
    "seed": None,
    "score": np.float32(3),
    "metadata": {"length": 1, "a b": {"c": [1, 2]}},
}


@pytest.mark.parametrize(
    "text",
    [
        "True",
        "length == 10",
        " length > 9 ",
        "return / length == 0.25",
        "-return < 0 and not length < 10",
        "1 < length <= 10 < 11",
        "end in ('terminated', 'truncated')",
        "'term' in end",
        "length not in [1, 2]",
        "seed is None or seed > 1",
        "score is not None and score >= 3",
        "metadata['length'] == 1",
        "metadata['a b']['c'][1] == 2",
        "length % 3 + length // 4 - 1 * 2 == 1",
        "end != 'return'",
    ],
)
def test_true_conditions_hold(text: str) -> None:
    """Each kind of expression has its meaning in Python; `return` is a name, and text in quotes is text."""
    condition = parse(text)
    assert condition.is_true({name: VALUES[name] for name in condition.names})
    assert not parse(f"not ({text.strip()})").is_true(VALUES)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "length.bit_length",
        "[x for x in (1, 2)]",
        "(lambda: True)()",
        "2 ** 999999999",
        "1 << 999999999",
        "(x := 1) == 1",
        "f'{length}' == '10'",
        "True if length else False",
        "{1: 2}[1] == 2",
        "[*metadata] == []",
        "metadata[1:2] == []",
    ],
)
def test_what_is_not_in_the_list_is_refused(text: str) -> None:
    """Calls, attributes, powers, comprehensions and the rest are found before anything is computed."""
    with pytest.raises(ValueError, match="is not allowed"):
        parse(text)


@pytest.mark.parametrize("text", ["", "length >", "import os", "a = 1", "'", "(", "\0", "a\nb", "return 1", "a; b"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    """With an example of what is one."""
    with pytest.raises(ValueError, match="expected a condition such as"):
        parse(text)


@pytest.mark.parametrize("text", ["not " * (MAX_DEPTH + 1) + "True", "-" * 1500 + "1 < 0", "1 + " * 400 + "1 > 0"])
def test_deep_expressions_are_refused(text: str) -> None:
    """They could use up the stack."""
    with pytest.raises(ValueError, match=r"in one another|expected a condition"):
        parse(text)


def test_long_expressions_are_refused() -> None:
    """Before Python's parser sees them."""
    with pytest.raises(ValueError, match="at most 2000 characters"):
        parse("1 < 2 and " * 1000 + "True")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("length", "true or false, got 10"),
        ("length or True", "true or false, got 10"),
        ("seed > 1", "not supported"),
        ("'a' * 999999999 == ''", "expected a number, got 'a'"),
        ("'%999999999d' % 1 == ''", "expected a number"),
        ("True + 1 == 2", "expected a number, got True"),
        ("end is 'terminated'", "compares with None only"),
        ("length / 0 > 1", "division by zero"),
        ("metadata['nothing'] == 1", "nothing"),
        ("end['x'] == 1", "expected a dict or a list"),
        ("metadata['a b'] < 1", "not supported"),
    ],
)
def test_what_cannot_be_decided_is_an_error(text: str, message: str) -> None:
    """No value of a wrong type is quietly true or false."""
    with pytest.raises(ValueError, match=message):
        parse(text).is_true(VALUES)


def test_comparison_with_an_array_is_an_error() -> None:
    """It has no one answer."""
    with pytest.raises(ValueError, match="true or false"):
        parse("score > 1").is_true({"score": np.arange(3)})


NUMBERS = st.integers(-100, 100) | st.floats(-100, 100)
ORDERS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@given(NUMBERS, NUMBERS, st.sampled_from(sorted(ORDERS)), st.sampled_from(["+", "-", "*"]), st.booleans())
def test_values_are_those_of_python(one: float, other: float, order: str, sign: str, flag: bool) -> None:
    """Arithmetic, comparisons and `and` agree with Python's own."""
    computed = {"+": one + other, "-": one - other, "*": one * other}[sign]
    expected = ORDERS[order](computed, other) and flag
    assert parse(f"a {sign} b {order} b and c").is_true({"a": one, "b": other, "c": flag}) == expected


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but ValueError comes of text, and what is read is an expression of Python or has `return` in it."""
    try:
        parse(text)
    except ValueError:
        return
    if "return" not in text:
        ast.parse(text.strip(), mode="eval")

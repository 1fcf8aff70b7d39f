"""Messages from browsers: what is one, and what is done with what is none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.play import protocol

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
TYPES = sorted(protocol.schema()["from_browser"]["discriminator"]["mapping"])
ALMOST = st.fixed_dictionaries(
    {"v": st.sampled_from([1, 2, "1", None]), "type": st.sampled_from([*TYPES, "other"])},
    optional=dict.fromkeys(("held", "seq", "token", "fps", "save", "value", "n", "level", "content"), JSON),
)


def refused(text: str | bytes) -> protocol.Error:
    """The answer to what is no message."""
    with pytest.raises(protocol.NotUnderstoodError) as caught:
        protocol.read(text)
    return caught.value.error


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("", "json", ""),
        ("{", "json", ""),
        ("[]", "field", ""),
        ("{}", "type", ""),
        ('{"v": 1, "type": "fly"}', "type", ""),
        ('{"v": 2, "type": "pause"}', "version", "pause.v"),
        ('{"type": "pause"}', "version", "pause.v"),
        ('{"v": 1, "type": "pause", "more": 1}', "field", "pause.more"),
        ('{"v": 1, "type": "ack", "seq": -1}', "field", "ack.seq"),
        ('{"v": 1, "type": "ack", "seq": "3"}', "field", "ack.seq"),
        ('{"v": 1, "type": "keys", "held": {"KeyA": 1.5}}', "field", "keys.held.KeyA"),
        ('{"v": 1, "type": "keys", "held": {"KeyA": NaN}}', "field", "keys.held.KeyA"),
        ('{"v": 1, "type": "rate", "fps": Infinity}', "field", "rate.fps"),
        ('{"v": 1, "type": "quality", "level": "best"}', "field", "quality.level"),
        ('{"v": 1, "type": "say", "content": ""}', "field", "say.content"),
        ("\ud800", "field", ""),
        ("x" * 20_000, "too_large", ""),
    ],
)
def test_r43_what_is_no_message_is_answered_with_a_code_and_a_place(text: str, code: str, where: str) -> None:
    """For programs; the text is for people."""
    error = refused(text)
    assert (error.code, error.where) == (code, where)
    assert error.message


def test_a_person_cannot_hold_a_thousand_keys() -> None:
    """Limits are of every field."""
    held = {f"Key{number}": 1.0 for number in range(protocol.MOST_KEYS + 1)}
    assert refused(json.dumps({"v": 1, "type": "keys", "held": held})).where == "keys.held"


def answer_to(data: str | bytes) -> protocol.FromBrowser | protocol.Error:
    """What a message is, or the error that answers it."""
    try:
        return protocol.read(data)
    except protocol.NotUnderstoodError as error:
        return error.error


@given(JSON | ALMOST)
def test_anything_is_a_message_or_an_error(value: Any) -> None:
    """Nothing else is ever raised, and nothing that came is given back at length."""
    answer = answer_to(json.dumps(value))
    assert answer.v == 1
    assert not isinstance(answer, protocol.Error) or len(answer.model_dump_json()) < 2000


@given(st.binary(max_size=200))
def test_bytes_are_a_message_or_an_error(data: bytes) -> None:
    assert answer_to(data).v == 1


def test_messages_of_both_directions_have_a_schema() -> None:
    """With all types, and the version in each."""
    schema = protocol.schema()
    assert {"hello", "keys", "ack", "pause", "resume", "cancel", "confirm", "rate", "quality", "camera"} <= set(TYPES)
    defined = schema["from_browser"]["$defs"]
    assert all("v" in defined[name]["required"] for name in ("Hello", "Keys", "Ack", "Reward"))
    assert "Welcome" in schema["to_browser"]["$defs"]

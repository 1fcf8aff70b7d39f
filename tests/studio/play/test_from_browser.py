"""Messages from browsers: what is one, and what is done with what is none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.play import from_browser
from rlds_kit.studio.play.to_browser import Error, dump
from rlds_kit.trials import events

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
TYPES = sorted(from_browser.READER.json_schema()["discriminator"]["mapping"])
ALMOST = st.fixed_dictionaries(
    {"v": st.sampled_from([1, 2, "1", None]), "type": st.sampled_from([*TYPES, "other"])},
    optional=dict.fromkeys(("held", "seq", "token", "fps", "save", "value", "n", "level", "content"), JSON),
)


def refused(text: str | bytes) -> Error:
    """The answer to what is no message."""
    with pytest.raises(from_browser.InvalidMessageError) as caught:
        from_browser.read(text)
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
    held = {f"Key{number}": 1.0 for number in range(from_browser.MOST_KEYS + 1)}
    assert refused(json.dumps({"v": 1, "type": "keys", "held": held})).where == "keys.held"


def answer_to(data: str | bytes) -> from_browser.Received | Error:
    """What a message is, or the error that answers it."""
    try:
        return from_browser.read(data)
    except from_browser.InvalidMessageError as error:
        return error.error


@given(JSON | ALMOST)
def test_anything_is_a_message_or_an_error(value: Any) -> None:
    """Nothing else is ever raised, and nothing that came is given back at length."""
    answer = answer_to(json.dumps(value))
    assert not isinstance(answer, Error) or len(dump(answer)) < 2000


@given(st.binary(max_size=200))
def test_bytes_are_a_message_or_an_error(data: bytes) -> None:
    assert isinstance(answer_to(data), from_browser.Received | Error)


def test_all_messages_of_players_make_events_and_have_a_schema() -> None:
    """With the version in each; no message has a field that the server adds."""
    names = {"hello", "keys", "ack", "leave", "pause", "resume", "start", "cancel", "confirm", "drive", "rate", "say"}
    assert set(TYPES) == names | {"quality", "camera", "reward", "ahead", "pong"}
    defined = from_browser.READER.json_schema()["$defs"]
    assert all("v" in defined[name]["required"] for name in ("Hello", "Keys", "Ack", "Reward"))
    added = {"time_ns", "sender", "source", "details"}
    assert not added & {field for each in defined.values() for field in each.get("properties", ())}
    confirm = from_browser.read('{"v": 1, "type": "confirm", "save": true, "completed": true}')
    assert isinstance(confirm, from_browser.EventMessage)
    assert confirm.to_event(time_ns=5, seat="a") == events.Confirm(5, "a", save=True, is_completed=True)


@pytest.mark.parametrize("field", ["seat", "time_ns", "source"])
def test_a_browser_cannot_send_what_the_server_adds(field: str) -> None:
    """Nobody acts from another seat, at another time, or as another person."""
    assert refused(json.dumps({"v": 1, "type": "pause", field: "b"})).where == f"pause.{field}"

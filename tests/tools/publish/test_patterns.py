"""The patterns match what they are for, and not what only resembles it."""

import pytest

from rlds_kit.tools.publish.patterns import (
    E_MAIL,
    HOME,
    HOST,
    IP,
    PATTERNS,
    PERSON,
    PHONE,
    SECRET,
    USER,
    kinds_of_name,
    kinds_of_text,
)

FOUND = [
    ("note", "write to ada.l+x@mail.example.org", E_MAIL),
    ("note", "ada@müller.example", E_MAIL),
    ("contactEmail", "?", E_MAIL),
    ("note", "from 192.0.2.17:8080", IP),
    ("note", "at 2001:db8::7", IP),
    ("remote_addr", "?", IP),
    ("client ip", "?", IP),
    ("userName", "ada", USER),
    ("player_name", "ada", USER),
    ("worker_id", "A1B2", USER),
    ("PROLIFIC_PID", "5f0a", USER),
    ("last_name", "Lovelace", PERSON),
    ("annotator", "Ada Lovelace", PERSON),
    ("player", "Émilie du Châtelet", PERSON),
    ("note", "call +49 170 1234567", PHONE),
    ("phoneNumber", "12", PHONE),
    ("tel", "0170 1234567", PHONE),
    ("note", "hf_" + "a" * 34, SECRET),
    ("note", "ghp_" + "a1" * 18, SECRET),
    ("note", "AKIA" + "A" * 16, SECRET),
    ("note", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x", SECRET),
    ("note", "-----BEGIN RSA PRIVATE KEY-----", SECRET),
    ("headers", "Cookie: sid=123456", SECRET),
    ("access_token", "?", SECRET),
    ("api-key", "?", SECRET),
    ("rom_path", "/home/ada/roms/pong.bin", HOME),
    ("path", "/data/home/ada/pong.bin", HOME),
    ("path", "file:///home/ada/pong.bin", HOME),
    ("path", r"C:\Users\ada\pong.bin", HOME),
    ("path", "/Users/ada/pong.bin", HOME),
    ("hostname", "?", HOST),
    ("note", "on ada-laptop.local", HOST),
]
LEFT = [
    ("version", "2.13.0"),
    ("version", "1.2.3.4.5"),
    ("opencv version", "4.11.0.86"),
    ("url", "https://example.org/home/ada"),
    ("address", "127.0.0.1"),
    ("time", "12:30:45"),
    ("started", "2026-11-21T10:05:56+00:00"),
    ("class", "std::vector"),
    ("entry_point", "gymnasium.envs.classic_control.cartpole:CartPoleEnv"),
    ("id", "ALE/Breakout-v5"),
    ("game", "Space Invaders"),
    ("player", "random"),
    ("number", "+1.2345678901"),
    ("tokens", "left right"),
    ("ship", "7"),
    ("zip", "7"),
    ("path", "/Users/Shared/roms"),
    ("path", "/opt/roms/home/pong.bin"),
    ("instruction", "go to the second door @ the left"),
    ("sha256", "d" * 64),
    ("uuid", "a9c2f6c2-3f5e-4b52-93cf-4d21be3e5bd0"),
]


@pytest.mark.parametrize(("name", "text", "kind"), FOUND)
def test_personal_data_are_found(name: str, text: str, kind: str) -> None:
    """By the field's name, by the value, or by both together."""
    assert kinds_of_text(name, text) == {kind}


@pytest.mark.parametrize(("name", "text"), LEFT)
def test_other_data_are_left_alone(name: str, text: str) -> None:
    """Versions, times, names of classes and of games are no personal data."""
    assert kinds_of_text(name, text) == frozenset()


@pytest.mark.parametrize("piece", ["x", "a-", "A1:", "1.", "a.b", "+1 ", "/a", "Ab ", "eyJ"])
def test_long_texts_are_gone_through_once(piece: str) -> None:
    """A million characters take less than a second; a rule that begins anew at each of them would take hours."""
    assert kinds_of_text("note", piece * (10**6 // len(piece))) <= {PHONE, IP, SECRET}


def test_every_rule_has_an_example() -> None:
    """Every pattern has a match."""
    assert {kind for *_, kind in FOUND} == {rule.kind for rule in PATTERNS}


@pytest.mark.parametrize(
    ("name", "kinds"), [("phone", {PHONE}), ("participant_id", {USER}), ("user_id", {USER}), ("hostname", set())]
)
def test_numbers_are_judged_by_their_name(name: str, kinds: set[str]) -> None:
    """A telephone number may be an int; an int called host is none of a person's."""
    assert kinds_of_name(name) == kinds

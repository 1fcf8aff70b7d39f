"""Tokens: they cannot be forged or changed, and they expire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.trials.service import BadTokenError, Role, Signer, Token

SECRET = b"0123456789abcdef"


@given(st.text(max_size=50), st.sampled_from(Role), st.integers(1, 10**6))
def test_a_token_says_who_it_is_for(name: str, role: Role, seconds: int) -> None:
    signer = Signer(SECRET, clock=lambda: 50.0)
    assert signer.read(signer.sign(name, role, seconds=seconds)) == Token(name, role, 50 + seconds)


@given(st.data())
def test_a_changed_token_is_refused(data: st.DataObject) -> None:
    """Whichever character is another one."""
    signer = Signer(SECRET, clock=lambda: 0.0)
    text = signer.sign("ann", Role.WATCHER, seconds=60)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda character: character != text[at]))
    with pytest.raises(BadTokenError):
        signer.read(text[:at] + other + text[at + 1 :])


def test_tokens_expire_and_belong_to_a_secret() -> None:
    text = Signer(SECRET, clock=lambda: 0.0).sign("ann", Role.ADMIN, seconds=60)
    with pytest.raises(BadTokenError, match="expired"):
        Signer(SECRET, clock=lambda: 60.0).read(text)
    with pytest.raises(BadTokenError, match="secret"):
        Signer(b"another secret 123", clock=lambda: 0.0).read(text)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Signer(b"short")

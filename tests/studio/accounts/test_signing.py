"""The secret, and signing with it."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.accounts.secret import SecretError, derived, secret_of
from rlds_kit.studio.accounts.signing import BadTokenError, Signer
from rlds_kit.studio.database.tokens import Kind

SIGNER = Signer(b"secret")


def test_the_secret_is_made_once_and_only_its_user_can_read_it(tmp_path: Path) -> None:
    """It has 32 bytes, is the same at the next start, and differs from that of another studio."""
    made = secret_of(tmp_path)
    assert len(made) == 32
    assert secret_of(tmp_path) == made
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    (tmp_path / "other").mkdir()
    assert secret_of(tmp_path / "other") != made


@pytest.mark.parametrize("content", [b"", b"ab", b"\xff" * 64, b"g" * 64])
def test_a_damaged_secret_is_refused(tmp_path: Path, content: bytes) -> None:
    """A studio does not start with a different secret than before; the error explains what that would change."""
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(SecretError, match="64 hexadecimal digits"):
        secret_of(tmp_path)


def test_keys_of_different_purposes_are_unrelated() -> None:
    """They are unrelated to the secret, too."""
    assert len({b"secret", derived(b"secret", "one"), derived(b"secret", "two")}) == 3


@pytest.mark.parametrize("kind", Kind)
@given(token=st.text("0123456789abcdef", min_size=32, max_size=32))
def test_r42_what_was_signed_can_be_read(kind: Kind, token: str) -> None:
    """The text can be used in a link without quoting."""
    text = SIGNER.sign(kind, token)
    assert SIGNER.read(kind, text) == token
    assert text.isascii()
    assert not set(text) & set("/?&=#% ")


@given(st.data())
def test_r42_a_token_that_was_changed_is_refused(data: st.DataObject) -> None:
    """A change of any character makes it invalid."""
    text = SIGNER.sign(Kind.ACCESS, "0" * 32)
    at = data.draw(st.integers(0, len(text) - 2))  # some bits of the last character have no meaning
    other = data.draw(st.characters(codec="ascii").filter(lambda character: character != text[at]))
    with pytest.raises(BadTokenError):
        SIGNER.read(Kind.ACCESS, text[:at] + other + text[at + 1 :])


@pytest.mark.parametrize("text", ["", ".", "a.b", "x" * 10_000, "ü"])
def test_r42_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(BadTokenError):
        SIGNER.read(Kind.ACCESS, text)


def test_r42_tokens_are_of_one_kind_and_studio() -> None:
    """Neither an invitation nor another studio's token can be used to log in."""
    with pytest.raises(BadTokenError):
        SIGNER.read(Kind.ACCESS, SIGNER.sign(Kind.INVITATION, "0" * 32))
    with pytest.raises(BadTokenError):
        SIGNER.read(Kind.ACCESS, Signer(b"other").sign(Kind.ACCESS, "0" * 32))
    assert SIGNER.cookie != Signer(b"other").cookie

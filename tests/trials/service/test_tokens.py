"""Tokens: they cannot be forged or changed, and they expire."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base.errors import FormatError
from rlds_kit.trials.client import Client, ServiceError
from rlds_kit.trials.service import BadTokenError, Role, Signer, Token
from rlds_kit.trials.service.revocations import Revocations
from tests.trials.service.services import corridor, ended, serving, token

SECRET = b"0123456789abcdef"


@given(st.text(max_size=50), st.sampled_from(Role), st.integers(1, 10**6))
def test_a_token_says_who_it_is_for(name: str, role: Role, seconds: int) -> None:
    signer = Signer(SECRET, clock=lambda: 50.0)
    assert signer.read(signer.sign(name, role, seconds=seconds)) == Token(name, role, 50 + seconds, 50 * 10**9)


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


def test_tokens_that_were_revoked_stay_revoked(tmp_path: Path) -> None:
    """Of that name, and made until then; also after a restart."""
    path = tmp_path / "new" / "revoked.json"
    first = Revocations(path, clock=lambda: 200)
    first.revoke("ann")
    for each in (first, Revocations(path)):
        assert [each.has(Token("ann", Role.ACTOR, 9, issued)) for issued in (0, 200, 201)] == [True, True, False]
        assert not each.has(Token("bob", Role.ACTOR, 9, 100))
    path.write_text("[1]", "utf-8")
    with pytest.raises(FormatError, match="names and times"):
        Revocations(path)


def test_g26_a_name_loses_its_tokens_and_its_seat(tmp_path: Path) -> None:
    """Others do not; a new token is accepted; who is no administrator cannot revoke any."""
    with serving(revoked=tmp_path / "revoked.json") as admin:
        trial = admin.start(corridor("remote"))
        with Client(admin._url, token(Role.ACTOR, "ann")) as ann:
            with pytest.raises(ServiceError, match="expected a token of an admin"):
                ann.revoke("admin")
            with ann.join(trial, wait=60) as seat:
                turns = iter(seat)
                next(turns)
                admin.revoke("ann")
                with pytest.raises(ServiceError, match="the tokens of ann were revoked"):
                    next(turns)
            assert "the program ann is gone" in ended(admin, trial).reason
            with pytest.raises(ServiceError, match="the tokens of ann were revoked; get a new one"):
                ann.trials()
            with pytest.raises(ServiceError, match="the tokens of ann were revoked; get a new one"):
                ann.join()
        with Client(admin._url, token(Role.ACTOR, "ann")) as again:
            assert [each.id for each in again.trials()] == [trial]

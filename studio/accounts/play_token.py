"""Tokens with which people play from their seats."""

from rlds_kit.studio.accounts.signing import Signer
from rlds_kit.studio.database.sessions import Session
from rlds_kit.studio.database.tokens import Kind


def play_token(signer: Signer, session: Session, seat: str) -> str:
    """The token with which the person of a seat plays: session, seat and account, signed.

    Args:
      signer: of the studio.
      session: the session, with its people.
      seat: the seat of one of these people.
    """
    return signer.sign(Kind.PLAY, f"{session.id} {seat} {session.people[seat].user_id}")

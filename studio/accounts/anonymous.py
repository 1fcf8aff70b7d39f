"""Ids for published data that do not reveal who played.

A person has the same id in all sessions of one study, and a different id in each other study. Without the
studio's secret the id of a known person cannot be computed.
"""

import hashlib
import hmac
from typing import Final

PURPOSE: Final = "anonymous ids"
"""The purpose for which the key is derived from the studio's secret."""
_BYTES: Final = 16


def agent_id(secret: bytes, study: str, user: str) -> str:
    """The id of a person in a study.

    Args:
      secret: of the studio.
      study: id of the study.
      user: id of the account.

    >>> agent_id(b"secret", "study", "ann")
    '0677957bd3b8f7494280a9fee337261e'
    """
    return _hash(secret, "agent", study, user)


def episode_id(secret: bytes, study: str, session: str, number: int) -> str:
    """The id of an episode, which no other episode of any session has.

    Args:
      secret: of the studio.
      study: id of the study.
      session: id of the session.
      number: of the episode in the session.
    """
    return _hash(secret, "episode", study, session, str(number))


def _hash(secret: bytes, *parts: str) -> str:
    whole = b"".join(len(part.encode()).to_bytes(4, "little") + part.encode() for part in parts)
    return hmac.new(secret, whole, hashlib.sha256).digest()[:_BYTES].hex()

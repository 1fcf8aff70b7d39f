"""Participants by keyed hash: one id for the same person, which cannot be traced back without the key."""

import hashlib

_SIZE = 20


def participant(key: bytes, platform: str, person: str) -> str:
    """The id of a participant: BLAKE2b with a key, 40 hexadecimal digits.

    Args:
      key: secret of the dataset, at least 16 bytes; with another key ids are others.
      platform: way of recruitment.
      person: as the platform knows them.

    Raises:
      ValueError: the key is too short or too long.

    >>> participant(bytes(16), "prolific", "5f1c") == participant(bytes(16), "mturk", "5f1c")
    False
    """
    if not 16 <= len(key) <= hashlib.blake2b.MAX_KEY_SIZE:
        raise ValueError(f"the key: expected 16 to {hashlib.blake2b.MAX_KEY_SIZE} bytes, got {len(key)}")
    return hashlib.blake2b(f"{platform}\0{person}".encode(), digest_size=_SIZE, key=key).hexdigest()

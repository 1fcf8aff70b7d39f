"""The records with which an episode begins and ends."""

import os
import time
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.spec import value
from rlds_kit.storage.plausible import ID_BYTES

_NOTHING: Final = value.encode({})
_ENDINGS: Final = {
    EpisodeEnd.TERMINATED: pb.TERMINATED,
    EpisodeEnd.TRUNCATED: pb.TRUNCATED,
    EpisodeEnd.INTERRUPTED: pb.INTERRUPTED,
}


def new_id() -> bytes:
    """A random UUID of version 4, as `uuid.uuid4` makes it.

    >>> import uuid
    >>> uuid.UUID(bytes=new_id()).version, uuid.UUID(bytes=new_id()).variant == uuid.RFC_4122
    (4, True)
    """
    try:
        return _ids.pop()
    except IndexError:
        drawn = bytearray(os.urandom(_DRAWN * ID_BYTES))
        for at in range(0, len(drawn), ID_BYTES):
            drawn[at + 6] = drawn[at + 6] & 0x0F | 0x40
            drawn[at + 8] = drawn[at + 8] & 0x3F | 0x80
            _ids.append(bytes(drawn[at : at + ID_BYTES]))
        return new_id()


# `os.urandom` gives up the interpreter's lock, and a thread that compresses may not return it for milliseconds. So it
# is not called for each episode. A forked process must draw its own.
_DRAWN: Final = 2048
_ids: Final[list[bytes]] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ids.clear)


def start_message(
    *,
    metadata: Mapping[str, Any] | None = None,
    seed: object = None,
    options: object = None,
    provenance: Mapping[str, Any] | None = None,
) -> pb.EpisodeStart:
    """The start of a new episode, with an id of its own.

    Raises:
      UnsupportedTypeError: metadata, seed, options or provenance contain a value that cannot be recorded.
    """
    return pb.EpisodeStart(
        episode_id=new_id(),
        metadata=value.encode(dict(metadata or {}), "metadata"),
        seed=value.encode(seed, "seed"),
        options=value.encode(options, "options"),
        provenance=value.encode(dict(provenance or {}), "provenance"),
        started_unix_ns=time.time_ns(),
    )


def end_message(
    episode_id: bytes,
    ending: EpisodeEnd,
    *,
    terminated: bool = False,
    truncated: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> pb.EpisodeEnd:
    """The end of an episode; its number of rows is added later.

    Raises:
      ValueError: `ending` is INCOMPLETE, which only readers assign.
      UnsupportedTypeError: the metadata contain a value that cannot be recorded.

    >>> end_message(b"", EpisodeEnd.TRUNCATED).truncated
    True
    """
    if ending not in _ENDINGS:
        raise ValueError(f"expected TERMINATED, TRUNCATED or INTERRUPTED, got {ending.name}")
    return pb.EpisodeEnd(
        episode_id=episode_id,
        ending=_ENDINGS[ending],
        terminated=terminated or ending is EpisodeEnd.TERMINATED,
        truncated=truncated or ending is EpisodeEnd.TRUNCATED,
        metadata=value.encode(dict(metadata), "metadata") if metadata else _NOTHING,
    )

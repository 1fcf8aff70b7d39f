"""The records with which an episode begins and ends."""

import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.spec import value

_ENDINGS: Final = {
    EpisodeEnd.TERMINATED: pb.TERMINATED,
    EpisodeEnd.TRUNCATED: pb.TRUNCATED,
    EpisodeEnd.INTERRUPTED: pb.INTERRUPTED,
}


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
        episode_id=uuid.uuid4().bytes,
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
        metadata=value.encode(dict(metadata or {}), "metadata"),
    )

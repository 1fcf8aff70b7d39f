"""Options that every logger hands to the recorder."""

from collections.abc import Mapping
from typing import TypedDict

from rlds_kit.storage.policy import FlushPolicy


class RecorderOptions(TypedDict, total=False):
    """Keyword arguments of `rlds_kit.storage.recorder.Recorder` that every logger also takes.

    Attributes:
      mode: "append" (the default) adds to a dataset that is there; "error" refuses one; "new" records beside it.
      policy: when what was given is durable.
      about: name, description, citation and licence of the dataset.
      max_shard_bytes: a shard that has reached this size takes no new episode.
      max_shard_episodes: a shard that has so many episodes takes no new one.
      memory_limit: bytes of rows that may wait, over all open episodes.
    """

    mode: str
    policy: FlushPolicy | None
    about: Mapping[str, str] | None
    max_shard_bytes: int
    max_shard_episodes: int | None
    memory_limit: int

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
      strict: whether a declared field that does not fit is an error, before anything of the step is recorded. If not,
        it is recorded as it is, with one warning for the field. `EpisodeWriter` is strict, loggers are not.
    """

    mode: str
    policy: FlushPolicy | None
    about: Mapping[str, str] | None
    max_shard_bytes: int
    max_shard_episodes: int | None
    memory_limit: int
    strict: bool


def tolerant(options: RecorderOptions) -> RecorderOptions:
    """The options of a logger, which is not strict unless the caller says so: what the environment gives is data.

    >>> tolerant({"mode": "new"}), tolerant({"strict": True})
    ({'strict': False, 'mode': 'new'}, {'strict': True})
    """
    return {"strict": False, **options}

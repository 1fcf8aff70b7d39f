"""Options that every logger passes to the recorder."""

from collections.abc import Mapping
from typing import TypedDict

from rlds_kit.storage.policy import FlushPolicy


class RecorderOptions(TypedDict, total=False):
    """Keyword arguments of `rlds_kit.storage.recorder.Recorder` that every logger also takes.

    Attributes:
      mode: for an existing dataset: "append" (the default) adds to it; "error" raises; "new" uses another directory.
      policy: when rows are written and synced.
      about: name, description, citation and licence of the dataset.
      max_shard_bytes: a shard of this size gets no new episodes.
      max_shard_episodes: a shard with this many episodes gets no new ones.
      memory_limit: maximum bytes of buffered rows of all open episodes.
      strict: whether a value that does not match its declaration is an error, raised before anything of the step is
        recorded. If not, it is recorded unchanged, with one warning for the field. `EpisodeWriter` is strict by
        default, loggers are not.
    """

    mode: str
    policy: FlushPolicy | None
    about: Mapping[str, str] | None
    max_shard_bytes: int
    max_shard_episodes: int | None
    memory_limit: int
    strict: bool


def tolerant(options: RecorderOptions) -> RecorderOptions:
    """The options of a logger, which is not strict by default: values from the environment are data.

    >>> tolerant({"mode": "new"}), tolerant({"strict": True})
    ({'strict': False, 'mode': 'new'}, {'strict': True})
    """
    return {"strict": False, **options}

"""What the recorder asks of its background thread."""

from dataclasses import dataclass
from typing import TypeAlias

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.row_buffer import RowBuffer


@dataclass(frozen=True, slots=True)
class Start:
    """An episode begins."""

    start: pb.EpisodeStart


@dataclass(frozen=True, slots=True)
class Block:
    """The next rows of an episode."""

    episode_id: bytes
    rows: range
    buffer: RowBuffer


@dataclass(frozen=True, slots=True)
class End:
    """An episode ends; its digest is not known yet."""

    end: pb.EpisodeEnd


@dataclass(frozen=True, slots=True)
class Discard:
    """An episode of which something is on disk already is to be left out; it had `rows` rows."""

    episode_id: bytes
    rows: int


@dataclass(frozen=True, slots=True)
class Sync:
    """Everything before this is to be durable; `ticket` tells who waits."""

    ticket: int


Job: TypeAlias = Start | Block | End | Discard | Sync

"""Reads the start and the end of an episode at the places that an index or a scan gave, and takes no other record.

A record there may be whole and still not be the episode's: two chunks of equal size may have changed places.
"""

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.storage.contents import parse_record
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.shard_file import ShardFile


def start_of(file: ShardFile, entry: EpisodeEntry) -> pb.EpisodeStart:
    """What was recorded at an episode's start.

    Raises:
      DamagedError: it is damaged, or another record is in its place.
    """
    if not entry.start:
        raise DamagedError(
            f"{file.path}: the start of the episode, with its metadata, is damaged; run `rlds-kit repair`"
        )
    record = _record(file, entry.start)
    if record.WhichOneof("kind") != "start" or record.start.episode_id != entry.episode_id:
        raise _other(file, entry, entry.start, "start", record)
    return record.start


def end_of(file: ShardFile, entry: EpisodeEntry) -> pb.EpisodeEnd | None:
    """What was recorded at its end; None when it has none.

    Raises:
      DamagedError: it is damaged, or another record is in its place.
    """
    if not entry.end:
        return None
    record = _record(file, entry.end)
    if record.WhichOneof("kind") != "end" or record.end.episode_id != entry.episode_id:
        raise _other(file, entry, entry.end, "end", record)
    end = record.end
    if (end.rows, end.ending, end.content_digest) != (entry.rows, entry.ending, entry.content_digest):
        raise DamagedError(
            f"{file.place(entry.end)}: the end of episode {entry.episode_id.hex()} has other steps, another ending or "
            "another digest than the index of its shard; run `rlds-kit verify`"
        )
    return end


def _record(file: ShardFile, position: int) -> pb.Record:
    try:
        return parse_record(file.record(position), file.place(position))
    except FormatError as error:  # its shard was opened: the rest of it is ours
        raise DamagedError(f"{error}; run `rlds-kit repair`") from error


def _other(file: ShardFile, entry: EpisodeEntry, position: int, expected: str, record: pb.Record) -> DamagedError:
    kind = record.WhichOneof("kind")
    found = f"a record of kind {kind}" if kind != expected else f"that of {getattr(record, kind).episode_id.hex()}"
    return DamagedError(
        f"{file.place(position)}: expected the {expected} of episode {entry.episode_id.hex()}, got {found}; "
        "run `rlds-kit repair`"
    )

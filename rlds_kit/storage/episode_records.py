"""Reads the start and the end record of an episode, and verifies that they belong to it.

A record at the expected position may be intact and still belong to another episode, if two chunks of equal size were
swapped.
"""

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.storage.contents import parse_record
from rlds_kit.storage.episode_entry import EpisodeEntry, content_digest_of
from rlds_kit.storage.shard_file import ShardFile


def start_of(file: ShardFile, entry: EpisodeEntry) -> pb.EpisodeStart:
    """The record of an episode's start.

    Raises:
      DamagedError: it is damaged, or another record is at its position.
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
    """The record of its end; None if it has none.

    Raises:
      DamagedError: it is damaged, or another record is at its position.
    """
    if not entry.end:
        return None
    record = _record(file, entry.end)
    if record.WhichOneof("kind") != "end" or record.end.episode_id != entry.episode_id:
        raise _other(file, entry, entry.end, "end", record)
    end = record.end
    if (end.rows, end.ending, content_digest_of(end)) != (entry.rows, entry.ending, entry.content_digest):
        raise DamagedError(
            f"{file.place(entry.end)}: the end of episode {entry.episode_id.hex()} has other steps, another ending or "
            "another digest than the index of its shard; run `rlds-kit verify`"
        )
    return end


def _record(file: ShardFile, position: int) -> pb.Record:
    try:
        return parse_record(file.record(position), file.place(position))
    except FormatError as error:  # the shard itself was opened, so only this chunk is invalid
        raise DamagedError(f"{error}; run `rlds-kit repair`") from error


def _other(file: ShardFile, entry: EpisodeEntry, position: int, expected: str, record: pb.Record) -> DamagedError:
    kind = record.WhichOneof("kind")
    found = f"a record of kind {kind}" if kind != expected else f"that of {getattr(record, kind).episode_id.hex()}"
    return DamagedError(
        f"{file.place(position)}: expected the {expected} of episode {entry.episode_id.hex()}, got {found}; "
        "run `rlds-kit repair`"
    )

"""Writes an episode with other steps, fields or metadata; the bytes of unchanged columns are copied."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.layers.carry import Piece
from rlds_kit.storage import block, column_encoder, shard_file
from rlds_kit.storage import column as columns
from rlds_kit.storage.block_parts import cut as cut_columns
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import field_of
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.upkeep.episode_blocks import headers_of
from rlds_kit.tools.upkeep.source import SourceEpisode

Change = Callable[[ShardWriter, range, list[Column]], list[Column]]
"""Gets the writer, the new rows and the columns of a block; returns the columns to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """How an episode is written.

    Attributes:
      begin: first step to copy.
      stop: one past the last.
      start: record of the new episode.
      end: record of the end of the new episode, without the digest; None: it is INCOMPLETE.
      acted: fields of the action side of a step, which are undefined in the new last step.
      fields: to copy; None: all.
      change: changes the columns of each block; the bytes of those that it returns unchanged are copied.
    """

    begin: int
    stop: int
    start: pb.EpisodeStart
    end: pb.EpisodeEnd | None
    acted: AbstractSet[str] = frozenset()
    fields: AbstractSet[str] | None = None
    change: Change = field(default=lambda _, __, columns: columns)


def write_changed(output: Output, episode: SourceEpisode, made: Rewrite, choose: FilterChoice) -> None:
    """Writes an episode whose content differs from its source's; `choose` chooses the filters.

    Raises:
      DamagedError: a column of these steps is damaged.
    """
    writer, digest = output.shard_for(episode.shard), EpisodeDigest()
    writer.start(made.start)
    for position, base, header in headers_of(episode.shard.file(), episode.entry):
        rows = range(max(header.first_row, made.begin) - made.begin, min(header.end_row, made.stop) - made.begin)
        if not rows:
            continue
        sources = _columns(episode, position, base, header, made)
        stored = {id(column): encoded for column, encoded in sources if encoded is not None}
        changed = made.change(writer, rows, [column for column, _ in sources])
        digest.update(changed)
        pairs = [stored.get(id(each)) or column_encoder.encode(each, choose) for each in changed]
        ends = pb.BlockHeader(episode_id=made.start.episode_id, first_row=rows.start, end_row=rows.stop)
        record = block.assemble(ends, pairs)
        writer.encoded_block(made.start.episode_id, rows, record)
        output.meter.next_file(len(record))
    content = digest.digest(made.start, made.end)
    if made.end is not None:
        made.end.content_digest = content
        writer.end(made.end)
    piece = Piece(made.begin, made.stop, 0)
    output.changed(episode, made.start.episode_id, piece, content, has_end=made.end is not None)


def _columns(
    episode: SourceEpisode, position: int, base: int, header: pb.BlockHeader, made: Rewrite
) -> list[tuple[Column, tuple[pb.Column, bytes | memoryview] | None]]:
    """The columns of a block with their new rows; those that are completely inside the steps also have their bytes."""
    file, found = episode.shard.file(), []
    for entry in header.columns:
        name = field_of(entry.path)
        until = made.stop - (name in made.acted)
        is_inside = entry.first_row < until and entry.first_row + entry.count > made.begin
        if not is_inside or not (made.fields is None or name in made.fields):
            continue
        place = file.place(position)
        payload = shard_file.read_payload(file, position, base + entry.offset, entry.length)
        column = columns.decode(layout_of(entry, place), payload, place)
        whole = made.begin <= entry.first_row and entry.first_row + entry.count <= until
        for part in [column] if whole else cut_columns([column], frozenset(), made.begin, until):
            moved = Column(part.key, part.rows - made.begin, part.values, part.shapes)
            found.append((moved, (_moved(entry, made.begin), payload) if whole else None))
    return found


def _moved(entry: pb.Column, by: int) -> pb.Column:
    moved = pb.Column()
    moved.CopyFrom(entry)
    moved.first_row -= by
    return moved

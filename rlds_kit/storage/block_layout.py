"""The layout of a step block: the positions of its columns, from its header. Columns are validated when requested."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from rlds_kit.base.errors import FormatError
from rlds_kit.storage.block import BlockPrefix
from rlds_kit.storage.column_layout import ColumnLayout, common_in, layout_of, layout_of_stored
from rlds_kit.storage.located import native
from rlds_kit.storage.shard_file import ShardFile, read_block_prefix


@dataclass(frozen=True, slots=True, eq=False)
class BlockLayout:
    """A block that can be read column by column.

    Attributes:
      episode_id: 16 bytes.
      first_row: the first step whose observation is in the block.
      end_row: one past the last.
      payload_base: position in the chunk's payload to which the offsets of columns are relative.
      paths: of all columns.
      entries: of all columns, each of which `layout` reads.
      layout: `layout_of` or `layout_of_stored`.
      place: printed in errors: file and position.
      known: the layouts that were requested, by number of the column.
    """

    episode_id: bytes
    first_row: int
    end_row: int
    payload_base: int
    paths: tuple[str, ...]
    entries: tuple[Any, ...]
    layout: Callable[[Any, object], ColumnLayout]
    place: object
    known: dict[int, ColumnLayout]

    def columns(self, wanted: Callable[[str], bool]) -> list[ColumnLayout]:
        """The requested columns.

        Raises:
          FormatError: a requested one contradicts itself, or has rows that are not in the block.
        """
        # Only these: one field of many is often all that is read, and validating all takes longer than reading it.
        return [self._column(number) for number, path in enumerate(self.paths) if wanted(path)]

    def _column(self, number: int) -> ColumnLayout:
        found = self.known.get(number)
        if found is None:
            found = self.layout(self.entries[number], self.place)
            # The action of a step is written with the observation after it.
            if found.first_row + 1 < self.first_row or found.end_row > self.end_row:
                raise FormatError(f"{self.place}: column {found.path} has rows outside its block")
            self.known[number] = found
        return found


def read_block_layout(file: ShardFile, position: int) -> BlockLayout:
    """The layout of the block at a position; of local files it is read in C, if the header is as writers make it.

    Raises:
      DamagedError: the header is damaged.
      FormatError: there is no block.
    """
    described = None if native is None or file.descriptor is None else native.describe(file.descriptor, position)
    if described is not None:
        episode_id, first_row, end_row, base, columns = described
        try:
            paths = tuple([common_in(column[0]).path for column in columns])
        except DecodeError:  # a text is not UTF-8
            pass
        else:
            place = file.place(position)
            return BlockLayout(episode_id, first_row, end_row, base, paths, tuple(columns), layout_of_stored, place, {})
    return block_layout(read_block_prefix(file, position), file.place(position))


def block_layout(prefix: BlockPrefix, place: object) -> BlockLayout:
    """Reads the layout from the header of a block.

    Args:
      prefix: the block's header.
      place: printed in errors: file and position.
    """
    header = prefix.header
    entries = tuple(header.columns)
    return BlockLayout(
        episode_id=header.episode_id,
        first_row=header.first_row,
        end_row=header.end_row,
        payload_base=prefix.payload_base,
        paths=tuple([entry.path for entry in entries]),
        entries=entries,
        layout=layout_of,
        place=place,
        known={},
    )

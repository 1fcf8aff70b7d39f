"""The layout of a step block: the positions of its columns, from its header. Columns are validated when requested."""

from collections.abc import Callable
from dataclasses import dataclass

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import FormatError
from rlds_kit.storage.block import BlockPrefix
from rlds_kit.storage.column_layout import ColumnLayout, layout_of


@dataclass(frozen=True, slots=True, eq=False)
class BlockLayout:
    """A block that can be read column by column.

    Attributes:
      episode_id: 16 bytes.
      first_row: the first step whose observation is in the block.
      end_row: one past the last.
      payload_base: position in the chunk's payload to which the offsets of columns are relative.
      paths: of all columns.
      entries: of all columns, as they are in the header.
      place: printed in errors: file and position.
      known: the layouts that were requested, by number of the column.
    """

    episode_id: bytes
    first_row: int
    end_row: int
    payload_base: int
    paths: tuple[str, ...]
    entries: tuple[pb.Column, ...]
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
            found = layout_of(self.entries[number], self.place)
            # The action of a step is written with the observation after it.
            if found.first_row + 1 < self.first_row or found.end_row > self.end_row:
                raise FormatError(f"{self.place}: column {found.path} has rows outside its block")
            self.known[number] = found
        return found


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
        place=place,
        known={},
    )

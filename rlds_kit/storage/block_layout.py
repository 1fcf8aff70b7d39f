"""The layout of a step block: the positions of its columns, read from its header and validated once."""

from collections.abc import Callable
from dataclasses import dataclass

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import FormatError
from rlds_kit.storage.block import BlockPrefix
from rlds_kit.storage.column_layout import ColumnLayout, layout_of


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """A block that can be read column by column.

    Attributes:
      episode_id: 16 bytes.
      first_row: the first step whose observation is in the block.
      end_row: one past the last.
      payload_base: position in the chunk's payload to which the offsets of columns are relative.
      payload_bytes: of all columns.
      columns: all valid ones.
      faults: problems of the others, by path; they only matter to readers of these columns.
    """

    episode_id: bytes
    first_row: int
    end_row: int
    payload_base: int
    payload_bytes: int
    columns: tuple[ColumnLayout, ...]
    faults: tuple[tuple[str, str], ...]

    @property
    def paths(self) -> list[str]:
        """Of all columns."""
        return [column.path for column in self.columns] + [path for path, _ in self.faults]

    def require(self, wanted: Callable[[str], bool]) -> None:
        """Raises an error for columns that cannot be read.

        Raises:
          FormatError: a requested one contradicts itself, or has rows that are not in the block.
        """
        for path, message in self.faults:
            if wanted(path):
                raise FormatError(message)


def block_layout(prefix: BlockPrefix, place: object) -> BlockLayout:
    """Reads the layout from the header of a block.

    Args:
      prefix: the block's header.
      place: printed in errors: file and position.
    """
    header, columns, faults = prefix.header, list[ColumnLayout](), list[tuple[str, str]]()
    for entry in header.columns:
        try:
            columns.append(_column(entry, header, place))
        except FormatError as error:
            faults.append((entry.path, str(error)))
    return BlockLayout(
        episode_id=header.episode_id,
        first_row=header.first_row,
        end_row=header.end_row,
        payload_base=prefix.payload_base,
        payload_bytes=sum(entry.length for entry in header.columns),
        columns=tuple(columns),
        faults=tuple(faults),
    )


def _column(entry: pb.Column, header: pb.BlockHeader, place: object) -> ColumnLayout:
    column = layout_of(entry, place)
    # The action of a step is written with the observation after it.
    if column.first_row + 1 < header.first_row or column.end_row > header.end_row:
        raise FormatError(f"{place}: column {column.path} has rows outside its block")
    return column

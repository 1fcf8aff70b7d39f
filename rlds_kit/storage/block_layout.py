"""Where the columns of a step block are, read from its header and checked once."""

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
      first_row: the first step whose observation the block brings.
      end_row: one past the last.
      payload_base: where in the chunk's payload the offsets of columns count from.
      payload_bytes: of all columns.
      columns: all but those at fault.
      faults: what is wrong with others, by path: nobody who does not want them need care.
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
        """Refuses columns that cannot be read.

        Raises:
          FormatError: one that is wanted contradicts itself, or has rows that the block has not.
        """
        for path, message in self.faults:
            if wanted(path):
                raise FormatError(message)


def block_layout(prefix: BlockPrefix, place: object) -> BlockLayout:
    """Reads what a block says of itself.

    Args:
      prefix: the block's header.
      place: printed in errors: which bytes of which file these are.
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
    # What was done in a step is written with the observation after it.
    if column.first_row + 1 < header.first_row or column.end_row > header.end_row:
        raise FormatError(f"{place}: column {column.path} has rows outside its block")
    return column

"""Writes the Parquet files of a LeRobot dataset, in chunks with a limited number of files of limited size."""

from pathlib import Path
from typing import Any, Final

from rlds_kit.convert import parquet

CHUNK_FILES: Final = 1000
FILE_MEGABYTES: Final = 100
_MEGABYTE: Final = 1 << 20


class RolledFiles:
    """Parquet files of the same columns.

    Args:
      directory: of the dataset.
      template: of their paths, with `chunk_index` and `file_index`.
      schema: of their columns.
      dictionary: columns of few different values, none of them floats: equal numbers share an entry, so the bits of NaN
        would be lost.

    Attributes:
      chunk: that the next rows go to.
      file: in that chunk.
    """

    def __init__(self, directory: Path, template: str, schema: Any, dictionary: list[str]) -> None:
        self._directory, self._template, self._schema, self._dictionary = directory, template, schema, dictionary
        self.chunk = self.file = 0
        self._rows = 0
        self._sink: Any = None
        self._writer: Any = None

    def write(self, table: Any) -> tuple[int, int]:
        """Writes rows as one row group, in one file. Returns the numbers of the chunk and the file."""
        if self._writer is not None and self._is_full(len(table)):
            self._end()
            self.chunk, self.file = divmod(self.chunk * CHUNK_FILES + self.file + 1, CHUNK_FILES)
        if self._writer is None:
            self._begin()
        self._writer.write_table(table, row_group_size=max(1, len(table)))
        self._rows += len(table)
        return self.chunk, self.file

    def close(self) -> None:
        """Finishes the last file; without rows there is an empty one."""
        if self._writer is None:
            self._begin()
        self._end()

    def _is_full(self, rows: int) -> bool:
        """Whether rows as large as the previous ones would make the file too large, by LeRobot's rule."""
        size = self._sink.tell()
        return bool(size + rows * size / max(1, self._rows) >= FILE_MEGABYTES * _MEGABYTE)

    def _begin(self) -> None:
        path = self._directory / self._template.format(chunk_index=self.chunk, file_index=self.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._sink, self._rows = path.open("wb"), 0
        self._writer = parquet.library().parquet.ParquetWriter(
            self._sink, self._schema, compression="zstd", use_dictionary=self._dictionary
        )

    def _end(self) -> None:
        self._writer.close()
        self._sink.close()
        self._writer = None

"""One sub-directory of EnvLogger's: the records of steps, where they are, and where episodes begin."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from rlds_kit.convert.envlogger.encode import encode
from rlds_kit.convert.envlogger.scan import METADATA_OF_EPISODES, OFFSETS_FILE, STEPS_FILE
from rlds_kit.riegeli import RecordWriter

OPTIONS: Final = "zstd:3,chunk_size:1M"
"""Simple chunks: EnvLogger's own transposed ones are no smaller for pixels. Zstandard needs nothing to be installed."""
INDEX_FILE: Final = "episode_index.riegeli"
NO_METADATA: Final = -1


class ShardWriter:
    """Writes a shard; writes its index, which EnvLogger requires, when it is closed."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self._path = path
        self._steps = RecordWriter(path / STEPS_FILE, OPTIONS)
        self._metadata = RecordWriter(path / METADATA_OF_EPISODES, OPTIONS)
        self._offsets: list[int] = []
        self._index: list[tuple[int, int]] = []

    def __len__(self) -> int:
        """Number of episodes so far."""
        return len(self._index)

    def write(self, records: Sequence[bytes], metadata: bytes | None) -> None:
        """Adds an episode: the records of its steps, and its metadata if it has any."""
        position = NO_METADATA if metadata is None else self._metadata.write_record(metadata)
        self._index.append((len(self._offsets), position))
        self._offsets += [self._steps.write_record(record) for record in records]

    def close(self) -> None:
        """Finishes the files."""
        self._steps.close()
        self._metadata.close()
        write_numbers(self._path / OFFSETS_FILE, np.array(self._offsets, np.int64))
        write_numbers(self._path / INDEX_FILE, np.array(self._index, np.int64).reshape(-1, 2))


def write_numbers(path: Path, array: np.ndarray) -> None:
    """Writes an index file."""
    data = encode(array, path.name, [])
    with RecordWriter(path, OPTIONS) as writer:
        if data is not None:
            writer.write_record(data.datum.SerializeToString())

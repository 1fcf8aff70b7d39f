"""A file that only grows: a write that fails leaves it as it was."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from rlds_kit.base.append_file import AppendFile


class _Full:
    """A disk that writes only some bytes, and then no more until there is free space again."""

    def __init__(self, file: Any) -> None:
        self._file, self.room = file, 3

    def write(self, data: memoryview) -> int:
        """Writes as many bytes as there is space for."""
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken, self.room = self.room, 0
        return int(self._file.write(data[:taken]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_write_that_fails_halfway_leaves_nothing(tmp_path: Path) -> None:
    """Neither half of it, nor a hole before what is written when there is room again."""
    file = AppendFile(tmp_path / "file")
    file.append(b"whole")
    plain: Any = file._file
    file._file = full = _Full(plain)  # type: ignore[assignment]  # a file as far as it is used
    with pytest.raises(OSError, match="No space left"):
        file.append(b"torn apart")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert (file.position, full.room) == (5, 0)
    full.room = 100
    file.append(b" again")
    file.sync()
    file.close()
    assert (tmp_path / "file").read_bytes() == b"whole again"

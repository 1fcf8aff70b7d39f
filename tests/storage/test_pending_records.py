"""Records of episodes that end together are written at once; of what a full disk does not take, what fits is stored."""

import errno
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.base.append_file import AppendFile
from rlds_kit.base.errors import RecordingError
from rlds_kit.storage import shard_writer
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves
from rlds_kit.storage.episode_messages import start_message
from rlds_kit.storage.jobs import Start
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder

LANES, ROWS = 16, 5


class _Disk:
    """A file on a disk with space for some more bytes."""

    def __init__(self, file: Any, sizes: list[int], left: list[int]) -> None:
        self._file, self._sizes, self._left = file, sizes, left

    def write(self, data: memoryview) -> int:
        """Writes as much as fits."""
        if not self._left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = int(self._file.write(data[: self._left[0]]))
        self._left[0] -= written
        self._sizes.append(written)
        return written

    def truncate(self, size: int) -> None:
        """Frees what is behind."""
        self._left[0] += self._file.seek(0, os.SEEK_END) - size
        self._file.truncate(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """The sizes of all writes, and the free bytes, which a test changes."""
    sizes, left, plain = list[int](), [1 << 40], AppendFile.__init__

    def init(self: AppendFile, path: Path) -> None:
        plain(self, path)
        self._file = _Disk(self._file, sizes, left)  # type: ignore[assignment]  # a file as far as it is used

    monkeypatch.setattr(AppendFile, "__init__", init)
    return sizes, left


def _record(recorder: Recorder) -> None:
    """An episode of each lane, which end together."""
    batch = recorder.start_batch(LANES)
    key = batch.fields.leaves({"observation": np.zeros(3)}, {})[0].keys[0]
    batch.start({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
    for row in range(ROWS):
        batch.append(BatchLeaves([BatchLeaf(key, np.arange(LANES * 3.0).reshape(LANES, 3) + row)]))
    batch.end(range(LANES), EpisodeEnd.TERMINATED)
    recorder.flush()


@pytest.mark.parametrize("most", [1, 1 << 20])
def test_records_that_come_together_are_written_at_once(
    tmp_path: Path, disk: tuple[list[int], list[int]], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Unless they have many bytes; the files are the same."""
    monkeypatch.setattr(shard_writer, "MAX_PENDING_BYTES", most)
    sizes, _ = disk
    with Recorder(tmp_path, policy=FlushPolicy.manual()) as recorder:
        before = len(sizes)
        _record(recorder)
        # Signature, header, and the records: the new shard is made among them, and its own header is pending too.
        assert len(sizes) - before == (3 if most > 1 else 3 + 3 * LANES)
        (shard,) = tmp_path.glob("*.riegeli")
        assert shard.stat().st_size == sum(sizes)
    episodes = rlds_kit.open(tmp_path).episodes
    assert sorted(episode.metadata["lane"] for episode in episodes) == [*range(LANES)]
    assert {len(episode) for episode in episodes} == {ROWS}


def test_nothing_is_pending_after_a_cut(tmp_path: Path, disk: tuple[list[int], list[int]]) -> None:
    """Without a sync, too: what a killed process has cut is in the file."""
    sizes, _ = disk
    with Recorder(tmp_path, policy=FlushPolicy.manual()) as recorder:
        shards = recorder._intake._shards  # the thread that uses them waits for a job
        with shards.at_once():
            shards.start(Start(start_message(metadata={"lane": 1})))
            before = sum(sizes)
        assert sum(sizes) > before


def test_a_full_disk_takes_what_fits(tmp_path: Path, disk: tuple[list[int], list[int]]) -> None:
    """Whole records are stored, and the error counts their steps."""
    _, left = disk
    recorder = Recorder(tmp_path, policy=FlushPolicy.manual())
    left[0] = 5000
    with pytest.raises(RecordingError) as caught:
        _record(recorder)
    with pytest.raises(RecordingError):
        recorder.close()
    counts = re.search(r"(\d+) steps are stored and (\d+) are lost", str(caught.value))
    assert counts is not None
    stored, lost = map(int, counts.groups())
    assert stored + lost == LANES * ROWS
    assert 0 < stored < LANES * ROWS
    left[0] = 1 << 40
    assert sum(len(episode) for episode in rlds_kit.open(tmp_path).episodes) == stored
    assert rlds_kit.open(tmp_path).episodes[0]["observation"].shape == (ROWS, 3)

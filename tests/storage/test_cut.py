"""A shard cut at any byte: what is left is a prefix of each episode, and episodes whose end is left stay ended."""

import os
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd, LossWarning
from rlds_kit import spec as specs
from rlds_kit.riegeli.chunk import ChunkHeader
from rlds_kit.riegeli.chunk_reader import read_header
from rlds_kit.storage.contents import contents
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.manifest import manifests_in
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from tests.storage.truth import Given, GivingRecorder, assert_episode, assert_prefix, by_id

DECLARED: Final = specs.Dict({"observation": specs.Array((3,), np.uint8), "reward": specs.Array((), np.float64)})
STRIDE: Final = 509
"""In bytes between cuts where only zeros are: a prime."""


@dataclass(frozen=True)
class Shard:
    """A whole shard, what was given for it, and where its chunks end."""

    path: Path
    given: list[Given]
    entries: Sequence[EpisodeEntry]
    chunk_ends: dict[int, int]


def _shard(directory: Path, *, closed: bool) -> Shard:
    """Two interleaved episodes, the first of which ends in the middle of the shard."""
    recorder = Recorder(directory, DECLARED, policy=FlushPolicy(block_rows=2, interval=None))
    first, second = (GivingRecorder(recorder, metadata={"n": n}) for n in range(2))
    for row in range(5):
        _append(first, row)
        _append(second, row)
    first.end(EpisodeEnd.TERMINATED, metadata={"score": 1})
    for row in range(5, 8):
        _append(second, row)
    recorder.flush()
    (path,) = directory.glob("*.riegeli")
    data = path.read_bytes()
    if closed:
        second.end(EpisodeEnd.TRUNCATED)
    recorder.close()
    if not closed:
        path.write_bytes(data)
        for manifest in manifests_in(directory):  # a writer that died before it closed the shard notes nothing
            manifest.unlink()
    file, at = ShardFile(path), 0
    ends = {}
    while isinstance(header := read_header(file, at), ChunkHeader):
        ends[at] = at = header.end(at)
    return Shard(path, [first.given, second.given], contents(file).episodes, ends)


def _append(episode: GivingRecorder, row: int) -> None:
    observed = {"observation": np.array([row, 2, 3], np.uint8), "info": {"text": "x" * row}}
    episode.append(observed, {"reward": row / 3} if row else None)


def _check_cuts(shard: Shard, cuts: Iterable[int]) -> None:
    """Cuts the file shorter and shorter, and reads all that is left each time; a closed file that is cut is noticed."""
    given, closed_bytes = by_id(shard.given), shard.path.stat().st_size if manifests_in(shard.path.parent) else 0
    for cut in sorted(cuts, reverse=True):
        os.truncate(shard.path, cut)
        with pytest.warns(LossWarning, match=f"has {cut} bytes") if cut < closed_bytes else nullcontext():
            dataset = rlds_kit.open(shard.path.parent)
        read = {episode.id.bytes: episode for episode in dataset.episodes}
        expected = {}
        for entry in shard.entries:
            complete = [shard.chunk_ends[position] <= cut for position in entry.blocks.tolist()]
            if any(complete):
                expected[entry.episode_id] = int(entry.end_row[complete].max())
        assert {key: episode.length for key, episode in read.items()} == expected
        for entry in shard.entries:
            if entry.episode_id in read:
                episode = read[entry.episode_id]
                if entry.end and shard.chunk_ends[entry.end] <= cut:
                    assert_episode(episode, given[episode.id])
                else:
                    start = Given(episode.id, DECLARED, {"n": given[episode.id].metadata["n"]})
                    start.observed, start.acted = given[episode.id].observed, given[episode.id].acted
                    assert_prefix(episode, start)


def _interesting(shard: Shard) -> tuple[int, list[int]]:
    """Where the records end and the long padding begins, and every byte around the chunks that follow."""
    records_end = max(position for position, end in shard.chunk_ends.items() if end - position < 60_000)
    after = [position for position in shard.chunk_ends if position > 10_000]
    near = {
        at + offset for position in after for at in (position, shard.chunk_ends[position]) for offset in range(-70, 70)
    }
    return records_end, sorted(near)


def test_a_closed_shard_cut_at_every_byte_of_its_records(tmp_path: Path, sweep: Callable[[int], int]) -> None:
    """Wherever records, index and footer are cut, all data before the cut can be read."""
    shard = _shard(tmp_path, closed=True)
    size = shard.path.stat().st_size
    data_end = next(end for position, end in shard.chunk_ends.items() if shard.chunk_ends.get(end, 0) - end > 10_000)
    _, near = _interesting(shard)
    cuts = {*range(data_end + 70), *range(data_end, size, STRIDE), *(at for at in near if at <= size)}
    _check_cuts(shard, random.Random(0).sample(sorted(cuts), sweep(len(cuts))))


@pytest.mark.slow
def test_a_closed_shard_cut_at_every_byte(tmp_path: Path) -> None:
    """The same for every byte of the padding too."""
    shard = _shard(tmp_path, closed=True)
    _check_cuts(shard, range(shard.path.stat().st_size + 1))


def test_an_open_shard_cut_at_every_byte(tmp_path: Path, sweep: Callable[[int], int]) -> None:
    """Wherever a shard without an index is cut, all data before the cut can be read."""
    shard = _shard(tmp_path, closed=False)
    sizes = range(shard.path.stat().st_size + 1)
    _check_cuts(shard, random.Random(0).sample(sizes, sweep(len(sizes))))

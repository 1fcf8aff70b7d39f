"""Very many short episodes take little memory: those that were written, and those that wait to be."""

import threading
import tracemalloc
import uuid
from pathlib import Path
from typing import Final

import pytest

import rlds_kit
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.spec import value
from rlds_kit.storage import shard_writer
from rlds_kit.storage.contents import read_index
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.jobs import Job, Start
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_set import ShardSet
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.storage.writer_thread import JOB_BYTES, WriterThread
from rlds_kit.tools import edit
from rlds_kit.tools.upkeep.rechunk import rechunk

BYTES_OF_AN_EPISODE: Final = 250
"""In memory, of its entry in the index and of its three chunks."""
NOTHING: Final = value.encode({})


def _record(directory: Path, episodes: int) -> None:
    with Recorder(directory) as recorder:
        for number in range(episodes):
            episode = recorder.start_episode(metadata={"number": number})
            episode.append({"observation": number})
            episode.end(EpisodeEnd.TERMINATED)


def test_an_episode_that_was_written_takes_little_memory(tmp_path: Path) -> None:
    """Whatever is left of it until its shard is closed, objects of Python and of protobuf, is a few bytes."""
    header = pb.ShardHeader(spec=pb.Spec(dict=pb.DictSpec()), metadata=NOTHING, environment=NOTHING)
    writer = ShardWriter(tmp_path / "episodes-a-00000.riegeli", header)

    def write(episodes: int) -> None:
        for _ in range(episodes):
            key = uuid.uuid4().bytes
            writer.start(pb.EpisodeStart(episode_id=key, metadata=NOTHING))
            writer.encoded_block(key, range(2), pb.Record(version=1, block=pb.StepBlock()).SerializeToString())
            writer.end(pb.EpisodeEnd(episode_id=key, rows=2, ending=pb.TERMINATED, content_digest=bytes(16)))

    write(100)  # what is made once
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        write(2000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / 2000 < BYTES_OF_AN_EPISODE
    assert (writer.episodes, writer.has_open_episodes) == (2100, False)
    assert writer.close().episodes == 2100
    index = read_index(ShardFile(writer.path))
    assert index is not None
    assert len(index.episodes) == 2100


@pytest.mark.parametrize("way", ["record", "merge", "rechunk"])
def test_a_shard_of_many_chunks_takes_no_new_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """So its index is of bounded size, whatever the length of episodes."""
    if way != "record":
        _record(tmp_path / "source", 10)
        assert len(shards_in(tmp_path / "source")) == 1
    monkeypatch.setattr(shard_writer, "MAX_CHUNKS", 12)  # three for each episode, one for the header, one for the spec
    match way:
        case "record":
            _record(tmp_path / "d", 10)
        case "merge":
            edit.merge([tmp_path / "source"], tmp_path / "d")
        case "rechunk":
            rechunk(tmp_path / "source", tmp_path / "d")
    found = [index for path in shards_in(tmp_path / "d") if (index := read_index(ShardFile(path))) is not None]
    assert [len(index.episodes) for index in found] == [4, 4, 2]
    dataset = rlds_kit.open(tmp_path / "d")
    assert [episode.metadata["number"] for episode in dataset.episodes] == list(range(10))


def test_the_limit_of_chunks_is_far_from_what_most_shards_have() -> None:
    """And its index is a few megabytes."""
    assert 1 << 17 <= shard_writer.MAX_CHUNKS <= 1 << 20


def test_episodes_that_wait_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that is faster than the disk waits when many jobs do, however small their rows are."""
    limit = 50 * JOB_BYTES
    is_waiting = threading.Event()
    most = 0
    write, wait, put = ShardSet.start, WriterThread.wait_for_memory, WriterThread.put

    def start(self: ShardSet, job: Start) -> None:
        assert is_waiting.wait(60), "the caller never waits"
        write(self, job)

    def wait_for_memory(self: WriterThread, limit: int) -> None:
        is_waiting.set()
        wait(self, limit)

    def counted(self: WriterThread, job: Job) -> None:
        nonlocal most
        put(self, job)
        most = max(most, len(self._jobs))

    monkeypatch.setattr(ShardSet, "start", start)
    monkeypatch.setattr(WriterThread, "wait_for_memory", wait_for_memory)
    monkeypatch.setattr(WriterThread, "put", counted)
    with Recorder(tmp_path, policy=FlushPolicy.manual(), memory_limit=limit) as recorder:
        for _ in range(200):
            episode = recorder.start_episode()
            episode.append({"observation": 1})
            episode.end(EpisodeEnd.TERMINATED)
    assert 40 < most < 60
    assert recorder._intake._thread.buffered_bytes == 0
    assert len(rlds_kit.open(tmp_path).episodes) == 200

"""Breaks a recorder at any of its system calls: a crash, or an error of the disk.

`python -m tests.storage.crashing DIRECTORY FORM` crashes a process at its first call in DIRECTORY/0, another one at its
second call in DIRECTORY/1, and so on until one lives to its end; DIRECTORY/N.said lists the data that each process
reported as durable before. The form is "rows" or "columns".
"""

import itertools
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest import mock

from rlds_kit import EpisodeEnd
from rlds_kit.base.append_file import AppendFile
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.storage.killing import DECLARED, length_of, row_of
from tests.storage.lanes import Lanes, Source

SEED: Final = 5
EPISODES: Final = 5
SURVIVED: Final = 7
"""Exit code of a process that came to its end."""

Fault = Callable[[str], None]
"""A callback before each call ("open", "write", "torn write", "fsync", "close") before it is made."""


class _File:
    """A file whose calls may fail; a torn write leaves half of the bytes."""

    def __init__(self, file: Any, fault: Fault) -> None:
        self._file, self._fault = file, fault

    def write(self, data: memoryview) -> int:
        """Writes in two halves, and may fail before either."""
        self._fault("write")
        half = len(data) // 2
        written = self._file.write(data[:half]) if half else 0
        self._fault("torn write")
        return int(written + self._file.write(data[written:]))

    def close(self) -> None:
        """Closes, and may fail before."""
        try:
            self._fault("close")
        finally:
            self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def faults(fault: Fault) -> Iterator[None]:
    """Every call that recorders make goes by `fault` first."""
    plain_init, plain_fsync = AppendFile.__init__, os.fsync

    def init(self: AppendFile, path: Path) -> None:
        fault("open")
        plain_init(self, path)
        self._file = _File(self._file, fault)  # type: ignore[assignment]  # a file as far as it is used

    def fsync(descriptor: int) -> None:
        fault("fsync")
        plain_fsync(descriptor)

    with mock.patch.object(AppendFile, "__init__", init), mock.patch("os.fsync", fsync):
        yield


def make_recorder(directory: Path) -> Recorder:
    """A recorder that starts a new shard with every second episode."""
    policy = FlushPolicy(block_rows=9, interval=None)
    return Recorder(directory, DECLARED, policy=policy, max_shard_episodes=2)


def record(recorder: Recorder, told: Callable[[dict[uuid.UUID, int]], None], form: str = "rows") -> None:
    """Records interleaved episodes, flushes occasionally, and prints what is durable."""
    numbers = iter(range(EPISODES))
    source: Source = Lanes(recorder, 2) if form == "columns" else recorder
    running = {n: source.start_episode(metadata={"seed": SEED, "number": n}) for n in itertools.islice(numbers, 2)}
    for turn in itertools.count(1):
        for number, episode in list(running.items()):
            if episode.rows < length_of(SEED, number):
                episode.append(*row_of(SEED, number, episode.rows))
                continue
            episode.end(EpisodeEnd.TRUNCATED)
            del running[number]
            for new in itertools.islice(numbers, 1):
                running[new] = source.start_episode(metadata={"seed": SEED, "number": new})
        if turn % 25 == 0:
            recorder.flush()
            told(recorder.durable)
        if not running:
            return


def at_call(number: int, act: Callable[[str], None]) -> Fault:
    """A fault that strikes at one call only."""
    calls = itertools.count()

    def fault(kind: str) -> None:
        if next(calls) == number:
            act(kind)

    return fault


def _crash_at(directory: Path, number: int, form: str) -> None:
    """The process ends at a call, without any clearing up; never returns."""
    said = directory / f"{number}.said"

    def told(durable: dict[uuid.UUID, int]) -> None:
        said.write_text("".join(f"{key.hex} {rows}\n" for key, rows in durable.items()))

    recorder = make_recorder(directory / str(number))
    with faults(at_call(number, lambda _: os._exit(1))):
        record(recorder, told, form)
        recorder.close()
    os._exit(SURVIVED)


def main(directory: Path, form: str) -> None:
    """Crashes processes until one survives."""
    for number in itertools.count():
        child = os.fork()
        if not child:
            _crash_at(directory, number, form)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == SURVIVED:
            print(number)
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

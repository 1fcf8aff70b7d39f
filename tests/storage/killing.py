"""Kills recording processes with SIGKILL at random moments, and checks the remaining files.

`python -m tests.storage.killing DIRECTORY SEED POLICY EPISODES_AT_ONCE FORM` records "rows" or "columns" until it is
killed, or until its standard input ends. Seed, episode and row determine every value, so that a reader of the shards
can compute the expected content. Used by `test_kill.py`, and by `benchmarks/kills.py` for any number of kills.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import rlds_kit
from rlds_kit import Episode, EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.storage.manifest import manifests_in
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.storage.lanes import Lane, Lanes, Open, Source
from tests.storage.truth import Given, Step, assert_episode, assert_prefix

ROOT: Final = Path(__file__).parents[2]
SHARD_BYTES: Final = 40_000
"""Small, so that shards are closed and opened all the time."""

DECLARED: Final = specs.Dict(
    {
        "observation": specs.Dict({"pixels": specs.Array((8, 8, 3), np.uint8), "t": specs.Array((), np.float64)}),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
    }
)
POLICIES: Final = {
    "every_step": FlushPolicy.every_step(),
    "every_episode": FlushPolicy.every_episode(),
    "seconds": FlushPolicy(block_rows=7, interval=0.01),
    "bytes": FlushPolicy.bytes(5_000),
    "manual": FlushPolicy(block_rows=5, interval=None),
    "default": FlushPolicy(),
}


def row_of(seed: int, number: int, row: int) -> tuple[Step, Step | None]:
    """What is given for a row of an episode."""
    dice = np.random.default_rng((seed, number, row))
    pixels = dice.integers(0, 256, (8, 8, 3), np.uint8)
    info: dict[str, Any] = {"number": number, "row": row}
    if row % 3 == 0:
        info["text"] = f"episode {number} of {seed}"
    observed = {"observation": {"pixels": pixels, "t": float(dice.normal())}, "info": info}
    return observed, {"action": number * 1000 + row, "reward": float(dice.normal())} if row else None


def length_of(seed: int, number: int) -> int:
    """The number of rows of an episode if its recorder is not killed."""
    return 5 + random.Random(f"{seed} {number}").randrange(60)


def given_of(episode: Episode, declared: specs.Dict) -> Given:
    """What was given of an episode that was read, or would have been."""
    seed, number = episode.metadata["seed"], episode.metadata["number"]
    given = Given(episode.id, declared, {"seed": seed, "number": number}, ending=EpisodeEnd.TRUNCATED)
    for row in range(length_of(seed, number)):
        given.add(*row_of(seed, number, row))
    return given


def record(directory: Path, seed: int, policy: str, at_once: int, form: str) -> None:
    """Records until killed or until standard input ends, and prints on standard output what must survive."""
    stop = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    recorder = Recorder(directory, DECLARED, policy=POLICIES[policy], max_shard_bytes=SHARD_BYTES)
    lanes = Lanes(recorder, at_once)
    source: Source = lanes if form == "columns" else recorder
    numbers: dict[uuid.UUID, int] = {}
    running: list[Open] = []
    turn = 0
    while not stop.is_set() or running:
        while len(running) < at_once and not stop.is_set():
            running.append(source.start_episode(metadata={"seed": seed, "number": len(numbers)}))
            numbers[running[-1].id] = len(numbers)
        for one in [one for one in running if one.rows == length_of(seed, numbers[one.id])]:
            one.end(EpisodeEnd.TRUNCATED)
            running.remove(one)
            if policy == "every_episode":
                _say("ended", one.id, one.rows)
        rows = {one: row_of(seed, numbers[one.id], one.rows) for one in running}
        if form == "columns":
            lanes.append({one: row for one, row in rows.items() if isinstance(one, Lane)})
        else:
            for one, row in rows.items():
                one.append(*row)
        turn += 1
        if policy == "manual" and turn % 20 == 0:
            recorder.flush()
            for one in running:
                _say("durable", one.id, one.rows)
        for key, count in recorder.durable.items():
            _say("durable", key, count)
    recorder.close()
    for key, number in numbers.items():
        _say("ended", key, length_of(seed, number))


def _say(what: str, key: uuid.UUID, rows: int) -> None:
    os.write(1, f"{what} {key.hex} {rows}\n".encode())  # at once, whole, and without Python's buffer


@dataclass
class Promise:
    """The output of a recording process."""

    durable: dict[uuid.UUID, int] = field(default_factory=dict)
    ended: dict[uuid.UUID, int] = field(default_factory=dict)

    def hear(self, line: bytes) -> None:
        """Parses one line; the last one may be incomplete."""
        if not line.endswith(b"\n"):
            return
        what, key, rows = line.decode().split()
        said = self.durable if what == "durable" else self.ended
        said[uuid.UUID(key)] = max(int(rows), said.get(uuid.UUID(key), 0))


class Victim:
    """A process that records into `directory`."""

    def __init__(self, directory: Path, seed: int, policy: str, at_once: int, form: str = "rows") -> None:
        arguments = [str(directory), str(seed), policy, str(at_once), form]
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        self.promise = Promise()

    def kill(self, seconds: float) -> Promise:
        """Kills it this many seconds after its first output; returns its output."""
        pipe = self._pipe()
        self.promise.hear(pipe.readline())
        listener = threading.Thread(target=self._listen, args=(pipe,))
        listener.start()
        time.sleep(seconds)
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        listener.join()
        self._close()
        return self.promise

    def finish(self) -> Promise:
        """Lets it end its episodes and close."""
        output, _ = self._process.communicate()
        for line in output.splitlines(keepends=True):
            self.promise.hear(line)
        assert self._process.returncode == 0
        return self.promise

    def _listen(self, pipe: Any) -> None:  # a binary file
        for line in pipe:
            self.promise.hear(line)

    def _pipe(self) -> Any:  # a binary file
        assert self._process.stdout is not None
        return self._process.stdout

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


@dataclass
class Tally:
    """What kills did, summed up."""

    kills: int = 0
    durable_rows: int = 0
    rows_read: int = 0
    cut: int = 0
    whole: int = 0

    def add(self, other: "Tally") -> None:
        """Adds the numbers of other kills."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def check(directory: Path, promise: Promise) -> Tally:
    """Checks that durable data are complete: nothing lost, wrong or merged; returns numbers."""
    episodes = {episode.id: episode for episode in rlds_kit.open(directory).episodes}
    tally = Tally(1)
    for key, rows in promise.durable.items():
        assert rows == 0 or episodes[key].length >= rows, f"{rows} rows were durable, {episodes[key].length} are there"
        tally.durable_rows += rows
    for key in promise.ended:
        assert episodes[key].end is EpisodeEnd.TRUNCATED
    assert len({episode.metadata["number"] for episode in episodes.values()}) == len(episodes)
    for key, episode in episodes.items():
        given = given_of(episode, DECLARED)
        tally.rows_read += episode.length
        if episode.end is EpisodeEnd.TRUNCATED:
            assert_episode(episode, given)
            tally.whole += 1
        else:
            assert_prefix(episode, given, promise.durable.get(key, 0))
            tally.cut += 1
    return tally


def kill_one(directory: Path, seed: int, at_once: int, form: str = "rows") -> Tally:
    """Kills a process that records `at_once` episodes at once; what was in the directory before must stay as it was."""
    directory.mkdir()
    before = _record_before(directory / "data")
    dice = random.Random(seed)
    victim = Victim(directory / "data", seed, dice.choice(list(POLICIES)), at_once, form)
    promise = victim.kill(dice.expovariate(1 / 0.08))
    for path, content in before.items():
        assert path.read_bytes() == content
        path.rename(directory / path.name)  # out of the way: the check knows only what the victim gave
    return check(directory / "data", promise)


def kill_one_of_two(directory: Path, seed: int) -> Tally:
    """Kills one of two processes that record into one directory; the other one must not notice."""
    dice = random.Random(seed)
    victim = Victim(directory, seed, dice.choice(list(POLICIES)), dice.choice((1, 4)))
    other = Victim(directory, seed + 1_000_000, dice.choice(list(POLICIES)), dice.choice((1, 4)))
    promise = victim.kill(dice.expovariate(1 / 0.08))
    survived = other.finish()
    dataset = rlds_kit.open(directory)
    assert {episode.id for episode in dataset.episodes} >= survived.ended.keys()
    tally = Tally(1)
    for episode in dataset.episodes:
        given = given_of(episode, DECLARED)
        if episode.metadata["seed"] == seed + 1_000_000 or episode.end is EpisodeEnd.TRUNCATED:
            assert_episode(episode, given)
            tally.whole += 1
        else:
            assert_prefix(episode, given, promise.durable.get(episode.id, 0))
            tally.cut += 1
        tally.rows_read += episode.length
    known = {episode.id for episode in dataset.episodes}
    assert {key for key, rows in promise.durable.items() if rows} <= known
    assert promise.ended.keys() <= known
    tally.durable_rows = sum(promise.durable.values())
    return tally


def _record_before(directory: Path) -> dict[Path, bytes]:
    with Recorder(directory, DECLARED) as recorder:
        episode = recorder.start_episode()
        episode.append(*row_of(0, 0, 0))
        episode.end(EpisodeEnd.TERMINATED)
    return {path: path.read_bytes() for path in [*directory.glob("*.riegeli"), *manifests_in(directory)]}


if __name__ == "__main__":
    record(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5])

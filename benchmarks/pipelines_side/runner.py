"""Runs players as processes of their own, one after the other."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from side_by_side.stopwatch import bytes_on_disk
from side_by_side.venvs import MINARI

from pipelines_side import fields, inputs, reference
from pipelines_side.arrays import Arrays
from pipelines_side.contests import Contest, System

Result = dict[str, Any]
_HERE: Final = Path(__file__).parent
_CHECKED_BATCHES: Final = 20
_FIRST_BATCH: Final = {"play_rlds_kit.py": "first_batch_rlds_kit.py", "play_tfds.py": "first_batch_tfds.py"}


class Runner:
    """Makes inputs, plays contests, checks what comes out.

    Args:
      workdir: keeps the inputs.
      pythons: the interpreter of each peer that has its own and can run.
      seconds: of timing, for each player.
    """

    def __init__(self, workdir: Path, pythons: Mapping[str, Path], seconds: float) -> None:
        self._workdir, self._pythons, self._seconds = workdir, pythons, seconds

    def systems(self, contest: Contest) -> list[System]:
        """Those that can run."""
        return [system for system in contest.systems if system.peer is None or system.peer.name in self._pythons]

    def prepare(self, contest: Contest) -> Path:
        """Makes the input in the formats of all systems; returns its folder."""
        folder = inputs.make(contest.given, self._workdir)
        for system in self.systems(contest):
            kind, _, encoding = system.files.partition("-")
            if encoding:
                options = ["--encoding", encoding, "--file-format", kind]
                write = _writer([sys.executable, _HERE / "write_tfds.py", folder / "arrays", *options])
                inputs.once(folder / system.files, write)
            elif kind == "minari":
                write = _writer([self._pythons[MINARI.name], _HERE / "write_minari.py", folder / "arrays"])
                inputs.once(folder / system.files, write)
        return folder

    def round(self, contest: Contest, folder: Path, number: int) -> Iterator[tuple[str, Result]]:
        """Every system once, in turn; the order is reversed in every other round. Yields name and measurements.

        The first round also looks at what comes out.
        """
        systems = self.systems(contest)
        for system in systems if number % 2 == 0 else reversed(systems):
            if contest.verb == "bytes":
                yield system.name, {"bytes": bytes_on_disk(folder / system.files) / len(Arrays(folder / "arrays"))}
            elif contest.verb == "startup":
                yield system.name, self._start(contest, system, folder)
            elif number == 0 and contest.check is not None:
                yield system.name, self._play_and_check(contest, system, folder)
            else:
                yield system.name, self._play(contest, system, folder)

    def _start(self, contest: Contest, system: System, folder: Path) -> Result:
        (_forget if contest.unit == "cold" else _read)(folder / system.files)
        begin = time.perf_counter()
        result = _run([self._python(system), _HERE / _FIRST_BATCH[system.player], system.stream, folder])
        return result | {"process": time.perf_counter() - begin}

    def _play_and_check(self, contest: Contest, system: System, folder: Path) -> Result:
        digests, values = self._workdir / "found.npy", self._workdir / "found.npz"
        if contest.check == "values":
            result = self._play(contest, system, folder, "--values", values)
            return result | {"elements": reference.same_statistics(dict(np.load(values)), folder)}
        limit = ("--batches", _CHECKED_BATCHES) if contest.check == "some" else ()
        result = self._play(contest, system, folder, "--digests", digests, *limit)
        expected = (reference.windows if contest.unit == "windows/s" else reference.transitions)(folder)
        if contest.row.endswith("in-memory"):
            expected = expected.of_first(Arrays(folder / "arrays").prefix(fields.MEMORY_BYTES))
        found = np.load(digests)
        result["elements"] = reference.same_elements(found, expected, sample=contest.check == "some")
        if contest.row == "transitions":
            result |= vars(reference.mixing(found, expected))
        return result

    def _play(self, contest: Contest, system: System, folder: Path, *options: object) -> Result:
        command = [self._python(system), _HERE / system.player, contest.verb, system.stream, folder]
        return _run([*command, "--seconds", self._seconds, *options])

    def _python(self, system: System) -> Path:
        return Path(sys.executable) if system.peer is None else self._pythons[system.peer.name]


def _writer(command: list[object]) -> Callable[[Path], Result]:
    return lambda out: _run([*command, out])


def _run(command: list[object]) -> Result:
    """The last line of what a process prints, if it is JSON."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command[1:5]))} failed:\n{done.stderr[-2000:]}")
    lines = done.stdout.strip().splitlines()
    result: Result = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return result


def _read(folder: Path) -> None:
    """Brings all files into the page cache."""
    for path in filter(Path.is_file, folder.rglob("*")):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def _forget(folder: Path) -> None:
    """Has the system drop all files from the page cache."""
    for path in filter(Path.is_file, folder.rglob("*")):
        with path.open("rb") as file:
            os.fsync(file.fileno())  # what waits to be written cannot be dropped
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

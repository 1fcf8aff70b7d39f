"""What is played against what, and how one round goes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from side_by_side import make_traces
from side_by_side.trace import Trace
from side_by_side.venvs import ENVLOGGER, MINARI, TFDS, Peer

QUEUE_MULTIPLE: Final = 20
"""A run must be so many times as long as what the recorder may keep in memory, or it measures the queue."""
MIB: Final = 1 << 20


@dataclass(frozen=True)
class System:
    """One way of recording.

    Attributes:
      name: for the table.
      peer: None for rlds_kit.
      variant: the argument of its player.
    """

    name: str
    peer: Peer | None
    variant: str = ""


OURS_DM_ENV: Final = System("rlds_kit EnvLogger", None, "dm_env")
OURS_GYMNASIUM: Final = System("rlds_kit GymnasiumLogger", None, "gymnasium")
THEIR_ENVLOGGER: Final = System("EnvLogger 1.2", ENVLOGGER)
THEIR_TFDS: Final = System("TFDS tfrecord PNG", TFDS)
MINARI_HDF5: Final = System("Minari HDF5 lossless", MINARI, "hdf5 lossless")
MINARI_JPEG: Final = System("Minari HDF5 JPEG (its default)", MINARI, "hdf5 JPEG")
MINARI_ARROW: Final = System("Minari Arrow lossless", MINARI, "arrow lossless")
MINARI_PARQUET: Final = System("Minari Parquet lossless", MINARI, "parquet lossless")


@dataclass(frozen=True)
class Contest:
    """Systems that record the same rows.

    Attributes:
      title: for the table.
      trace: name.
      memory_limit: of rlds_kit's recorder, bytes; decides how long the run is.
      systems: ours first.
    """

    title: str
    trace: str
    memory_limit: int
    systems: tuple[System, ...]

    def rows(self, trace: Trace) -> int:
        """How many rows every system records."""
        return trace.whole_episodes(QUEUE_MULTIPLE * self.memory_limit // trace.row_bytes)


def contests(*, quick: bool) -> list[Contest]:
    """All of them; the long one runs with the recorder's own memory limit."""
    envlogger = (OURS_DM_ENV, THEIR_ENVLOGGER)
    minari = (OURS_GYMNASIUM, MINARI_HDF5, MINARI_ARROW, MINARI_PARQUET, MINARI_JPEG)
    image, vectors, camera = "SpaceInvaders", make_traces.VECTORS, make_traces.CAMERA
    if quick:
        return [
            Contest(image, image, 16 * MIB, envlogger),
            Contest(f"{image} (short)", image, 5 * MIB, minari),
            Contest(camera, camera, MIB, (OURS_DM_ENV, THEIR_ENVLOGGER, MINARI_HDF5)),
            Contest(vectors, vectors, MIB // 8, (OURS_DM_ENV, THEIR_ENVLOGGER, MINARI_HDF5)),
        ]
    games = [Contest(game, game, (256 if game == image else 64) * MIB, envlogger) for game in make_traces.GAMES]
    return [
        *games,
        Contest(f"{image} (short)", image, 15 * MIB, (*minari, THEIR_TFDS)),
        Contest(camera, camera, 8 * MIB, (OURS_DM_ENV, THEIR_ENVLOGGER, *minari)),
        Contest(vectors, vectors, MIB, (OURS_DM_ENV, THEIR_ENVLOGGER, *minari[:-1])),
    ]


class Runner:
    """Runs players as processes of their own, one after the other.

    Args:
      workdir: holds traces and, while they are measured, recordings.
      pythons: the interpreter of each peer that can run.
    """

    def __init__(self, workdir: Path, pythons: Mapping[str, Path]) -> None:
        self._out, self._traces, self._pythons = workdir / "recording", workdir / "traces", pythons

    def can_run(self, system: System) -> bool:
        """Whether its environment is there."""
        return system.peer is None or system.peer.name in self._pythons

    def round(self, contest: Contest, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every system once, in turn; the order is reversed in every other round. Yields name and measurements."""
        trace = make_traces.make(contest.trace, self._traces)
        rows = contest.rows(Trace(trace))
        systems = [system for system in contest.systems if self.can_run(system)]
        for system in systems if number % 2 == 0 else reversed(systems):
            shutil.rmtree(self._out, ignore_errors=True)
            extra = ["--rows", str(rows), "--memory-limit", str(contest.memory_limit)]
            result = self._play(system, "record", trace, extra) | self._play(system, "read", trace, extra)
            if number == 0:
                result["fidelity"] = self._play(system, "check", trace, extra)
            shutil.rmtree(self._out, ignore_errors=True)
            yield system.name, result

    def _play(self, system: System, verb: str, trace: Path, extra: list[str]) -> dict[str, Any]:
        python = sys.executable if system.peer is None else self._pythons[system.peer.name]
        script = Path(__file__).with_name("play_rlds_kit.py" if system.peer is None else system.peer.script)
        command = [python, script, verb, trace, self._out, "--variant", system.variant, *extra]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{system.name}: {verb} failed:\n{done.stderr[-2000:]}")
        result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return result

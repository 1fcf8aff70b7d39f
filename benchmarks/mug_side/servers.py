"""Starts one server or the other, both with the lamps; each in processes of its own."""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from studio_side.processes import Server

from tests.studio.studio_process import StudioProcess, running

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
FPS: Final = 30.0
LAMP: Final[dict[str, Any]] = {
    "name": "Lamp",
    "environment": "rlds_kit_benchmarks/Lamp-v0",
    "turn": "clock",
    "fps": FPS,
}
LAKE: Final[dict[str, Any]] = {
    "name": "Lake",
    "environment": "FrozenLake-v1",
    "kwargs": {"is_slippery": False},
    "turn": "press",
}
"""Step by step, with pictures ahead."""
KEYS: Final = [{"name": "wait", "keys": ["KeyQ"]}, {"name": "left", "keys": ["ArrowLeft"]}]
CONTROLS: Final = {"actions": [*KEYS, {"name": "right", "keys": ["ArrowRight"]}], "default": 0}
SEATS: Final = [{"name": name, "is_human": True, "controls": CONTROLS} for name in ("first", "second")]
LAMPS: Final[dict[str, Any]] = {
    "name": "Lamps",
    "environment": "mug_side.lamp:parallel_env",
    "interface": "pettingzoo",
    "fps": FPS,
    "seats": SEATS,
    "together": {"countdown_seconds": 1.0},
}


@dataclass
class Mug:
    """A server of Multi-User Gymnasium that runs.

    Attributes:
      directory: that it works in; recordings are below `data`.
      port: on loopback.
      process: of the server.
    """

    directory: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """Of the page."""
        return f"http://127.0.0.1:{self.port}"

    def rows(self) -> list[int]:
        """How many steps each file has that it wrote of games."""
        files = sorted(self.directory.glob("data/lamp/lamp/*_ep*.csv"))
        return [len(each.read_text(encoding="utf-8").splitlines()) - 1 for each in files]


@contextmanager
def mug(python: Path, mode: str, directory: Path | None = None, port: int = 0) -> Iterator[Mug]:
    """A server of MUG, which is killed at the end: Ctrl-C would do the same.

    Args:
      python: of an environment that has MUG.
      mode: of `mug_server.py`.
      directory: to work in; None: a new one.
      port: on loopback; 0: any.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as new:
        place = Path(new) if directory is None else directory
        port = port or _free_port()
        command = [str(python), str(HERE / "mug_server.py"), str(port), mode]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, cwd=place, **quiet) as process:
            try:
                _await(f"http://127.0.0.1:{port}/robots.txt", process)
                yield Mug(place, port, process)
            finally:
                process.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _await(url: str, process: subprocess.Popen[bytes], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        try:
            httpx.get(url, trust_env=False)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("MUG's server does not answer")


@contextmanager
def studio(directory: Path) -> Iterator[StudioProcess]:
    """A studio that knows the lamps."""
    environ = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")])}
    with running(directory, "--module", "mug_side.lamp", "--workers", "1", environ=environ) as process:
        yield process


def usage(server: Mug | StudioProcess) -> Server:
    """What tells CPU time and memory of the server."""
    return Server(server.process.pid, server.url)

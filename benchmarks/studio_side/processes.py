"""The server's process and its workers: started, watched through /proc, and ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """One that runs.

    Attributes:
      pid: of the server itself.
      url: of the socket.
    """

    pid: int
    url: str

    def cpu_seconds(self) -> tuple[float, float]:
        """That the server, and its workers, have used."""
        return _cpu_seconds(self.pid), sum(_cpu_seconds(pid) for pid in _below(self.pid))

    def workers(self) -> int:
        """How many processes it has."""
        return len(_below(self.pid))

    def memory(self) -> float:
        """Of the server itself, in MiB."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


@contextmanager
def serving(directory: Path) -> Iterator[Server]:
    """A server that records below a directory, until the block is left."""
    paths = [str(HERE.parent), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    command = [sys.executable, str(HERE / "server.py"), str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None  # noqa: S101  for mypy: it is a pipe
            yield Server(process.pid, f"ws://127.0.0.1:{int(process.stdout.readline())}/ws/play")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _below(pid: int) -> list[int]:
    """Its children, and theirs."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    children = [int(child) for child in text.split()]
    return children + [each for child in children for each in _below(child)]

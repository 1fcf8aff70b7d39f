"""A PostgreSQL for the tests: a cluster in a temporary directory, which listens only to a socket there."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_SYSTEM_USER = "postgres"
"""PostgreSQL refuses to run as root; Debian's package makes this user."""


def find_programs() -> Path | None:
    """The directory of `initdb` and `pg_ctl`, on the path or where Debian has them."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return debian[-1].parent if debian else None


def why_not() -> str:
    """Why a cluster cannot run on this machine; empty: it can."""
    if os.name != "posix" or find_programs() is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    import pwd  # which only Unix has

    if os.geteuid() == 0 and _SYSTEM_USER not in {user.pw_name for user in pwd.getpwall()}:
        return f"PostgreSQL refuses to run as root, and there is no user {_SYSTEM_USER}"
    return ""


class Cluster:
    """A running PostgreSQL.

    Args:
      programs: where its programs are.
      directory: for its files and its socket.
    """

    def __init__(self, programs: Path, directory: Path) -> None:
        self._programs, self._directory = programs, directory
        self._made = 0
        self._as_user: Sequence[str] = ("runuser", "-u", _SYSTEM_USER, "--") if os.geteuid() == 0 else ()

    def run(self, program: str, *arguments: str) -> None:
        """Runs one of its programs."""
        command = [*self._as_user, str(self._programs / program), *arguments]
        # To a file: the server inherits the output, and would leave a pipe open for ever.
        with (self._directory / "log").open("ab") as log:
            done = subprocess.run(command, stdout=log, stderr=log, cwd="/", check=False)
        assert done.returncode == 0, (self._directory / "log").read_text(errors="replace")

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        options = f"-k {self._directory} -c listen_addresses='' -c fsync=off"
        self.run("pg_ctl", "-D", str(self._directory / "data"), "-w", "-o", options, "start")

    def stop(self) -> None:
        """Stops the server at once."""
        self.run("pg_ctl", "-D", str(self._directory / "data"), "-m", "immediate", "stop")

    def new_database(self) -> str:
        """The URL of an empty database."""
        self._made += 1
        name = f"studio{self._made}"
        self.run("createdb", "-h", str(self._directory), "-U", "tests", name)
        return f"postgresql://tests@/{name}?host={self._directory}"


@contextmanager
def running() -> Iterator[Cluster]:
    """A cluster while the context is entered."""
    programs = find_programs()
    assert programs is not None
    directory = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a short path: it is a socket's
    try:
        if os.geteuid() == 0:
            shutil.chown(directory, _SYSTEM_USER)
        cluster = Cluster(programs, directory)
        data = ("-D", str(directory / "data"), "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        try:
            cluster.run("initdb", *data)
            cluster.start()
            yield cluster
        finally:
            if (directory / "data" / "postmaster.pid").exists():
                cluster.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)  # if it could not be started, parts of it may still be running

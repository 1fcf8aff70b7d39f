"""A studio as users run it: `rlds-kit studio` in a separate process, and an HTTP client."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx

import rlds_kit

MODULE: Final = "tests.trials.environments.odd_environments"
"""Registers the environments that tests play."""
CORRIDOR: Final = "rlds_kit_tests/Corridor-v0"
PATIENCE: Final = 120.0
"""Seconds for the server to answer; a machine of CI is slow."""
Found = TypeVar("Found")


@dataclass
class StudioProcess:
    """A running studio.

    Attributes:
      directory: its database and its recordings.
      url: of the page, without a path.
      link: that it printed.
      process: of the server.
      said: the lines that it has printed so far.
      people: those with an account here, by name.
    """

    directory: Path
    url: str
    link: str
    process: subprocess.Popen[str]
    said: Sequence[str] = field(repr=False)
    people: "dict[str, Api]" = field(default_factory=dict, repr=False)

    @property
    def designer(self) -> "Api":
        """The person whom the link logs in."""
        if "designer" not in self.people:
            found = re.findall(r"token=([^&#\s]+)", self.link)
            self.people["designer"] = Api.log_in(self.url, token=found[0])
        return self.people["designer"]

    def person(self, role: str, name: str) -> "Api":
        """A person whom the designer invited; a second call with the same name returns the same person."""
        if name not in self.people:
            invitation = self.designer.post("invitations", role=role)["invitation"]
            self.people[name] = Api.log_in(self.url, invitation=invitation, name=name)
        return self.people[name]

    @property
    def recordings(self) -> Path:
        """The directory of the datasets."""
        return self.directory / "recordings"

    def kill(self, *, with_workers: bool = False) -> None:
        """Kills the server as `kill -9` does; its workers notice, unless they die at the same time."""
        if with_workers:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait(PATIENCE)


@contextmanager
def running(
    directory: Path,
    *options: str,
    command: Sequence[str] = ("-m", "rlds_kit"),
    environ: Mapping[str, str] | None = None,
    python: Path | None = None,
) -> Iterator[StudioProcess]:
    """A studio while the context is entered.

    Args:
      directory: of the studio.
      options: of `rlds-kit studio`.
      command: arguments of Python.
      environ: more variables of the environment.
      python: of a separate installation, which does not see this checkout and its tests; None: this one.
    """
    checkout = Path(__file__).parents[2]
    arguments = ["studio", str(directory), "--port", "0", "--no-browser", *options]
    if python is None:
        arguments += ["--module", MODULE]
        paths = os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    else:
        paths, checkout = "", directory.parent
    process = subprocess.Popen(
        [str(python or sys.executable), "-u", *command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=checkout,
        start_new_session=True,  # a new process group, so that all its processes can be killed at once
        env={**os.environ, "PYTHONPATH": paths, **(environ or {})},
    )
    said: list[str] = []
    reader = threading.Thread(target=_read, args=(process, said), daemon=True)
    reader.start()
    people: dict[str, Api] = {}
    try:
        link = wait_for(lambda: _link(process, said))
        yield StudioProcess(directory, re.findall(r"^https?://[^/?#]+", link)[0], link, process, said, people)
    finally:
        for each in people.values():
            each.close()
        _end(process, reader, said)


def _end(process: subprocess.Popen[str], reader: threading.Thread, said: Sequence[str]) -> None:
    """Interrupts a studio as Ctrl-C does; kills its processes if that does not end it."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE)
        reader.join(PATIENCE)  # the output ends when the last worker has closed its copy
        assert not reader.is_alive(), f"workers outlive their server, which said: {''.join(said)}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _read(process: subprocess.Popen[str], said: list[str]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        said.extend(lines)


def _link(process: subprocess.Popen[str], said: Sequence[str]) -> str:
    assert process.poll() is None, "".join(said)
    return next(iter(re.findall(r"https?://\S+", "".join(said))), "")


def wait_for(condition: Callable[[], Found]) -> Found:
    """Waits until a function returns a true value, and returns it."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def lengths(dataset: Path) -> list[int]:
    """The lengths of all episodes on the disk, including those that are being recorded."""
    return [episode.length for episode in rlds_kit.open(dataset, include_open=True).episodes]


class Api:
    """Sends requests like the browser of one person.

    Args:
      url: of the studio.
      token: of the login; None: not logged in.
      cookie: the name of the cookie with the token.
    """

    def __init__(self, url: str, token: str | None = None, cookie: str = "") -> None:
        self.url, self.token, self.cookie = url, token, cookie
        cookies = {} if token is None else {cookie: token}
        self._client = httpx.Client(
            base_url=f"{url}/api/", headers={"Origin": url}, cookies=cookies, timeout=PATIENCE, trust_env=False
        )

    @classmethod
    def log_in(cls, url: str, **body: Any) -> "Api":
        """Logs a person in."""
        nobody = cls(url)
        done = nobody.ask("POST", "login", body)
        nobody.close()
        return cls(url, _content(done)["token"], next(iter(done.cookies)))

    def close(self) -> None:
        """Closes its connections."""
        self._client.close()

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, **params: Any
    ) -> httpx.Response:
        """Sends a request, and returns the response, with any status."""
        return self._client.request(method, path, json=body, headers=headers, params=params or None)

    def send(self, method: str, path: str, content: bytes) -> httpx.Response:
        """Sends any bytes, and returns the response, with any status."""
        return self._client.request(method, path, content=content)

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of a GET that must succeed."""
        return _content(self.ask("GET", path, **params))

    def post(self, path: str, **body: Any) -> Any:
        """The JSON of a POST that must succeed."""
        return _content(self.ask("POST", path, body))

    def put(self, path: str, **body: Any) -> Any:
        """The JSON of a PUT that must succeed."""
        return _content(self.ask("PUT", path, body))

    def study(self, name: str, *environments: Mapping[str, Any], enabled: bool = True, **more: Any) -> dict[str, Any]:
        """Makes a study that others may play."""
        given = [{"name": each["environment"], **each} for each in environments]
        made: dict[str, Any] = self.post("studies", name=name, environments=given, **more)["study"]
        if enabled:
            self.put(f"studies/{made['id']}/state", enabled=True)
        return made

    def session(self, study: Mapping[str, Any], number: int = 0) -> tuple[str, str]:
        """Opens a session in an environment of a study; returns its id and the token to play."""
        opened = self.post("sessions", study=study["id"], environment=study["environments"][number]["id"])
        return opened["session"]["id"], opened["token"]

    def episodes(self, **wanted: Any) -> list[dict[str, Any]]:
        """The rows that the person may see, the oldest first."""
        rows: list[dict[str, Any]] = self.get("episodes", sort="started", **wanted)["episodes"]
        return rows


def _content(response: httpx.Response) -> Any:
    assert response.is_success, (response.request.method, str(response.url), response.status_code, response.text)
    return response.json()

"""A crowd in a studio inside the test, and people who go through it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpx2 import Response
from starlette.testclient import WebSocketTestSession

from rlds_kit.crowd.tasks import parse_crowd
from rlds_kit.studio.accounts import login
from tests.studio.api.studio import ORIGIN, Person, Studio, ok, opened, refused
from tests.studio.api.window import URL, Window
from tests.studio.studio_process import wait_for

FILE = """
name = "Walks"
recruitment = ["prolific", "mturk", "email", "social", "laboratory", "test"]
consent = "I agree to be recorded."
attempts = 2

[[before]]
name = "age"
label = "Your age"
kind = "number"
least = 18
most = 120

[[check]]
name = "goal"
label = "Where do you go?"
kind = "choice"
options = ["to the right", "nowhere"]
correct = "to the right"

[[after]]
name = "mood"
label = "Your mood"
kind = "number"
least = -10
required = false

[[after]]
name = "remarks"
label = "Anything else?"
required = false

[screening]
least_width = 800
most_latency_ms = 150

[groups.main]
tasks = ["walk"]

[groups.cards]
mode = "choose"

[tasks.walk]
title = "A walk"
environment = "rlds_kit_tests/Corridor-v0"
pace = "turns"
instructions = "Go right."
target = 100
collectors = ["time_played"]
treatment = { base_cents = 100, requirements = [{ collector = "score", at_least = 5 }] }

[tasks.stroll]
title = "A stroll"
environment = "rlds_kit_tests/Corridor-v0"
pace = "turns"
target = 100
play_again = true
"""
GOOD = {"width": 1200, "height": 800, "has_keyboard": True, "latency_ms": 20.0}


def arriving(group: str = "main", **parameters: str) -> dict[str, Any]:
    """What a page sends first."""
    return {"group": group, "parameters": parameters or {"f": "social"}}


@dataclass
class Visitor:
    """Somebody with a browser of their own.

    Attributes:
      client: of the studio that they visit.
      origin: of its pages.
      cookies: of the browser.
    """

    client: Any
    origin: str = ORIGIN
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: Any = None) -> Response:
        """Sends a request, as a page of the studio does."""
        self.client.cookies.clear()
        found: Response = self.client.request(method, f"/api/crowd/{path}", headers=self.headers, json=body)
        self.cookies |= dict(found.cookies)
        self.client.cookies.clear()
        return found

    @property
    def headers(self) -> dict[str, str]:
        """What their browser sends."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Origin": self.origin, **({"Cookie": cookie} if cookie else {})}

    def come(self, group: str = "main", **parameters: str) -> dict[str, Any]:
        """Opens the link."""
        return self.me(self.ask("POST", "arrivals", arriving(group, **parameters)))

    def me(self, response: Response | None = None) -> dict[str, Any]:
        """Where they are."""
        found: dict[str, Any] = ok(self.ask("GET", "me") if response is None else response)["me"]
        return found

    def go(self, name: str, **body: Any) -> dict[str, Any]:
        """A step further."""
        return self.me(self.ask("POST", f"me/{name}", body))

    def is_refused(self, status: int, code: str, method: str, path: str, body: Any = None) -> str:
        """Sends a request that must be refused; returns the message."""
        return str(refused(self.ask(method, path, body), status, code)["message"])

    def to_the_lobby(self, group: str = "main", **parameters: str) -> dict[str, Any]:
        """Goes all the way to the lobby."""
        here = self.come(group, **parameters)
        self.go("consent", accepted=here["consent"]["hash"])
        self.go("answers", answers={"age": 30})
        self.go("device", **GOOD)
        self.go("instructed")
        return self.go("check", answers={"goal": "to the right"})

    def enter(self) -> str:
        """The token to play."""
        return str(ok(self.ask("POST", "me/enter", {}))["token"])

    @contextmanager
    def playing(self) -> Iterator[Window]:
        """A window in which they play."""
        token = self.enter()
        socket: WebSocketTestSession
        with self.client.websocket_connect(URL, headers=self.headers) as socket:
            window = Window(socket)
            window.say("hello", token=token)
            yield window
            window.say("leave")

    def walk(self, steps: int) -> None:
        """Plays so many steps to the right: the third ends the episode."""
        with self.playing() as window:
            window.begin()
            for step in range(1, steps + 1):
                window.press("ArrowRight", step)


@contextmanager
def a_crowd(directory: Path, text: str = FILE, **settings: Any) -> Iterator[Studio]:
    """A studio with a crowd."""
    with opened(directory, crowd=parse_crowd(text), **settings) as studio:
        yield studio


def visitor(studio: Studio) -> Visitor:
    """Somebody with a new browser."""
    return Visitor(studio.client)


def experimenter(studio: Studio) -> Person:
    """Who runs the crowd."""
    return studio.known(studio.do(login.first_designer).id)


def sweep(studio: Studio) -> None:
    """Half an hour passes without a sign of anybody."""
    parts = studio.state.parts
    wait_for(lambda: not any(parts.presence._connections.values()))  # who closed a window is noted a moment later
    before, parts.presence._now = parts.presence._now, lambda: before() + 1800.0
    try:
        assert studio.client.portal is not None
        studio.client.portal.call(parts.playing.sweep)
    finally:
        parts.presence._now = before

"""A simulated person who trains an agent over the studio's WebSocket, like its page."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import WebSocketTestSession

from tests.studio.api.studio import Person
from tests.studio.studio_process import wait_for


class Trainer:
    """What a page does.

    Args:
      socket: that is open.

    Attributes:
      state: the latest.
      pictures: how many came.
      pressed: answers to presses, in order.
    """

    def __init__(self, socket: WebSocketTestSession) -> None:
        self._socket = socket
        self.state: dict[str, Any] = {}
        self.pictures: list[str] = []
        self.pressed: list[dict[str, Any]] = []
        self.failed = ""

    def do(self, what: str, **more: Any) -> None:
        """Sends a message."""
        self._socket.send_json({"do": what, **more})

    def hear(self) -> None:
        """Receives the next message, and confirms pictures."""
        match self._socket.receive_json():
            case {"state": state}:
                self.state = state
            case {"picture": picture, "frame": frame}:
                self.pictures.append(picture)
                self.do("shown", frame=frame)
            case {"pressed": pressed}:
                self.pressed.append(pressed)
            case {"failed": reason}:
                self.failed = reason

    def until(self, is_so: Callable[["Trainer"], object]) -> None:
        """Waits; the time-out of the test ends what never comes."""
        while not is_so(self):
            self.hear()

    def press(self, key: str, **more: Any) -> dict[str, Any] | None:
        """Presses a key and waits until it is confirmed; returns its effect."""
        number = len(self.pressed)
        self.do("press", key=key, id=number, sent_ns=1_000 + number, frame=len(self.pictures), **more)
        self.until(lambda me: len(me.pressed) > number)
        found: dict[str, Any] | None = self.pressed[-1]["did"]
        return found

    def go_to(self, stage: str) -> None:
        """Continues to a stage, and begins it."""
        self.until(lambda me: me.state)
        while self.state["stage"]["name"] != stage:
            before = self.state["stage"]["name"]
            self.do("next")
            self.until(lambda me, before=before: me.state["stage"]["name"] != before)  # type: ignore[misc]  # bound now
        self.do("resume")
        self.until(lambda me: not me.state["is_paused"])


@contextmanager
def training(person: Person, name: str, **query: str) -> Iterator[Trainer]:
    """A simulated person in a training, until the context is left."""
    parts = "&".join(f"{key}={value}" for key, value in {"training": name, **query}.items())
    client = person.studio.client
    headers = {"Authorization": f"Bearer {person.token}"}
    with client.websocket_connect(f"ws://127.0.0.1/ws/tasks/train?{parts}", headers=headers) as socket:
        yield Trainer(socket)
    wait_for(lambda: not person.studio.state.tasks[0]._lives._live)  # all is written

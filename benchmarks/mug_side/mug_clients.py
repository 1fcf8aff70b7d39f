"""Players of MUG without a browser: `python mug_clients.py URL COUNT SECONDS`, in an environment that has MUG.

They speak Socket.IO as its page does, and paint nothing. "begun" is printed when all play, or wait for others; then,
after so many seconds, how many pictures each got in that time.
"""

import json
import sys
import threading
import time
import urllib.request
from typing import Any

import socketio

GATE = threading.Semaphore(10)
"""So many connect at the same time."""


class Player:
    """One who plays or waits."""

    def __init__(self, url: str, name: str) -> None:
        self.frames, self.has_begun = 0, threading.Event()
        self._url, self._name, self._game = url, name, ""
        self._socket = socketio.Client(reconnection=False)
        self._socket.on("activate_scene", self._activate)
        self._socket.on("start_game", self._started)
        self._socket.on("waiting_room", lambda _: self.has_begun.set())
        self._socket.on("server_render_state", self._shown)

    def enter(self) -> None:
        """Asks for the page, connects and says who it is."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with GATE:
            opener.open(f"{self._url}/{self._name}").read()
            self._socket.connect(self._url, transports=["websocket"])
            self._socket.emit("register_subject", {"subject_id": self._name, "mugGlobals": {}})
            if not self.has_begun.wait(60):
                raise RuntimeError(f"{self._name} did not begin within a minute")

    def _activate(self, scene: dict[str, Any]) -> None:
        if scene["scene_type"] == "StartScene":
            self._socket.emit("advance_scene", {"session_id": ""})
        elif scene["scene_type"] == "GymScene":
            self._socket.emit("join_game", {"session_id": ""})

    def _started(self, said: dict[str, Any]) -> None:
        self._game = said["game_id"]

    def _shown(self, _: Any) -> None:
        self.frames += 1
        self.has_begun.set()
        if self.frames % 15 == 0:
            key = "ArrowLeft" if self.frames % 30 else "ArrowRight"
            self._socket.emit("player_action", {"key": key, "game_id": self._game})


def main() -> None:
    """Plays."""
    url, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    players = [Player(url, f"player-{number}") for number in range(count)]
    entering = [threading.Thread(target=player.enter) for player in players]
    for each in entering:
        each.start()
    for each in entering:
        each.join()
    begun = [player.frames for player in players]
    print("begun", flush=True)
    time.sleep(seconds)
    print(json.dumps([player.frames - before for player, before in zip(players, begun, strict=True)]), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()

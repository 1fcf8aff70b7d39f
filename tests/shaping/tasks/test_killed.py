"""A studio that is killed in the middle of a training."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

import rlds_kit
from rlds_kit.cli import main
from rlds_kit.shaping.feedback import read_feedback
from rlds_kit.shaping.learners import mountain_car_tamer
from rlds_kit.shaping.trainings import position_of
from tests.studio.studio_process import Api, StudioProcess, running


def _open(studio: StudioProcess, who: Api) -> ClientConnection:
    address = studio.url.replace("http", "ws", 1)
    headers = {"Cookie": f"{who.cookie}={who.token}"}
    url = f"{address}/ws/tasks/train?training=mountain_car"
    return connect(url, origin=Origin(studio.url), additional_headers=headers, max_size=None, proxy=None)


def _until(socket: ClientConnection, name: str, **wanted: Any) -> dict[str, Any]:
    """The next message of a kind, with these values."""
    while True:
        message = json.loads(socket.recv(timeout=120))
        if "picture" in message:
            socket.send(json.dumps({"do": "shown", "frame": message["frame"]}))
        found: dict[str, Any] = message.get(name, {})
        if found and all(found[key] == value for key, value in wanted.items()):
            return found


@pytest.mark.thorough
def test_no_press_that_was_confirmed_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    """The server and its processes die at once; the training continues with the agent from the recording."""
    with running(tmp_path, "--task", "train") as studio:
        anna = studio.person("participant", "anna")
        with _open(studio, anna) as socket:
            for do in ("next", "resume"):
                socket.send(json.dumps({"do": do}))
            _until(socket, "state", is_paused=False)
            socket.send(json.dumps({"do": "speed", "step_ms": 20}))
            while _until(socket, "state")["counters"]["step"] < 25:  # then there is something to judge
                pass
            confirmed = []
            for number in range(30):
                key = "ppn"[number % 3]
                socket.send(json.dumps({"do": "press", "key": key, "id": number}))
                assert _until(socket, "pressed", id=number)["did"]
                confirmed.append(key)
            studio.kill(with_workers=True)
    recording = tmp_path / "tasks" / "train" / "mountain_car"
    dataset = rlds_kit.open(recording, include_open=True)
    games = dataset.episodes
    saved = [event.key for each in games for event in read_feedback(dataset, each).events]
    assert saved == confirmed
    result = CliRunner().invoke(main, ["relearn", str(recording)])
    assert result.exit_code == 0, result.output
    (training,) = {each.metadata["training"] for each in games}
    position = position_of(dataset, training, mountain_car_tamer)
    assert (position.stage, position.n_games, position.sequence) == ("training 1", 0, 2)
    assert position.agent is not None
    assert position.agent.n_feedbacks > 0

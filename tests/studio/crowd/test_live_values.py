"""What a page shows while somebody plays goes on over sessions and losses, and is what they are paid for."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from rlds_kit.studio.crowd import worth
from tests.studio.api.studio import Studio, ok
from tests.studio.crowd.crowds import Visitor, a_crowd, visitor
from tests.studio.studio_process import wait_for


def _directory(studio: Studio) -> Path:
    game = studio.state.parts.desk.games["walk"]
    return studio.directory / "recordings" / game.study / game.environment.id


def _live(studio: Studio, ann: Visitor) -> dict[str, Any]:
    """What is counted beside the environment now."""
    person = ann.me()["id"]
    session = studio.state.parts.desk[person].session_id
    return dict(studio.state.parts.playing.host.live_values(session, person))


def _shown(ann: Visitor) -> str:
    return str(ok(ann.ask("GET", "me/values"))["items"][0]["text"])


@pytest.mark.thorough
def test_values_go_on_in_the_next_session_and_after_a_loss(tmp_path: Path) -> None:
    """Of an environment that is killed, the recording is shown, and what is played after that."""
    with a_crowd(tmp_path) as studio:
        ann = visitor(studio)
        ann.to_the_lobby()
        here = ann.go("place")
        ann.walk(2)  # 1 + 2
        wait_for(lambda: not studio.state.live_sessions.sessions)
        with ann.playing() as window:
            window.until("state", phase="waiting")
            assert _live(studio, ann) == pytest.approx({"score": 3.0, "time_played": 2 / 60}, abs=1e-6)
            window.say("start")
            window.until("state", phase="running")
            window.press("ArrowRight", 1)
            assert _live(studio, ann) == pytest.approx({"score": 4.0, "time_played": 3 / 60}, abs=1e-6)
            assert _shown(ann) == "Score: 4 (required: 5)"
            names = ["score", "time_played"]
            wait_for(lambda: worth.values(_directory(studio), here["id"], names, 60.0)["score"] == 4.0)
            os.kill(studio.state.pool.processes[0], signal.SIGKILL)
            window.until("state", phase="waiting", episode=1)
            assert _live(studio, ann) == {}
            assert _shown(ann) == "Score: 4 (required: 5)"
            window.say("start")
            window.until("state", phase="running")
            window.press("ArrowRight", 1)
            assert _live(studio, ann) == {}
        wait_for(lambda: _shown(ann) == "Score: 5 (required: 5)")
        assert ann.go("finish")["earned"]["total"] == "1.00"

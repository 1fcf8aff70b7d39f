"""A server is killed in the middle of a crowd: everybody comes back to where they were."""

from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.studio.crowd.crowds import FILE, Visitor
from tests.studio.play.server import run
from tests.studio.player import press, seated, start
from tests.studio.studio_process import PATIENCE, Api, StudioProcess, lengths, running, wait_for

pytestmark = pytest.mark.thorough


def browsers(stack: ExitStack, studio: StudioProcess, *before: Visitor) -> list[Visitor]:
    """Three browsers, with the cookies that they had."""
    found = []
    for number in range(3):
        client = stack.enter_context(httpx.Client(base_url=studio.url, timeout=PATIENCE, trust_env=False))
        found.append(Visitor(client, studio.url, before[number].cookies if before else {}))
    return found


def window_of(person: Visitor) -> Api:
    """The same browser, for a socket."""
    ((name, value),) = person.cookies.items()
    return Api(person.origin, value, name)


def play(person: Visitor, steps: int) -> None:
    """Plays so many steps, to and fro."""

    async def steps_of(token: str) -> None:
        api = window_of(person)
        async with seated(api, token) as client:
            await start(client)
            await press(client, steps)
        api.close()

    run(lambda: steps_of(person.enter()))


def test_c45_c46_after_kill_9_everybody_is_where_they_were(tmp_path: Path) -> None:
    """At a question, in a game with what was counted, and at the end with the same code."""
    (tmp_path / "tasks.toml").write_text(FILE.replace("at_least = 5", "at_least = 3"))
    options = ("--crowd", str(tmp_path / "tasks.toml"), "--workers", "1")
    with running(tmp_path / "studio", *options) as studio, ExitStack() as stack:
        ann, bob, eve = first = browsers(stack, studio)
        here = ann.come(f="social")
        ann.go("consent", accepted=here["consent"]["hash"])
        for each, steps in ((eve, 5), (bob, 2)):
            each.to_the_lobby(f="social")
            each.go("place")
            play(each, steps)
        eve.go("finish")
        code = eve.go("answers", answers={})["code"]
        (recording,) = studio.recordings.glob("*/*")
        wait_for(lambda: lengths(recording) == [6, 3])  # what is younger than a second may be lost
        studio.kill(with_workers=True)
    with running(tmp_path / "studio", *options) as again, ExitStack() as stack:
        ann, bob, eve = browsers(stack, again, *first)
        assert [each.me()["stage"] for each in (ann, bob, eve)] == ["questions", "play", "done"]
        assert (eve.me()["code"], len(code)) == (code, 19)
        assert ann.go("answers", answers={"age": 30})["stage"] == "screening"
        (broken,) = [each for each in again.designer.get("crowd")["sessions"] if not each["is_valid"]]
        assert "server ended" in broken["reason"]
        play(bob, 5)
        assert bob.go("finish")["earned"]["completion"] == 1.0
        entries = {each["id"]: each for each in again.designer.get("crowd/payments")["entries"]}
        assert entries[bob.me()["id"]]["values"]["score"] == 1.0 + 3.0
        assert entries[bob.me()["id"]]["episodes"] == 2

"""Links that become too slow during play: a warning first, then a kind way out; measured by the server."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from rlds_kit.crowd.tasks.person import SLOW_LINK
from rlds_kit.studio.crowd.links import Links
from rlds_kit.studio.play import window as windows
from rlds_kit.studio.play.round_trips import LATEST, LEAST
from tests.studio.api.studio import Studio
from tests.studio.api.window import Window
from tests.studio.crowd.crowds import FILE, Visitor, a_crowd, experimenter, visitor

LIMIT_MS = 30
STRICT = FILE.replace("most_latency_ms = 150", f"most_latency_ms = {LIMIT_MS}\npatience_seconds = 100")


@pytest.fixture
def strict(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    """A studio whose crowd takes fast links only; its own watch never looks, so that tests say when."""
    monkeypatch.setattr(windows, "PING_SECONDS", 0.01)
    monkeypatch.setattr("rlds_kit.studio.crowd.opening.SWEEP_SECONDS", 3600.0)
    with a_crowd(tmp_path_factory.mktemp("strict"), STRICT) as studio:
        yield studio


def answer_late(window: Window, times: int) -> None:
    """Answers pings, each too late."""
    window.lag = 2 * LIMIT_MS / 1000
    for _ in range(times):
        window.until("ping")


def check(studio: Studio, links: Links, later: float = 0.0) -> None:
    """The server looks at all links, so many seconds from now."""
    desk = studio.state.parts.desk
    before, desk.now = desk.now, lambda: before() + later
    try:
        assert studio.client.portal is not None
        studio.client.portal.call(links.check)
    finally:
        desk.now = before


def at_play(studio: Studio) -> tuple[Visitor, dict[str, Any]]:
    """Somebody whose game is assigned."""
    ann = visitor(studio)
    ann.to_the_lobby()
    return ann, ann.go("place")


def test_who_has_a_slow_link_is_warned_and_then_paid_for_what_was_played(strict: Studio) -> None:
    """In proportion, without a completion code; the ledger counts the same from the recordings."""
    links = Links(strict.state.parts.playing)
    ann, here = at_play(strict)
    with ann.playing() as window:
        window.begin()
        window.press("ArrowRight", 1)
        window.press("ArrowRight", 2)  # 3 of 5 points
        answer_late(window, LATEST)
        check(strict, links)
        assert "30 ms" in window.until("link")["warning"]
        check(strict, links, later=50.0)
        assert ann.me()["stage"] == "play"
        check(strict, links, later=101.0)
    here = ann.me()
    assert (here["stage"], here["reason"]) == ("after", SLOW_LINK)
    assert (here["earned"]["completion"], here["earned"]["total"]) == (0.6, "0.60")
    here = ann.go("answers", answers={})
    assert (here["stage"], here["code"], here["reason"]) == ("done", "", SLOW_LINK)
    boss = experimenter(strict)
    row = next(each for each in boss.get("/api/crowd")["people"] if each["id"] == here["id"])
    assert (row["cents"], row["has_code"], row["reason"]) == (60, False, SLOW_LINK)


def test_who_had_done_all_gets_everything(strict: Studio) -> None:
    """The code is theirs, too."""
    links = Links(strict.state.parts.playing)
    ann, _ = at_play(strict)
    with ann.playing() as window:
        window.begin()
        for step in (1, 2, 3):
            window.press("ArrowRight", step)
        answer_late(window, LATEST)
        check(strict, links)
        check(strict, links, later=101.0)
    ann.go("answers", answers={})
    here = ann.me()
    assert (here["earned"]["total"], bool(here["code"])) == ("1.00", True)


def test_a_link_that_recovers_is_not_warned_any_more(strict: Studio) -> None:
    """The time begins anew with the next warning."""
    links = Links(strict.state.parts.playing)
    ann, here = at_play(strict)
    live = strict.state.live_sessions
    with ann.playing() as window:
        window.begin()
        answer_late(window, LATEST)
        check(strict, links)
        assert window.until("link")["warning"]
        session = strict.state.parts.desk[here["id"]].session_id
        (known,) = live._live[session].audience.windows.values()
        known.round_trips._latest.extend([1_000_000] * LATEST)  # it is fast for a while
        check(strict, links, later=101.0)
        assert window.until("link")["warning"] == ""
        answer_late(window, LATEST)
        check(strict, links, later=102.0)
        assert window.until("link")["warning"]
        check(strict, links, later=150.0)
        assert ann.me()["stage"] == "play"


def test_who_does_not_answer_at_all_is_as_slow(strict: Studio) -> None:
    """What a browser says of its link is not read: it can only be slower than it is."""
    links = Links(strict.state.parts.playing)
    ann, here = at_play(strict)
    with ann.playing() as window:
        window.begin()
        for _ in range(LEAST):
            window.until("ping")
        window.lag = None
        window.until("ping")
        session = strict.state.parts.desk[here["id"]].session_id
        (known,) = strict.state.live_sessions._live[session].audience.windows.values()
        known.round_trips._latest.clear()
        known.round_trips._latest.extend(ms * 1_000_000 for ms in (1, 1, 25, 40, 40))
        time.sleep(0.05)  # longer than all of them
        check(strict, links)
        assert window.until("link")["warning"]
        window.say("pong", number=12345)
        window.until("error", code="pong")


def test_pay_in_proportion_is_in_the_ledger(strict: Studio) -> None:
    """Counted again from the recordings, by the experimenter."""
    links = Links(strict.state.parts.playing)
    ann, here = at_play(strict)
    with ann.playing() as window:
        window.begin()
        window.press("ArrowRight", 1)
        answer_late(window, LATEST)
        check(strict, links)
        check(strict, links, later=101.0)
    entries = experimenter(strict).get("/api/crowd/payments")["entries"]
    assert [each["total_cents"] for each in entries if each["id"] == here["id"]] == [20]

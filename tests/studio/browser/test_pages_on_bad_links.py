"""Two people in browsers play against each other through bad connections: pages, record and offline run agree."""

import dataclasses
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.studio.bad_link import BadLink, Quality, bad_link
from tests.studio.browser.acknowledged import acknowledged, checksum, note_acknowledged
from tests.studio.browser.conftest import Console, Open
from tests.studio.browser.playing import recorded
from tests.studio.browser.several_people import PONG, lobby
from tests.studio.studio_process import Api, StudioProcess, running

GOOD: Final = Quality(delay=0.0, stalled=0.0)
BAD: Final = Quality(delay=0.1, stalled=0.15, retransmission=0.2, cut_after=4.0)
_NEXT: Final = """() => {
    const wanted = /^(Start|Save|Continue)/;
    const buttons = [...document.querySelectorAll(".overlay button, dialog button")];
    buttons.find((each) => wanted.test(each.textContent.trim()))?.click();
}"""
"""Starts what waits, goes on after a pause, and saves what is over."""


@pytest.fixture
def arcade(tmp_path: Path) -> Iterator[StudioProcess]:
    """A studio of its own."""
    with running(tmp_path / "arcade", "--workers", "1") as studio:
        yield studio


def _through(link: BadLink, person: Api) -> Api:
    """The same person, whose browser knows the studio by another port."""
    return Api(f"http://127.0.0.1:{link.port}", person.token, person.cookie)


def _play(pages: list[Page], studio: StudioProcess, study: str, episodes: int, chance: random.Random) -> None:
    """Presses keys at random until so many episodes are saved."""
    keys = [*PONG.actions.values()]
    end = time.monotonic() + 60 + 100 * episodes
    while len(studio.designer.episodes(study=study, status="completed")) < episodes:
        assert time.monotonic() < end, studio.designer.episodes(study=study)
        for _ in range(20):
            for page in pages:
                page.evaluate(_NEXT)
                key = chance.choice(keys)
                page.keyboard.down(key)
                page.wait_for_timeout(chance.uniform(10, 60))
                page.keyboard.up(key)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("episodes", "frames", "seed"), [(2, 90, 7), *((5, 450, seed) for seed in range(10))]
)  # fifty episodes, and a short run
def test_g27_what_pages_showed_is_what_was_recorded(
    arcade: StudioProcess, open_page: Open, console: Console, episodes: int, frames: int, seed: int
) -> None:
    """100 ms in each direction, 15 % of the segments stalled, connections cut at random; two programs are partners."""
    console.expect("WebSocket connection to|net::ERR|CLOSING or CLOSED state")  # of links that are cut
    game = dataclasses.replace(PONG, kwargs={**PONG.kwargs, "max_cycles": frames})
    study = game.study(arcade.designer, people=2, countdown_seconds=0.0)
    port = int(arcade.url.rpartition(":")[2])
    with bad_link(port, GOOD, seed=seed) as link:
        persons = [_through(link, arcade.person("participant", name)) for name in ("ann", "bob")]
        pages = [open_page(lobby(study), person=each, prepare=note_acknowledged) for each in persons]
        for page, seat in zip(pages, game.seats, strict=False):
            expect(page.get_by_text(f"You are {seat}")).to_be_visible()
            expect(page.locator(".overlay")).to_have_count(0)
        pages[0].get_by_label("Quality").select_option("exact")
        link.quality = BAD
        _play(pages, arcade, study["id"], episodes, random.Random(seed))
        assert (link.stalls > 0, link.cuts > 0) == (True, True)
        shown = [{(each.episode, each.step): each for each in acknowledged(page)} for page in pages]
        assert link.connections > len(pages)
    found = recorded(arcade, study)
    assert [episode.length for episode in found[:episodes]] == [frames + 1] * episodes
    compared, points = 0, 0.0
    for number, episode in enumerate(found[:episodes]):
        for step, totals, picture in game.replayed(episode):
            for seat, seen in zip(game.seats, shown, strict=False):
                frame = seen.get((number, step))
                if frame is not None:
                    assert frame.total == totals[seat], (number, step, seat)
                    assert not frame.is_exact or frame.picture == checksum(picture), (number, step, seat)
                    compared, points = compared + frame.is_exact, points + abs(frame.total)
    print(f"compared {compared} frames, {link.cuts} connections cut, {link.stalls} segments stalled")
    assert compared > episodes * frames // 4
    assert points > 0 or frames < 450  # a short run may end before the first one

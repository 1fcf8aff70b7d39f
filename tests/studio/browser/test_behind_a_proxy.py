"""A studio that others open by HTTPS."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.studio.browser import playing
from tests.studio.browser.conftest import Console
from tests.studio.browser.tls_proxy import certificate, free_port, proxying
from tests.studio.studio_process import CORRIDOR, running

pytestmark = pytest.mark.thorough


def test_people_log_in_and_play_by_https(browser: Browser, console: Console, tmp_path: Path) -> None:
    """The link that is printed is theirs; the cookie is for HTTPS only; the game comes through."""
    outside, inside, context = free_port(), free_port(), certificate(tmp_path)
    url = f"https://localhost:{outside}"
    with (
        running(tmp_path / "studio", "--port", str(inside), "--url", url) as studio,
        proxying(outside, inside, context),
    ):
        assert studio.link.startswith(f"{url}/#login?token=")
        opened = browser.new_context(base_url=url, ignore_https_errors=True)
        opened.on("page", console.watch)
        page = opened.new_page()
        page.goto(studio.link)
        expect(page.get_by_role("heading", name="Studies")).to_be_visible()
        (cookie,) = opened.cookies()
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
        body = {"name": "far", "environments": [{"name": "Corridor", "environment": CORRIDOR, "turn": "press"}]}
        made = opened.request.post("/api/studies", data=body, headers={"Origin": url})
        assert made.status == 201, made.text()
        page.goto("/" + playing.link(made.json()["study"]))
        playing.begin(page)
        playing.press(page, "ArrowRight", "ArrowLeft")
        playing.end(page)
        playing.save(page)
        opened.close()

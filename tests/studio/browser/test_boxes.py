"""Boxes of objects over the pictures of a replay."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import rlds_kit
from rlds_kit import layers
from rlds_kit.logger import EpisodeWriter
from rlds_kit.shaping.manuals.boxes import OBJECTS, columns_of
from rlds_kit.shaping.objects import Box
from tests.studio.browser.conftest import Console
from tests.studio.browser.viewing import replaying, viewing


@pytest.mark.slow
def test_objects_are_framed_where_they_are(browser: Browser, console: Console, tmp_path: Path) -> None:
    """On screens of their size, and not on other pictures; they can be hidden; a name of a category is text."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        seen = {"screen": np.zeros((210, 160, 3), np.uint8), "small": np.zeros((84, 84), np.uint8)}
        episode.start(seen)
        episode.step(action=1, reward=0.0, discount=1.0, observation=seen, truncated=True)
    dataset = rlds_kit.open(tmp_path)
    ball = Box(3, "<img src=x>", 40, 105, 8, 21)
    dataset.annotate("manual", [layers.amendment(dataset.episodes[0], OBJECTS, columns_of([ball]), 0)], source="a test")
    with viewing(tmp_path) as link, replaying(browser, console, link) as page:
        place = page.get_by_role("img", name="Objects: <img src=x> at 40, 105")
        expect(place).to_be_visible()
        canvas, frame = page.locator(".picture canvas").bounding_box(), place.locator("rect").bounding_box()
        assert canvas is not None
        assert frame is not None
        height = canvas["height"]
        middle = canvas["x"] + canvas["width"] / 2
        assert abs(frame["y"] + frame["height"] / 2 - (canvas["y"] + height * (105 + 10.5) / 210)) < 2
        assert abs(frame["x"] + frame["width"] / 2 - (middle + (40 + 4 - 80) * height / 210)) < 2
        page.get_by_role("button", name="Objects").click()
        expect(place).to_have_count(0)
        page.get_by_role("button", name="Objects").click()
        page.get_by_role("button", name="small").click()
        expect(page.locator(".picture canvas")).to_have_count(2)
        expect(page.locator("svg.boxes")).to_have_count(1)
        assert page.locator("main img").count() == 0

"""Replays of episodes whose observations are no pictures: what the person saw is drawn again, and marked so."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from rlds_kit.logger import GymnasiumLogger
from tests.studio.browser import player_page, playing
from tests.studio.browser.conftest import Console, Open
from tests.studio.browser.viewing import pixels, replaying, viewing
from tests.studio.player import played
from tests.studio.studio_process import Api, StudioProcess, running

pytestmark = pytest.mark.thorough


def test_any_recording_is_seen_as_it_was_played(browser: Browser, console: Console, tmp_path: Path) -> None:
    """Numbers alone were recorded; the page shows the cart, pixel by pixel, at any step, as drawn again."""
    with GymnasiumLogger(gymnasium.make("CartPole-v1", render_mode="rgb_array"), tmp_path / "cart") as env:
        env.reset(seed=3)
        seen = [np.asarray(env.render())]
        for number in range(9):
            env.step(number % 2)
            seen.append(np.asarray(env.render()))
    with viewing(tmp_path / "cart") as link, replaying(browser, console, link, step=6) as page:
        picture = page.get_by_role("img", name="drawn again of step 6")
        assert np.array_equal(pixels(picture, 6), seen[6])
        expect(page.get_by_text("not recorded: made again from the seed and the actions")).to_be_visible()
        page.keyboard.press("ArrowRight")
        assert np.array_equal(pixels(page.get_by_role("img", name="drawn again of step 7"), 7), seen[7])


def test_what_was_played_in_a_study_is_drawn_again(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """Also where the person broke off, and the environment is one of a module that the studio was started with."""
    study = api.study("Drawn again", player_page.PRESSED)
    (episode,) = played(studio.person("participant", "gil"), study, 2, keys=("ArrowRight",))
    page = open_page(f"#replay?episode={episode}&step=2")
    shown = pixels(page.get_by_role("img", name="drawn again of step 2"), 2)
    expected = np.zeros((12, 16, 3), np.uint8)
    expected[:, 12] = 255  # two places to the right of the middle
    assert np.array_equal(shown, expected)
    assert len(playing.recorded(studio, study)) == 1


def test_pictures_that_were_recorded_are_shown_instead(open_page: Open, tmp_path: Path) -> None:
    """Where the studio records them; nothing is drawn again then."""
    with running(tmp_path / "studio", "--record-pictures") as studio:
        study = studio.designer.study("Recorded", player_page.PRESSED)
        (episode,) = played(studio.designer, study, 2, keys=("ArrowRight",))
        page = open_page(f"#replay?episode={episode}&step=2", person=studio.designer)
        shown = pixels(page.get_by_role("img", name="picture of step 2"), 2)
        (recorded,) = playing.recorded(studio, study)
        assert np.array_equal(shown, recorded.steps[2]["picture"])
        expect(page.get_by_text("not recorded")).to_have_count(0)
        page.close()

"""`rlds-kit view`: who may look, and that the page needs nothing but this server."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Request, expect

import rlds_kit
from rlds_kit.logger import EpisodeWriter
from tests.studio.browser.conftest import Console
from tests.studio.browser.viewing import expect_step, looking, open_replay, record_robot, replaying, viewing

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A recording, and the link to look at it."""
    directory = tmp_path_factory.mktemp("view") / "robot"
    record_robot(directory)
    with viewing(directory) as link:
        yield directory, link


def test_the_link_lets_in_and_its_token_does_not_stay(
    robot: tuple[Path, str], browser: Browser, console: Console
) -> None:
    """The page opens without accounts, names the dataset, and takes the token out of the address."""
    with looking(browser, console, robot[1]) as page:
        expect(page.get_by_role("heading", name="Episodes")).to_be_visible()
        expect(page.get_by_role("banner")).to_contain_text("robot")
        expect(page).not_to_have_url(re.compile("token"))
        expect(page.get_by_role("navigation", name="Views").get_by_role("link")).to_have_text(["Episodes"])
        page.reload()
        expect(page.locator("tbody tr")).to_have_count(1)


def test_without_the_token_nothing_is_shown(robot: tuple[Path, str], browser: Browser, console: Console) -> None:
    """And the page says what to open."""
    console.expect("status of 403")
    with looking(browser, console, robot[1].split("?", maxsplit=1)[0]) as page:
        expect(page.get_by_role("alert")).to_contain_text("open the whole link that `rlds-kit view` printed")


def test_nothing_is_loaded_from_elsewhere(robot: tuple[Path, str], browser: Browser, console: Console) -> None:
    """Every request goes to this server."""
    asked: list[str] = []
    with looking(browser, console, robot[1]) as page:
        listen = lambda request: asked.append(urlsplit(request.url).netloc)  # noqa: E731
        page.on("request", listen)
        open_replay(page, step=3)
        page.reload()
        expect_step(page, 3)
    assert set(asked) == {urlsplit(robot[1]).netloc}


def test_the_next_steps_are_there_before_one_asks(robot: tuple[Path, str], browser: Browser, console: Console) -> None:
    """Going on by a step needs no answer of the server: it was loaded ahead, with its picture."""
    with looking(browser, console, robot[1]) as page:
        asked: list[str] = []

        def hear(request: Request) -> None:
            asked.append(request.url)

        page.on("request", hear)
        open_replay(page)
        page.wait_for_load_state("networkidle")
        page.context.set_offline(True)
        console.expect("ERR_INTERNET_DISCONNECTED|WebSocket")
        for step in (1, 2, 3):
            page.keyboard.press("ArrowRight")
            expect_step(page, step)
            expect(page.get_by_role("img", name=f"front of step {step}")).to_have_attribute("data-step", str(step))
        assert any("/step/3" in url for url in asked)


def test_the_connection_comes_back(robot: tuple[Path, str], browser: Browser, console: Console) -> None:
    """Without the server the page says so, keeps what it has, and tags refuse with a reason."""
    console.expect("ERR_INTERNET_DISCONNECTED|WebSocket")
    with replaying(browser, console, robot[1]) as page:
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        expect(page.get_by_role("img", name="front of step 0")).to_be_visible()
        page.context.set_offline(True)
        page.keyboard.press("1")
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        page.context.set_offline(False)
        page.keyboard.press("1")
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_role("region", name="Annotations of steps").locator(".label")).to_have_text("success")
    assert [each.value for each in rlds_kit.open(robot[0]).episodes[0].annotations()] == ["success"]


def test_an_empty_dataset_says_so(tmp_path: Path, browser: Browser, console: Console) -> None:
    """A recording that has just begun has no episodes, and that is no error."""
    with EpisodeWriter(tmp_path / "empty", record_time=False) as writer:
        with writer.episode() as episode:
            episode.start(0.0)
            episode.discard()
        writer.flush()
    with viewing(tmp_path / "empty") as link, looking(browser, console, link) as page:
        expect(page.get_by_role("heading", name="This dataset has no episodes yet")).to_be_visible()


def test_a_long_episode(tmp_path: Path, browser: Browser, console: Console) -> None:
    """In twenty thousand steps the one with a reward is found by a click, and the sum is known at every step."""
    with EpisodeWriter(tmp_path / "long", record_time=False) as writer, writer.episode() as episode:
        episode.start(0)
        for step in range(1, 20_000):
            reward = 5.0 if step == 12_346 else 0.0
            episode.step(action=0, reward=reward, discount=1.0, observation=step, truncated=step == 19_999)
    with viewing(tmp_path / "long") as link, replaying(browser, console, link, step=19_998) as page:
        expect(page.locator(".step-facts")).to_contain_text("Return so far5")
        over = page.locator(".chart .u-over")
        box = over.bounding_box()
        assert box is not None
        over.click(position={"x": box["width"] * 12_345.5 / 20_000 + 2, "y": box["height"] / 2})
        expect_step(page, 12_345)
        page.get_by_role("slider", name="Step").fill("12344")
        expect_step(page, 12_344)
        expect(page.locator(".step-facts")).to_contain_text("Return so far0")

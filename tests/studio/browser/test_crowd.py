"""People of a crowd in browsers of their own, from their link to the completion code, and the experimenter's page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.studio.browser.conftest import PHONE, Console, Open, Save
from tests.studio.browser.every_look import fits_in_every_look
from tests.studio.browser.playing import expect_fact
from tests.studio.browser.readable import flaws
from tests.studio.studio_process import Api, StudioProcess, running

pytestmark = pytest.mark.thorough
FILE = """
name = "Matching pennies"
recruitment = ["prolific", "social", "test"]
consent = "**What you play is recorded**, without your name. You can stop at any time."

[[before]]
name = "age"
label = "Your age"
kind = "number"
least = 18
most = 120

[[before]]
name = "often"
label = "I play games often."
kind = "likert"

[[check]]
name = "goal"
label = "When do you win?"
kind = "choice"
options = ["When both press the same", "When they differ"]
correct = "When they differ"

[[after]]
name = "remarks"
label = "Anything else?"
required = false

[groups.main]
tasks = ["pennies"]

[groups.cards]
mode = "choose"

[tasks.cart]
title = "Cart pole"
text = "Alone, step by step"
environment = "CartPole-v1"
pace = "turns"
target = 20

[tasks.pennies]
title = "Matching pennies"
environment = "tests.trials.environments.matching_pennies:MatchingPennies"
seats = 2
fps = 10
partner = "random"
wait_seconds = 600
target = 20
instructions = "Press *left* or *right*, and try to differ from the other."
collectors = ["score"]
treatment = { base_cents = 100, requirements = [{ collector = "time_played", at_least = 0.3 }] }
"""


RAFFLE = """
name = "Carts"
recruitment = ["laboratory"]
[tasks.cart]
title = "Cart pole"
environment = "CartPole-v1"
pace = "turns"
target = 20
treatment = { tickets = 1 }
"""


@pytest.fixture(scope="module")
def pennies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio with a crowd."""
    directory = tmp_path_factory.mktemp("crowd")
    (directory / "tasks.toml").write_text(FILE)
    with running(directory / "studio", "--workers", "1", "--crowd", str(directory / "tasks.toml")) as studio:
        yield studio


def go_to_the_lobby(page: Page, screenshot: Save | None = None) -> None:
    """All pages from the consent on."""

    def shot(name: str) -> None:
        assert flaws(page) == {}
        if screenshot is not None:
            fits_in_every_look(page, screenshot, f"crowd_{name}")

    page.get_by_role("checkbox", name="I have read this").check()
    shot("consent")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Your age").fill("30")
    page.get_by_role("radio", name="4").check()
    shot("questions")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Instructions")).to_be_visible()
    shot("instructions")
    page.get_by_role("button", name="I have read this").click()
    page.get_by_role("radio", name="When they differ").check()
    shot("check")
    page.get_by_role("button", name="Continue").click()


def end(page: Page) -> str:
    """From the game to the completion code."""
    page.get_by_role("button", name="I am done").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Thank you!")).to_be_visible()
    return page.locator(".code").inner_text()


def test_c33_c34_c36_two_people_go_from_a_link_to_a_code(
    pennies: StudioProcess, open_page: Open, screenshot: Save, console: Console
) -> None:
    """They agree, answer, wait for each other, play, see what is counted, and get codes; a reload is harmless."""
    nobody = Api(pennies.url)
    ann, bob = (
        open_page(f"crowd/main?PROLIFIC_PID={name}&STUDY_ID=s&SESSION_ID={name}1", person=nobody) for name in ("a", "b")
    )
    go_to_the_lobby(ann, screenshot)
    waiting = ann.get_by_role("region", name="Lobby")
    expect(waiting).to_contain_text("1 of 2 people is here")
    ann.reload()
    expect(waiting).to_contain_text("1 of 2 people is here")
    fits_in_every_look(ann, screenshot, "crowd_lobby")
    go_to_the_lobby(bob)
    for page in (bob, ann):
        expect(page.get_by_role("region", name="Players")).to_contain_text("you", ignore_case=True)
        expect(page.get_by_role("region", name="How far you are")).to_contain_text(
            re.compile(r"Seconds played: 0\.[3-9]")
        )
    fits_in_every_look(ann, screenshot, "crowd_play")
    codes = {end(ann), end(bob)}
    assert len(codes) == 2
    expect(ann.get_by_role("region", name="Leaderboard")).to_contain_text("Rank")
    fits_in_every_look(ann, screenshot, "crowd_end")
    link = ann.get_by_role("link", name="Finish")
    assert str(link.get_attribute("href")).startswith("https://app.prolific.com/submissions/complete?cc=")
    boss = open_page("#crowd", person=pennies.designer)
    expect(boss.get_by_role("region", name="Overview")).to_contain_text("2.00 USD")
    boss.get_by_role("button", name="Count", exact=True).click()
    expect(boss.get_by_role("button", name="These 2 are paid")).to_be_visible()
    fits_in_every_look(boss, screenshot, "crowd_experimenter")


def test_c2_c28_the_experimenter_edits_the_crowd_and_draws_a_raffle(
    tmp_path: Path, open_page: Open, screenshot: Save
) -> None:
    """Mistakes are listed, what is saved runs, and the winner is paid."""
    (tmp_path / "tasks.toml").write_text(RAFFLE)
    with running(tmp_path / "studio", "--workers", "1", "--crowd", str(tmp_path / "tasks.toml")) as studio:
        player = open_page("crowd/main?f=laboratory&participant=desk7", person=Api(studio.url))
        player.get_by_role("button", name="I have read this").click()
        player.get_by_role("button", name="Start").click()
        player.keyboard.press("ArrowRight")
        expect_fact(player, "Step", "1")
        player.get_by_role("button", name="I am done").click()
        expect(player.get_by_role("heading", name="Thank you!")).to_be_visible()
        boss = open_page("#crowd", person=studio.designer)
        card = boss.get_by_role("region", name="Declaration")
        card.get_by_role("button", name="Edit").click()
        text = card.get_by_label("Declaration in TOML")
        text.fill(RAFFLE.replace("target = 20", "target = 0"))
        card.get_by_role("button", name="Save as version 2").click()
        expect(card.get_by_role("alert")).to_contain_text("tasks.cart.target: expected a whole number")
        fits_in_every_look(boss, screenshot, "crowd_declaration")
        text.fill(RAFFLE.replace("target = 20", "target = 7"))
        card.get_by_role("button", name="Save as version 2").click()
        expect(card).to_contain_text("Version 2 runs")
        expect(boss.get_by_role("region", name="Tasks", exact=True)).to_contain_text("7")
        raffle = boss.get_by_role("region", name="Raffle")
        raffle.get_by_role("button", name="Count tickets").click()
        expect(raffle).to_contain_text("1 ticket of one person")
        raffle.get_by_label("Prize of each").fill("25")
        raffle.get_by_label("Phrase").fill("7 11 23 40")
        raffle.get_by_role("button", name="Draw").click()
        boss.get_by_role("alertdialog").get_by_role("button", name="Draw").click()
        expect(raffle.get_by_role("heading", name="Raffle 1")).to_be_visible()
        fits_in_every_look(boss, screenshot, "crowd_raffle")
        boss.get_by_role("button", name="Count", exact=True).click()
        boss.get_by_role("button", name="These 1 are paid").click()
        boss.get_by_role("button", name="Paid", exact=True).click()
        expect(boss.get_by_role("cell", name="25.00 ✓")).to_be_visible()
        boss.goto("about:blank")  # the page requests what is new every few seconds, also when the studio has ended


@pytest.mark.slow
def test_c10_c50_a_card_is_chosen_and_played_by_touch_on_a_phone(
    pennies: StudioProcess, open_page: Open, screenshot: Save
) -> None:
    """In the dark; who leaves the game early gets no code, and is asked before."""
    look = {"viewport": PHONE, "color_scheme": "dark", "is_mobile": True, "has_touch": True}
    page = open_page("crowd/cards?f=social", person=Api(pennies.url), **look)
    go_to_the_lobby(page)
    expect(page.get_by_role("heading", name="Choose a game")).to_be_visible()
    assert flaws(page) == {}
    screenshot(page, "crowd_cards_phone")
    page.get_by_role("button", name="Play Cart pole").tap()
    page.get_by_role("button", name="Start").tap()
    expect(page.locator(".overlay")).to_have_count(0)
    assert flaws(page) == {}
    pad = page.locator(".pad").bounding_box()
    assert pad is not None
    page.touchscreen.tap(pad["x"] + pad["width"] - 12, pad["y"] + pad["height"] / 2)
    expect_fact(page, "Step", "1")
    expect(page.get_by_role("region", name="How far you are")).to_contain_text("Score: 1")


@pytest.mark.slow
def test_eight_people_go_through_a_crowd_one_is_lost_and_a_program_plays_for_them(
    pennies: StudioProcess, open_page: Open, console: Console
) -> None:
    """Four pairs; whose tab is closed is replaced; everybody else gets a code, and is paid from recordings."""
    console.expect("already in CLOSING or CLOSED state")
    nobody = Api(pennies.url)
    pages = [
        open_page(f"crowd/main?PROLIFIC_PID=eight{number}&STUDY_ID=s&SESSION_ID=e{number}", person=nobody)
        for number in range(8)
    ]
    for page in pages:
        go_to_the_lobby(page)
    for page in pages:
        expect(page.get_by_role("region", name="Players")).to_be_visible()
    pages[0].close()
    codes = set()
    for page in pages[1:]:
        expect(page.get_by_role("region", name="How far you are")).to_contain_text(
            re.compile(r"Seconds played: 0\.[3-9]")
        )
        codes.add(end(page))
    assert len(codes) == 7
    file = pennies.designer.ask("GET", "crowd/payments.csv").text
    paid = {line.split(",")[0] for line in file.splitlines() if line.startswith("eight")}
    assert paid == {f"eight{number}" for number in range(1, 8)}

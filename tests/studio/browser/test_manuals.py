"""Reviewing what a manual means."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from rlds_kit.shaping.manuals import InteractionTable, ModelReply, shipped_table
from tests.studio.browser.conftest import Console, Open
from tests.studio.browser.test_hostile_texts import EVIL
from tests.studio.studio_process import StudioProcess


@pytest.mark.thorough
def test_a_verdict_is_overridden_and_texts_never_run(open_page: Open, studio: StudioProcess, console: Console) -> None:
    """By whom is stored and shown; what a manual or a model says is text; of two people the second looks again."""
    console.expect("409")
    table, reply = shipped_table("Skiing"), ModelReply(EVIL, 7, EVIL, EVIL, EVIL, ((EVIL, -0.5),))
    rows = (replace(each, word=EVIL, context=EVIL, replies=(reply,)) for each in table.interactions)
    path = studio.directory / "manuals" / "hostile.json"
    path.parent.mkdir(exist_ok=True)
    replace(table, game=EVIL, source=EVIL, interactions=tuple(rows)).save(path)
    page = open_page("#manuals", person=studio.person("reviewer", "Rae R"))
    page.get_by_role("link", name="hostile").click()
    expect(page.get_by_role("heading", name=EVIL)).to_be_visible()
    mogul = page.get_by_role("region", name="Mogul")
    mogul.get_by_text("What it was read from").click()
    expect(mogul.get_by_text(EVIL).first).to_be_visible()
    expect(mogul.get_by_text("seed 7")).to_contain_text("0.607")
    mogul.get_by_role("button", name="yes").click()
    expect(mogul.get_by_text("override by Rae R")).to_be_visible()
    expect(mogul.get_by_text("hit it: yes, +5")).to_be_visible()
    assert (InteractionTable.load(path)["Mogul"].override, InteractionTable.load(path)["Mogul"].overridden_by) == (
        "yes",
        "Rae R",
    )
    InteractionTable.load(path).override("Mogul", "abstain", "sam").save(path)
    mogul.get_by_role("button", name="as read").click()
    expect(page.get_by_text("has changed since you saw it")).to_be_visible()
    expect(mogul.get_by_text("override by sam")).to_be_visible()
    assert page.locator("main img, main script").count() == 0
    assert page.title() != "run"
    path.unlink()

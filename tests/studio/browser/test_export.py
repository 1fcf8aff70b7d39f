"""Exports: what was chosen, as it was asked for, with progress, to a file or a folder that `rlds_kit.open` reads."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, Route, expect

import rlds_kit
from tests.studio.browser.conftest import Console, Open
from tests.studio.player import played
from tests.studio.studio_process import CORRIDOR, Api, StudioProcess

STEPS = (4, 6, 5)
MADE_MS = 120_000
"""For an export to be made, on a machine that does much else."""


@pytest.fixture
def study(api: Api) -> dict[str, Any]:
    """A study in which three episodes were played; a step of the second one is tagged."""
    study = api.study("exported", {"environment": CORRIDOR, "name": "Corridor", "turn": "press"})
    ids = played(api, study, *STEPS)
    api.post(f"replay/{ids[1]}/annotations", kind="tag", text="reached", steps=[3, 4])
    return {**study, "episodes": ids}


def _select_all(page: Page) -> Locator:
    """Selects every episode of the table, and opens the dialog."""
    page.get_by_role("checkbox", name="Select all of this page").check()
    page.get_by_role("button", name="Export…").click()
    return page.get_by_role("dialog", name="Export")


def _recorded(studio: StudioProcess, study: Mapping[str, Any]) -> rlds_kit.Dataset:
    return rlds_kit.open(studio.recordings / study["id"] / study["environments"][0]["id"], include_open=True)


def _downloaded(page: Page, place: Locator, directory: Path) -> rlds_kit.Dataset:
    """Takes the archive, and opens what is in it."""
    link = place.get_by_role("link", name="Download")
    expect(link).to_be_visible(timeout=MADE_MS)
    with page.expect_download() as waiting:
        link.click()
    archive = directory / waiting.value.suggested_filename
    waiting.value.save_as(archive)
    with zipfile.ZipFile(archive) as files:
        files.extractall(directory)
    return rlds_kit.open(archive.with_suffix(""))


def test_r36_r37_chosen_episodes_become_an_archive(
    open_page: Open, studio: StudioProcess, study: Mapping[str, Any], tmp_path: Path
) -> None:
    """Selected in the table, exported with progress, downloaded, opened: the steps are those of the recording."""
    page = open_page(f"#episodes?study={study['id']}&sort=started")
    dialog = _select_all(page)
    dialog.get_by_role("textbox", name="Name").fill("corridors")
    dialog.get_by_role("button", name="Export 3 episodes").click()
    expect(dialog.get_by_role("heading", name="corridors.zip")).to_be_visible()
    expect(dialog.get_by_role("status")).to_have_text(re.compile(r"3 episodes, 18 steps, .*B"), timeout=MADE_MS)
    exported = _downloaded(page, dialog, tmp_path)
    assert [episode.length for episode in exported.episodes] == [steps + 1 for steps in STEPS]
    for mine, theirs in zip(exported.episodes, _recorded(studio, study).episodes, strict=True):
        for field in ("observation", "action", "reward", "discount"):
            np.testing.assert_array_equal(mine[field], theirs[field])


@pytest.mark.thorough
def test_r38_r39_r40_rules(open_page: Open, study: Mapping[str, Any], tmp_path: Path) -> None:
    """Stripped, with a field for each tag, and ending at a tag; what is left out is told by name."""
    page = open_page(f"#episodes?study={study['id']}&sort=started")
    dialog = _select_all(page)
    dialog.get_by_role("button", name="reached").click()
    dialog.get_by_role("button", name="Export 3 episodes").click()
    expect(dialog.get_by_text("3 episodes · rlds_kit, stripped, with tags, ending at reached")).to_be_visible()
    dialog.get_by_text("Fields", exact=True).click(timeout=MADE_MS)
    expect(dialog.locator(".fields .gone", has_text="play")).to_be_visible()
    expect(dialog.locator(".fields .new")).to_have_text("tag:reached")
    second = _downloaded(page, dialog, tmp_path).episodes[1]
    assert second.length == 4
    assert second["tag:reached"].tolist() == [False, False, False, True]
    assert "play" not in second.fields


def test_r37_a_folder_at_the_studio(open_page: Open, study: Mapping[str, Any]) -> None:
    """A designer is told where it is, and opens it there; not stripped, it has everything."""
    page = open_page(f"#episodes?study={study['id']}")
    dialog = _select_all(page)
    dialog.get_by_role("radio", name="A folder").check()
    dialog.get_by_role("switch", name="Strip what is internal").uncheck()
    dialog.get_by_role("button", name="Export 3 episodes").click()
    path = dialog.locator(".path code")
    expect(path).to_be_visible(timeout=MADE_MS)
    exported = rlds_kit.open(path.inner_text())
    assert len(exported.episodes) == len(STEPS)
    assert "play" in exported.episodes[0].fields


@pytest.mark.thorough
def test_filters_export_without_choosing(
    open_page: Open, api: Api, study: Mapping[str, Any], tmp_path: Path, console: Console
) -> None:
    """The page of exports takes what a filter leaves, keeps what was made, and deletes it.

    It goes on asking how far it is where an answer is lost.
    """
    console.expect("ERR_FAILED")

    lost: list[str] = []

    def lose(route: Route) -> None:
        if route.request.method == "GET" and not lost:
            lost.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    page = open_page(f"#export?study={study['id']}&tag=reached")
    form = page.get_by_role("region", name="New export")
    form.get_by_role("textbox", name="Name").fill("by-filter")
    page.route("**/api/exports", lose)
    form.get_by_role("button", name="Export 1 episode", exact=True).click()
    made = page.get_by_role("article", name="Export by-filter")
    expect(made.get_by_role("link", name="Download")).to_be_visible(timeout=MADE_MS)
    assert lost
    page.reload()
    assert _downloaded(page, made, tmp_path).episodes[0].length == STEPS[1] + 1
    made.get_by_role("button", name="Delete").click()
    expect(made).to_have_count(0)
    assert all(each["name"] != "by-filter" for each in api.get("exports")["exports"])


@pytest.mark.thorough
def test_what_waits_is_cancelled(open_page: Open, study: Mapping[str, Any]) -> None:
    """Exports are made one after the other; one that waits is called off, and nothing of it is left."""
    page = open_page(f"#export?study={study['id']}")
    form = page.get_by_role("region", name="New export")
    for name in ("one", "two", "three"):
        form.get_by_role("textbox", name="Name").fill(name)
        form.get_by_role("button", name="Export 3 episodes").click()
        expect(page.get_by_role("article", name=f"Export {name}", exact=True)).to_be_visible()
    third = page.get_by_role("article", name="Export three", exact=True)
    third.get_by_role("button", name="Cancel").click()
    expect(third).to_contain_text("Cancelled")
    expect(
        page.get_by_role("article", name="Export two", exact=True).get_by_role("link", name="Download")
    ).to_be_visible(timeout=MADE_MS)


def test_only_completed_ones_unless_asked(open_page: Open, studio: StudioProcess, study: Mapping[str, Any]) -> None:
    """An episode that somebody broke off is left out, and a switch takes it in."""
    played(studio.designer, study, 3, completed=False)
    page = open_page(f"#episodes?study={study['id']}")
    expect(page.locator("tbody tr")).to_have_count(4)
    dialog = _select_all(page)
    expect(dialog.get_by_role("button", name="Export 3 episodes")).to_be_visible()
    dialog.get_by_role("switch", name="Also those that are not complete").check()
    expect(dialog.get_by_role("button", name="Export 4 episodes")).to_be_visible()

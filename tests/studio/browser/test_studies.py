"""Studies: the list, the page of one, and the editor."""

import re

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.studio.browser import playing
from tests.studio.browser.conftest import Console, Open
from tests.studio.studio_process import CORRIDOR, Api, StudioProcess

INSTRUCTIONS = (
    "# How\n\n- left and **right**\n- `Space` jumps\n\n<img src=x onerror=alert(1)> [more](https://example.org)"
)


def _fill_environment(page: Page, name: str, number: int = 0) -> None:
    """Chooses an environment by the keyboard only."""
    box = page.get_by_role("combobox", name="Environment").nth(number)
    box.fill(name)
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    box.press("Enter")
    expect(box).to_have_value(re.compile(re.escape(name), re.IGNORECASE))


def _saved(page: Page) -> None:
    """Waits until the form says so."""
    expect(page.get_by_text("All saved")).to_be_visible()


def test_r1_r2_a_study_is_made_saved_loaded_and_changed(page: Page, api: Api) -> None:
    """What the form sends is what the server has, and what the form shows again."""
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Name", exact=True).fill("Lakes and carts")
    page.get_by_label("Description").fill("two worlds")
    page.get_by_label("Instructions", exact=True).fill(INSTRUCTIONS)
    _fill_environment(page, "FrozenLake-v1")
    page.get_by_label("Name (that people see)").fill("The lake")
    page.get_by_text("Settings of the environment").click()
    page.get_by_label("is slippery").uncheck()
    page.get_by_label("map name").fill("8x8")
    page.get_by_role("radio", name="Step by step").check()
    page.get_by_label("Steps at most").fill("50")
    page.get_by_role("button", name="Make study").click()
    _saved(page)
    (study,) = [each for each in api.get("studies")["studies"] if each["name"] == "Lakes and carts"]
    assert (study["description"], study["instructions"]) == ("two worlds", INSTRUCTIONS)
    (environment,) = study["environments"]
    assert environment["kwargs"] == {"is_slippery": False, "map_name": "8x8"}
    assert (environment["name"], environment["turn"], environment["max_steps"]) == ("The lake", "press", 50)

    page.reload()
    expect(page.get_by_label("is slippery")).not_to_be_checked()
    expect(page.get_by_label("map name")).to_have_value("8x8")
    page.get_by_label("is slippery").check()
    page.get_by_label("map name").fill("")
    page.get_by_label("Name", exact=True).fill("Lakes")
    expect(page.get_by_text("This makes another environment of it")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    _saved(page)
    changed = api.get(f"studies/{study['id']}")["study"]
    assert (changed["name"], changed["version"], changed["environments"][0]["kwargs"]) == ("Lakes", 2, {})
    assert changed["environments"][0]["id"] != environment["id"]


@pytest.mark.thorough
def test_several_environments_are_edited_in_one_study(page: Page, api: Api) -> None:
    """They are added, moved and removed; the order is that of the form."""
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Name", exact=True).fill("Three games")
    for number, name in enumerate(("ALE/Pong-v5", "ALE/Breakout-v5", "ALE/SpaceInvaders-v5")):
        if number:
            page.get_by_role("button", name="Add an environment").click()
        _fill_environment(page, name, number)
    page.get_by_role("button", name="Move ALE/SpaceInvaders-v5 up").click()
    page.get_by_role("button", name="Remove ALE/Pong-v5").click()
    page.get_by_role("button", name="Check that they fit").click()
    expect(page.get_by_role("status").filter(has_text="All environments can be made")).to_be_visible()
    page.get_by_role("button", name="Make study").click()
    _saved(page)
    (study,) = [each for each in api.get("studies")["studies"] if each["name"] == "Three games"]
    assert [each["environment"] for each in study["environments"]] == ["ALE/SpaceInvaders-v5", "ALE/Breakout-v5"]


def test_r1_environments_that_do_not_fit_are_refused_where_they_stand(page: Page, console: Console) -> None:
    """With the reason, both by the check and by saving."""
    console.expect("422")
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Name", exact=True).fill("Does not fit")
    _fill_environment(page, "CartPole-v1")
    page.get_by_role("button", name="Add an environment").click()
    _fill_environment(page, "FrozenLake-v1", 1)
    page.get_by_role("button", name="Check that they fit").click()
    second = page.get_by_role("group", name="FrozenLake-v1")
    expect(second.get_by_role("alert").first).to_contain_text("Put them in different studies")
    page.get_by_role("button", name="Make study").click()
    expect(page.locator(".save-bar").get_by_role("alert")).to_contain_text("Put them in different studies")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Does not fit")


@pytest.mark.parametrize(
    ("environment", "label", "typed", "kwargs"),
    [
        ("ALE/Breakout-v5", "repeat action probability", "0.5", {"repeat_action_probability": 0.5}),
        ("ALE/Breakout-v5", "frameskip", "3", {"frameskip": 3}),
        ("FrozenLake-v1", "desc", '["SF", "FG"]', {"desc": ["SF", "FG"]}),
    ],
)
def test_the_form_of_any_schema_gives_what_was_typed(
    page: Page, api: Api, environment: str, label: str, typed: str, kwargs: object
) -> None:
    """Numbers as numbers, and JSON as JSON."""
    name = f"{environment} {label}"
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Name", exact=True).fill(name)
    _fill_environment(page, environment)
    page.get_by_text("Settings of the environment").click()
    page.get_by_label(re.compile(f"^{label}")).fill(typed)
    page.get_by_role("button", name="Make study").click()
    _saved(page)
    (study,) = [each for each in api.get("studies")["studies"] if each["name"] == name]
    assert study["environments"][0]["kwargs"] == kwargs


def test_what_is_no_number_is_not_sent(page: Page) -> None:
    """The field says what it wants."""
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Name", exact=True).fill("Not sent")
    _fill_environment(page, "ALE/Breakout-v5")
    page.get_by_text("Settings of the environment").click()
    page.get_by_label("repeat action probability").fill("often")
    expect(page.get_by_text("expected a number")).to_be_visible()
    page.get_by_role("button", name="Make study").click()
    expect(page.get_by_role("heading", name="New study")).to_be_visible()


def test_keys_are_edited_and_seen_by_who_plays(
    open_page: Open, api: Api, studio: StudioProcess, console: Console
) -> None:
    """A row for each action; what is wrong is named, what is saved is a version, and the player shows the names."""
    console.expect("400")
    study = api.study("Keys of its own", {"environment": CORRIDOR, "turn": "press"})
    page = open_page(f"#edit?id={study['id']}")
    page.get_by_role("button", name="Edit the keys").click()
    names = [page.get_by_label(f"Name of action {number}") for number in range(2)]
    expect(names[0]).to_have_value("0")
    expect(page.get_by_label("Keys of action 1")).to_have_value("ArrowRight")
    names[0].fill("back")
    names[1].fill("onward")
    page.get_by_label("Keys of action 0").fill("Escape")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("group", name=CORRIDOR).get_by_role("alert")).to_contain_text("got 'Escape'")
    page.get_by_label("Keys of action 0").fill("KeyJ")
    page.get_by_label("Keys of action 1").press("ArrowUp")
    expect(page.get_by_label("Keys of action 1")).to_have_value("ArrowRight, ArrowUp")
    page.get_by_label("Action 1 without a key").check()
    page.get_by_role("button", name="Save").click()
    _saved(page)
    wanted = {"actions": [{"name": "back", "keys": ["KeyJ"]}, {"name": "onward", "keys": ["ArrowRight", "ArrowUp"]}]}
    found = api.get(f"studies/{study['id']}")["study"]
    assert found["environments"][0]["controls"] == {**wanted, "default": 1}
    page.reload()
    expect(page.get_by_label("Name of action 1")).to_have_value("onward")
    page.get_by_role("button", name="Use the known keys").click()
    expect(page.get_by_role("button", name="Edit the keys")).to_be_visible()

    player = open_page(playing.link(found), person=studio.person("participant", "kay"))
    legend = player.locator(".legend")
    expect(legend).to_contain_text("onward")
    playing.begin(player)
    playing.press(player, "ArrowUp", "KeyJ")


def test_versions_are_looked_at_and_taken_up_again(open_page: Open, api: Api) -> None:
    """An older one that is saved becomes the newest."""
    study = api.study("First name", {"environment": "CartPole-v1"})
    content = {"name": "Second name", "environments": study["environments"], "version": 1}
    api.put(f"studies/{study['id']}", **content)
    page = open_page(f"#edit?id={study['id']}")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Second name")
    page.get_by_label("Version").select_option("1")
    expect(page.get_by_label("Name", exact=True)).to_have_value("First name")
    page.get_by_role("button", name="Save").click()
    _saved(page)
    expect(page.get_by_label("Version")).to_have_value("3")
    found = api.get(f"studies/{study['id']}")["study"]
    assert (found["name"], found["version"]) == ("First name", 3)


def test_two_who_edit_at_once_do_not_overwrite_each_other(open_page: Open, api: Api, console: Console) -> None:
    """The second to save is told so, and keeps what was typed."""
    console.expect("409")
    study = api.study("Edited twice", {"environment": "CartPole-v1"})
    page = open_page(f"#edit?id={study['id']}")
    page.get_by_label("Name", exact=True).fill("Mine")
    api.put(f"studies/{study['id']}", name="Theirs", environments=study["environments"], version=1)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".save-bar").get_by_role("alert")).to_contain_text("load it again")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Mine")


def test_r4_a_study_that_is_closed_says_so_to_others(
    open_page: Open, api: Api, studio: StudioProcess, console: Console
) -> None:
    """The switch of the list closes and opens it."""
    console.expect("403")
    study = api.study("Open and closed", {"environment": "CartPole-v1"})
    page = open_page("#studies")
    switch = page.get_by_role("switch", name="Open “Open and closed” to others")
    expect(switch).to_be_checked()
    switch.uncheck()
    expect(page.get_by_role("status").filter(has_text="is closed to others")).to_be_visible()
    visitor = open_page(f"#study?id={study['id']}", person=studio.person("participant", "dora"))
    expect(visitor.get_by_role("alert")).to_contain_text("this study is not open now")
    switch.check()
    expect(page.get_by_role("status").filter(has_text="Everybody with the link")).to_be_visible()
    visitor.reload()
    expect(visitor.get_by_role("heading", name="Open and closed")).to_be_visible()


def test_r5_the_permalink_that_is_copied_opens_the_study(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """In the browser of somebody else."""
    api.study("Permanent", {"environment": "CartPole-v1"}, instructions=INSTRUCTIONS)
    page = open_page("#studies", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("listitem").filter(has_text="Permanent").get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    visitor = open_page(link.removeprefix(f"{studio.url}/"), person=studio.person("participant", "ed"))
    expect(visitor.get_by_role("heading", name="Permanent")).to_be_visible()
    expect(visitor.get_by_role("link", name="Play CartPole-v1")).to_be_visible()


def test_instructions_are_shown_as_markdown_and_never_run(open_page: Open, api: Api) -> None:
    """Tags of HTML are text."""
    study = api.study("Marked", {"environment": CORRIDOR}, instructions=INSTRUCTIONS)
    page = open_page(f"#study?id={study['id']}")
    shown = page.locator(".markdown")
    expect(shown.get_by_role("heading", name="How")).to_be_visible()
    expect(shown.get_by_role("listitem")).to_have_text(["left and right", "Space jumps"])
    expect(shown).to_contain_text("<img src=x onerror=alert(1)>")
    expect(shown.get_by_role("link", name="more")).to_have_attribute("href", "https://example.org")
    expect(shown.locator("img")).to_have_count(0)


def test_changes_that_are_not_saved_are_not_lost_by_a_slip(open_page: Open, api: Api) -> None:
    """The browser asks before it closes the tab; discarding brings back what is saved."""
    study = api.study("Kept", {"environment": "CartPole-v1"})
    page = open_page(f"#edit?id={study['id']}")
    page.get_by_label("Name", exact=True).click()  # browsers ask only those who did something
    page.keyboard.type("Changed")
    asked: list[str] = []

    def answer(question: Dialog) -> None:
        asked.append(question.type)
        question.accept()

    page.on("dialog", answer)
    page.reload()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Kept")
    assert asked == ["beforeunload"]
    page.get_by_label("Name", exact=True).fill("Changed")
    page.get_by_role("button", name="Discard changes").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Kept")


def test_a_study_that_is_not_there_says_so(open_page: Open, console: Console) -> None:
    console.expect("404")
    page = open_page(f"#study?id={'0' * 32}")
    expect(page.get_by_role("alert")).to_contain_text("there is no study")
    page.get_by_role("link", name="All studies").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()

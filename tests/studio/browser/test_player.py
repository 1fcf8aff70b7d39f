"""The player: what is shown, how episodes end, and what happens to those who are lost."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.studio.browser import player_page, playing
from tests.studio.browser.conftest import Open
from tests.studio.studio_process import Api, StudioProcess


def test_the_picture_is_that_of_the_environment_pixel_by_pixel(open_page: Open, api: Api) -> None:
    """Small pictures are enlarged with sharp edges, and keep their proportions."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    canvas = page.locator(".arena canvas")
    expect(canvas).to_have_class("sharp")
    found = player_page.pixels(page)
    assert (len(found), len(found[0])) == (12, 16)
    assert found == [[255 if column == 8 else 0 for column in range(16)]] * 12
    playing.press(page, "ArrowRight")
    assert player_page.pixels(page)[0].index(255) == 10
    styles = canvas.evaluate(
        "(canvas) => [getComputedStyle(canvas).imageRendering, getComputedStyle(canvas).objectFit]"
    )
    assert styles == ["pixelated", "contain"]


@pytest.mark.thorough
def test_r10_nobody_at_the_keys_is_a_pause_with_a_reason(open_page: Open, api: Api) -> None:
    page = player_page.begun(open_page, api, player_page.TIMED)
    expect(page.get_by_role("group", name="Paused")).to_contain_text("No key was pressed")


def test_r9_the_speed_is_chosen_with_a_slider(open_page: Open, api: Api) -> None:
    """It is the server that says how fast it is now; step by step there is no speed."""
    page = player_page.begun(open_page, api, player_page.TIMED)
    slider = page.get_by_role("slider", name="Speed")
    slider.fill("7")
    expect(page.locator(".speed-slider output")).to_have_text("7 fps")
    assert page.evaluate("sent.filter(({ type }) => type === 'rate').length") == 1
    other = player_page.begun(open_page, api, player_page.PRESSED)
    expect(other.get_by_role("slider", name="Speed")).to_be_disabled()


def test_r23_the_quality_can_be_chosen(open_page: Open, api: Api) -> None:
    """From low to exact; the server takes it without a complaint."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    for level in ("low", "medium", "high", "exact"):
        page.get_by_label("Quality").select_option(level)
    playing.settled(page)
    assert [each["level"] for each in player_page.sent(page, "quality")] == ["low", "medium", "high", "exact"]
    expect(page.get_by_role("alert")).to_have_count(0)


def test_r22_a_camera_is_chosen_by_key_or_list(open_page: Open, api: Api) -> None:
    """Its picture comes at once, also in a pause, and the list says which one it is."""
    page = player_page.begun(open_page, api, {"environment": "rlds_kit_tests/Eyes-v0", "turn": "press"})
    camera = page.get_by_label("Camera")
    expect(camera).to_have_value("0")
    page.keyboard.press("Digit2")
    expect(camera).to_have_value("1")
    assert camera.locator("option:checked").inner_text() == "2: eyes/left"
    page.wait_for_function("() => document.querySelector('.arena canvas').width === 32")
    assert {value for row in player_page.pixels(page) for value in row} == {100}
    page.keyboard.press("Escape")
    expect(page.get_by_role("group", name="Paused")).to_be_visible()
    camera.select_option("2")
    page.wait_for_function(
        """() => {
            const canvas = document.querySelector(".arena canvas");
            return canvas.getContext("2d").getImageData(0, 0, 1, 1).data[0] === 200;
        }"""
    )
    page.get_by_role("button", name="Continue").click()
    playing.press(page, "ArrowRight")
    assert player_page.pixels(page)[0][0] == 201
    assert [each["n"] for each in player_page.sent(page, "camera")] == [1, 2]


def test_r24_the_player_fills_the_screen(open_page: Open, api: Api) -> None:
    """By the button, and by the key F; the line with step and return stays."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    page.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => document.fullscreenElement?.classList.contains('player')")
    expect(page.locator(".status-line")).to_be_visible()
    page.keyboard.press("KeyF")
    page.wait_for_function("() => document.fullscreenElement === null")


def test_r24_the_line_above_the_picture_counts(open_page: Open, api: Api) -> None:
    """Episode, step, reward and return, of this episode."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    for name, value in {"Episode": "1", "Step": "0", "Reward": "0", "Return": "0"}.items():
        playing.expect_fact(page, name, value)
    playing.press(page, "ArrowLeft", "ArrowLeft")
    for name, value in {"Episode": "1", "Step": "2", "Reward": "-2", "Return": "-3"}.items():
        playing.expect_fact(page, name, value)
    playing.end(page)
    playing.save(page, completed=False)
    for name, value in {"Episode": "2", "Step": "0", "Reward": "0", "Return": "0"}.items():
        playing.expect_fact(page, name, value)


def test_r7_instructions_and_keys_stand_beside_the_picture(open_page: Open, api: Api) -> None:
    """Those of the study and of the environment; keys that are held light up."""
    environment = {"environment": "ALE/Breakout-v5", "turn": "press", "instructions": "Mind the **wall**."}
    page = player_page.begun(open_page, api, environment)
    side = page.get_by_role("complementary")
    expect(side).to_contain_text("Go on.")
    expect(side).to_contain_text("Mind the wall.")
    expect(side.get_by_text("fire", exact=True).first).to_be_visible()
    page.keyboard.down("ArrowRight")
    expect(side.locator("kbd.down")).to_have_text("→")
    page.keyboard.up("ArrowRight")
    expect(side.locator("kbd.down")).to_have_count(0)


@pytest.mark.parametrize(("is_marked", "status"), [(True, "completed"), (False, "cancelled")])
def test_r13_the_dialog_decides_what_becomes_of_an_episode(
    open_page: Open, api: Api, is_marked: bool, status: str
) -> None:
    """Saved and marked is completed, saved and not marked is cancelled; it suggests how the episode ended."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    asked = page.get_by_role("dialog", name="The episode is over")
    expect(asked).to_contain_text("3")
    expect(asked.get_by_role("checkbox", name="The task was completed")).to_be_checked()
    playing.save(page, completed=is_marked)
    expect(page.get_by_role("complementary").locator(".played")).to_contain_text(status)


def test_r13_who_still_hammers_on_the_keys_has_not_answered(open_page: Open, api: Api) -> None:
    """The question stays until it could be read, and no button has the focus that a held key would press."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    asked = page.get_by_role("dialog", name="The episode is over")
    page.evaluate(
        """() => new Promise((done) => {
            const look = () => document.querySelector("dialog[open]") ? done(null) : requestAnimationFrame(look);
            look();
        }).then(() => document.querySelector("dialog .primary").click())"""
    )
    expect(asked).to_be_visible()
    expect(asked.locator(".outcome")).to_be_focused()


def test_who_asked_to_end_may_play_on(open_page: Open, api: Api) -> None:
    """By the button and by Escape; the episode is the same."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    playing.press(page, "ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Play on").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    playing.press(page, "ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    playing.expect_fact(page, "Step", "2")
    playing.expect_fact(page, "Episode", "1")


def test_a_tab_that_is_loaded_again_goes_on_with_its_episode(open_page: Open, api: Api) -> None:
    """The same session, the same step, and the episodes before."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    playing.press(page, "ArrowRight")
    playing.end(page)
    playing.save(page)
    played = page.locator(".played").get_by_role("listitem")
    texts = ["Episode 1completed1 step, return 1"]
    expect(played).to_have_text(texts)
    playing.begin(page)
    playing.press(page, "ArrowRight", "ArrowRight")
    page.reload()
    expect(played).to_have_text(texts)
    page.get_by_role("button", name="Continue").click()
    playing.expect_fact(page, "Step", "2")
    playing.press(page, "ArrowLeft")


def test_a_second_tab_takes_over_and_can_be_taken_over(open_page: Open, api: Api) -> None:
    """The first says so, and offers to go on there."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    playing.press(page, "ArrowRight")
    second = page.context.new_page()
    second.goto("about:blank")
    stored = page.evaluate("JSON.stringify({ ...sessionStorage })")
    second.add_init_script(f"if (location.protocol !== 'about:') Object.assign(sessionStorage, {stored})")
    second.goto(page.url)
    expect(page.get_by_role("group", name="You play in another window")).to_be_visible()
    page.get_by_role("button", name="Play here").click()
    expect(second.get_by_role("group", name="You play in another window")).to_be_visible()
    playing.expect_fact(page, "Step", "1")


def test_those_who_look_on_see_everything_and_change_nothing(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """They have no buttons, and their keys are not sent."""
    page = player_page.begun(open_page, api, player_page.PRESSED, person=studio.person("participant", "fay"))
    session = re.findall(r"session=(\w+)", page.url)[0]
    watching = open_page(f"#watch?session={session}", person=studio.designer, prepare=player_page.listen)
    expect(watching.get_by_text("You are watching")).to_be_visible()
    playing.press(page, "ArrowRight", "ArrowRight")
    playing.expect_fact(watching, "Step", "2")
    watching.keyboard.press("ArrowRight")
    watching.keyboard.press("Enter")
    assert player_page.pixels(watching) == player_page.pixels(page)
    assert {each["type"] for each in watching.evaluate("sent")} == {"hello", "ack"}
    expect(watching.get_by_role("button", name="Pause")).to_have_count(0)
    playing.expect_fact(page, "Step", "2")


def test_r25_text_is_shown_as_text(open_page: Open, api: Api) -> None:
    """Where an environment draws with letters."""
    page = player_page.begun(open_page, api, {"environment": "rlds_kit_tests/Arm-v0", "turn": "press"})
    shown = page.locator(".text-picture")
    expect(shown).to_have_text(" ".join(["+0.00"] * 6))
    expect(page.locator(".arena canvas")).to_be_hidden()
    playing.press(page, "ArrowRight")
    expect(shown).to_have_text(" ".join(["+1.00"] + ["+0.00"] * 5))


def test_r26_an_environment_that_crashes_is_told_and_the_next_one_is_made(open_page: Open, api: Api) -> None:
    """The page stays, and one can go on."""
    page = player_page.begun(open_page, api, {**player_page.PRESSED, "kwargs": {"trouble": "exit"}})
    playing.press(page, "ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("region", name="Messages")).to_contain_text("was interrupted")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    playing.expect_fact(page, "Episode", "2")


def test_leaving_in_the_pixels_is_asked_about(open_page: Open, api: Api) -> None:
    """Then the session is over, and the episode abandoned."""
    study = api.study("Left", player_page.PRESSED)
    page = open_page(playing.link(study))
    playing.begin(page)
    playing.press(page, "ArrowRight")
    page.get_by_role("button", name="End session").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="End session")).to_be_focused()
    playing.press(page, "ArrowLeft")
    page.get_by_role("button", name="End session").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Left")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("group", name="You cannot come in")).to_be_visible()
    assert [row["status"] for row in api.episodes(study=study["id"])] == ["abandoned"]
    page.get_by_role("button", name="New session").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()


def test_leaving_while_pictures_come(open_page: Open, api: Api) -> None:
    """Nothing is painted where nothing is any more; who comes back goes on."""
    page = player_page.begun(open_page, api, {**player_page.TIMED, "fps": 60.0})
    page.evaluate(
        """() => {
            const decode = createImageBitmap;
            window.createImageBitmap = async (...given) => {
                const picture = await decode(...given);
                window.createImageBitmap = decode;
                location.hash = "#studies"; // between the picture and its painting
                return picture;
            };
        }"""
    )
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".overlay")).to_have_count(0)


def test_who_leaves_before_the_session_is_open_is_elsewhere(open_page: Open, api: Api) -> None:
    """The answer that comes later changes neither the page nor its address."""
    study = api.study("Not waited for", player_page.PRESSED)
    page = open_page("#studies")
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/api/sessions", hold)
    with page.expect_request("**/api/sessions"):
        page.evaluate("(hash) => { location.hash = hash; }", playing.link(study))
    page.go_back()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    with page.expect_response("**/api/sessions"):
        waiting[0].continue_()
    playing.settled(page)
    expect(page).to_have_url(re.compile("#studies$"))

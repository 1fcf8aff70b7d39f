"""Keys, pads and fingers in the player."""

from typing import Any

from playwright.sync_api import expect

from tests.studio.browser import player_page, playing
from tests.studio.browser.conftest import PHONE, Open
from tests.studio.studio_process import Api


def test_r18_all_keys_that_are_held_are_sent_whenever_they_change(open_page: Open, api: Api) -> None:
    """Each time with the frame that was painted last; keys that repeat themselves change nothing."""
    page = player_page.begun(open_page, api, player_page.TIMED)
    for key in ("ArrowLeft", "KeyX", "Space"):
        page.keyboard.down(key)
    page.keyboard.down("Space")
    for key in ("KeyX", "ArrowLeft", "Space"):
        page.keyboard.up(key)
    one, two = {"ArrowLeft": 1}, {"ArrowLeft": 1, "KeyX": 1}
    three = {**two, "Space": 1}
    assert player_page.held(page)[-6:] == [one, two, three, {"ArrowLeft": 1, "Space": 1}, {"Space": 1}, {}]
    shown = [each["shown"] for each in player_page.sent(page, "keys")[-6:]]
    assert shown == sorted(shown)
    assert shown[0] >= 1
    acknowledged = [each["seq"] for each in player_page.sent(page, "ack")]
    assert set(shown) <= set(acknowledged)


def test_r8_holding_a_key_makes_one_step(open_page: Open, api: Api) -> None:
    """However often the keyboard repeats it."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    for _ in range(5):
        page.keyboard.down("ArrowRight")
    playing.expect_fact(page, "Step", "1")
    page.keyboard.up("ArrowRight")
    playing.press(page, "ArrowRight")
    playing.expect_fact(page, "Return", "3")
    playing.expect_fact(page, "Reward", "2")


def test_what_is_held_as_a_pause_ends_counts(open_page: Open, api: Api) -> None:
    """Also where it went down in the pause; what was let go by then does not."""
    page = player_page.begun(open_page, api, player_page.TIMED)
    page.get_by_role("toolbar").get_by_role("button", name="Pause").click()
    expect(page.get_by_role("group", name="Paused")).to_be_visible()
    page.keyboard.press("KeyX")
    page.keyboard.down("ArrowLeft")
    assert player_page.held(page)[-1] == {"ArrowLeft": 1}
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("group", name="Paused")).to_have_count(0)
    page.keyboard.up("ArrowLeft")
    assert player_page.held(page)[-2:] == [{"ArrowLeft": 1}, {}]


def test_shortcuts_of_the_browser_stay_the_browsers(open_page: Open, api: Api) -> None:
    """With Control, Alt or Meta a key does nothing here, and what was held is let go; Tab moves the focus."""
    page = player_page.begun(open_page, api, player_page.TIMED)
    page.evaluate(
        "addEventListener('keydown', (event) => { last = [event.key, event.defaultPrevented]; });var last = null"
    )
    page.keyboard.down("ArrowLeft")
    assert page.evaluate("last") == ["ArrowLeft", True]
    page.keyboard.down("Control")
    page.keyboard.down("ArrowRight")
    assert page.evaluate("last") == ["ArrowRight", False]
    assert player_page.held(page)[-1] == {}
    page.keyboard.up("ArrowRight")
    page.keyboard.up("Control")
    page.keyboard.up("ArrowLeft")
    page.keyboard.press("Tab")
    assert page.evaluate("last") == ["Tab", False]
    expect(page.get_by_role("toolbar").get_by_role("button", name="Pause")).to_be_focused()


def test_keys_in_a_slider_move_the_slider(open_page: Open, api: Api) -> None:
    page = player_page.begun(open_page, api, player_page.TIMED)
    slider = page.get_by_role("slider", name="Speed")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("21")
    assert {"ArrowRight": 1} not in player_page.held(page)
    assert [each["fps"] for each in player_page.sent(page, "rate")] == [21]


def test_after_a_click_in_the_bar_keys_act_again(open_page: Open, api: Api) -> None:
    """Who uses the mouse need not click on the picture before going on."""
    page = player_page.begun(open_page, api, player_page.TIMED)
    page.get_by_label("Quality").select_option("low")
    page.get_by_role("slider", name="Speed").click()
    expect(page.get_by_role("application")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    assert {"ArrowLeft": 1} in player_page.held(page)


def test_a_window_that_loses_the_focus_lets_go_and_pauses(open_page: Open, api: Api) -> None:
    """Who looks elsewhere does not play."""
    page = player_page.begun(open_page, api, player_page.TIMED)
    page.keyboard.down("ArrowLeft")
    page.evaluate("document.hasFocus = () => false; dispatchEvent(new Event('blur'))")
    expect(page.get_by_role("group", name="Paused")).to_be_visible()
    assert player_page.held(page)[-1] == {}
    expect(page.get_by_role("button", name="Continue")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="Paused")).to_have_count(0)


def test_everything_can_be_done_with_the_keyboard_alone(open_page: Open, api: Api) -> None:
    """From the start over a pause to the answer, and on to the next episode."""
    page = player_page.opened(open_page, api, player_page.PRESSED)
    expect(page.get_by_role("button", name="Start")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("application")).to_be_focused()
    playing.press(page, "ArrowRight")
    page.keyboard.press("Slash")
    expect(page.get_by_role("button", name="Continue")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("application")).to_be_focused()
    playing.press(page, "KeyD")
    page.keyboard.press("Enter")
    asked = page.get_by_role("dialog")
    expect(asked.get_by_role("button", name="Save")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(asked.get_by_role("button", name="Reject")).to_be_focused()
    since = page.evaluate("performance.now()")
    page.wait_for_function("(since) => performance.now() > since + 500", arg=since)  # until it could be read
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Start episode 2")).to_be_focused()


def test_fingers_play_on_a_phone(open_page: Open, api: Api) -> None:
    """The pad is the arrows, also two at once; a button for each other key; nothing is wider than the screen."""
    page = player_page.begun(
        open_page,
        api,
        {"environment": "ALE/SpaceInvaders-v5", "turn": "clock", "fps": 15.0},
        viewport=PHONE,
        has_touch=True,
        is_mobile=True,
    )
    pad = page.get_by_role("img", name="Arrows")
    box = pad.bounding_box()
    assert box is not None
    pad.dispatch_event(
        "pointerdown", {"pointerId": 1, "clientX": box["x"] + box["width"] - 8, "clientY": box["y"] + box["height"] / 2}
    )
    pad.dispatch_event("pointerup", {"pointerId": 1})
    fire = page.get_by_role("button", name="fire")
    fire.tap()
    held = player_page.held(page)
    assert {"ArrowRight": 1} in held
    assert {"Space": 1} in held
    assert held[-1] == {}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_r19_a_gamepad_is_told_when_it_comes_and_goes(open_page: Open, api: Api, gamepad: Any) -> None:
    page = player_page.begun(open_page, api, player_page.TIMED)
    pad = gamepad(page)
    pad.connect("Pad of glass")
    expect(page.get_by_role("status").filter(has_text="Gamepad: Pad of glass")).to_be_visible()
    pad.hold(14, 1.0)
    pad.disconnect()
    expect(page.get_by_role("status").filter(has_text="The gamepad is gone")).to_be_visible()
    assert player_page.held(page)[-1] == {}

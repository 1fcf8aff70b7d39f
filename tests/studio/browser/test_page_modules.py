"""Modules of the page that compute something, run in the browser that they are for."""

import base64
import random
from typing import Any, Final

import ale_py
import gymnasium
import pytest
from playwright.sync_api import Page, expect

from rlds_kit.studio.play.frame_header import NO_FLAGS, Flags, Header, pack
from rlds_kit.trials.environments.controls import controls_of
from rlds_kit.trials.frames.picture import Codec

gymnasium.register_envs(ale_py)
PARSE: Final = """async (text) => {
    const { parse } = await import("/page/play/frame.js");
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const frame = parse(bytes.buffer);
    return { ...frame, payload: [...frame.payload] };
}"""

HEADERS: Final = (
    Header(Codec.PNG, Flags.FIRST, 1, 0, 0, 0.0, 3),
    Header(Codec.WEBP, Flags.TERMINATED | Flags.TRUNCATED, 2**32 - 1, 2**32 - 1, 10**15, -0.1, 3),
    Header(Codec.JPEG, NO_FLAGS, 7, 8, -(10**6), 1e300, 3),
    Header(Codec.TEXT, NO_FLAGS, 9, 10, 123_456_789, 2.5, 3),
    Header(Codec.PNG, Flags.AHEAD, 11, 12, 13, 0.0, 3, action=65_535),
)
WORDS: Final = {
    "UPRIGHTFIRE": "up right fire", "LEFT": "left", "TURN_LEFT": "turn left", "pick up": "pick up", "": ""
}  # fmt: skip

LETTERS: Final = ("KeyW", "KeyA", "KeyS", "KeyD", "KeyQ")


def _parsed(page: Page, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(PARSE, base64.b64encode(data).decode())
    return found


@pytest.fixture
def blank(page: Page) -> Page:
    """A page that is loaded."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    return page


def test_the_page_reads_frames_as_the_server_writes_them(blank: Page) -> None:
    for header in HEADERS:
        found = _parsed(blank, pack(header) + b"abc")
        assert found["payload"] == list(b"abc")
        assert (found["codec"], found["flags"], found["sequence"]) == (header.codec, header.flags, header.sequence)
        assert (found["step"], found["total"], found["action"]) == (header.step, header.total, header.action)
        assert found["serverMs"] == pytest.approx(header.time_ns / 1e6)


def test_what_is_no_frame_is_refused(blank: Page) -> None:
    """Too short, of another size than it says, or something else."""
    for data in (b"", b"RKF1", pack(Header(Codec.PNG, NO_FLAGS, 1, 0, 0, 0.0, 4)) + b"abc", b"X" * 60):
        with pytest.raises(Exception, match="frame"):
            _parsed(blank, data)


def test_names_of_actions_are_words(blank: Page) -> None:
    """Of the Arcade Learning Environment, and others."""
    said = blank.evaluate(
        """async (names) => {
            const { actionName } = await import("/page/play/key_names.js");
            return Object.fromEntries(Object.keys(names).map((name) => [name, actionName(name)]));
        }""",
        WORDS,
    )
    assert said == WORDS


def test_the_page_foresees_the_action_that_the_server_takes(blank: Page) -> None:
    """For any keys, sticks and buttons, in any order."""
    with gymnasium.make("ALE/Boxing-v5") as env:
        controls = controls_of(env)
    chance = random.Random(5)
    names = [
        *LETTERS,
        "Space",
        "ArrowUp",
        "ArrowDown",
        "ArrowLeft",
        "ArrowRight",
        "Button0",
        "Button12",
        "Axis0",
        "Axis1",
    ]
    held = [
        {name: chance.choice([1.0, 0.4, -0.9, 0.7]) for name in chance.sample(names, chance.randrange(6))}
        for _ in range(500)
    ]
    chords = [{"keys": keys, "action": action} for keys, action, _ in controls.actions]
    found = blank.evaluate(
        """async ([held, chords]) => {
            const { actionOf } = await import("/page/play/chords.js");
            return held.map((each) => actionOf(each, chords));
        }""",
        [held, chords],
    )
    controller = controls.controller()
    assert found == [controller.act(each) for each in held]
    assert len(set(found)) > 10


def test_several_devices_are_held_together(blank: Page) -> None:
    """What one lets go, another may still hold; the same again is not told again."""
    found = blank.evaluate(
        """async () => {
            const { Held } = await import("/page/play/held.js");
            const told = [];
            const held = new Held((all) => told.push(all));
            held.set("keyboard", { ArrowUp: 1 });
            held.set("gamepad", { Axis0: 0.1234567890123 });
            held.set("gamepad", { Axis0: 0.1234567890123 });
            held.set("keyboard", {});
            held.clear();
            return told;
        }"""
    )
    axis = {"Axis0": 0.1234567890123}
    assert found == [{"ArrowUp": 1}, {"ArrowUp": 1, **axis}, axis, {}]

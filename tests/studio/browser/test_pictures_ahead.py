"""Step by step over a slow link: a key shows its picture at once, and the true one takes its place."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from rlds_kit.base.step import TRIAL_CLOCK
from tests.studio.bad_link import Quality, bad_link
from tests.studio.browser import player_page, playing
from tests.studio.browser.conftest import Open
from tests.studio.studio_process import Api, StudioProcess, running

SLOW: Final = Quality(delay=0.1, stalled=0.0)
"""A round trip takes 200 ms."""
GAMES: Final[dict[str, dict[str, Any]]] = {
    "lake": {"environment": "FrozenLake-v1", "kwargs": {"is_slippery": False}, "turn": "press"},
    "breakout": {
        "environment": "ALE/Breakout-v5",
        "kwargs": {"repeat_action_probability": 0.0},
        "turn": "press",
    },
}
ACTIONS: Final = {"lake": (0, 2), "breakout": (3, 2)}
"""Of the left arrow and the right one. Both change the picture, whatever was done before."""
KEYS: Final = 8
_PICTURE: Final = """document.querySelector(".arena canvas").toDataURL()"""
_WATCH: Final = """
(() => {
  window.trueStep = -1;
  window.phase = "";
  window.ahead = new Set();
  window.answers = [];
  window.decoding = 0;
  const decode = createImageBitmap;
  window.createImageBitmap = async (...given) => {
    decoding += 1;
    try {
      return await decode(...given);
    } finally {
      decoding -= 1;
    }
  };
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        if (typeof data === "string") {
          const { type, phase } = JSON.parse(data);
          if (type === "state") window.phase = phase;
          return;
        }
        const view = new DataView(data);
        const step = view.getUint32(12, true);
        if (view.getUint8(5) & 8) ahead.add(`${step} ${view.getUint16(6, true)}`);
        else trueStep = step;
      });
    }
  };
  const sum = () => {
    const canvas = document.querySelector(".arena canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Uint32Array(data.buffer).reduce((found, pixel) => (Math.imul(found, 31) + pixel) | 0, 0);
  };
  addEventListener("keydown", ({ code }) => {
    if (!code.startsWith("Arrow")) return;
    const before = sum();
    const began = performance.now();
    let frames = 0;
    const look = () => {
      frames += 1;
      if (sum() === before && frames < 600) requestAnimationFrame(look);
      else answers.push({ frames, ms: performance.now() - began, trueStep });
    };
    requestAnimationFrame(look);
  }, { capture: true });
})();
"""


@pytest.fixture(scope="module")
def arcade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio of its own."""
    with running(tmp_path_factory.mktemp("arcade") / "studio", "--workers", "1") as studio:
        yield studio


def _watch(page: Page) -> None:
    page.add_init_script(_WATCH)


@pytest.mark.thorough
@pytest.mark.parametrize("name", GAMES)
def test_c12_a_key_shows_its_picture_within_two_frames_of_the_screen(
    arcade: StudioProcess, open_page: Open, name: str
) -> None:
    """100 ms in each direction: the server has not answered by then. All of it came true, and is recorded."""
    study = arcade.designer.study(f"Far away: {name}", GAMES[name], instructions="Go on.")
    with bad_link(int(arcade.url.rpartition(":")[2]), SLOW, seed=1) as link:
        ann = arcade.person("participant", "ann")
        person = Api(f"http://127.0.0.1:{link.port}", ann.token, ann.cookie)
        page = open_page(playing.link(study), person=person, prepare=_watch)
        playing.begin(page)
        page.wait_for_function("() => phase === 'running'")  # until then no key makes a step, as far as the page knows
        for step in range(KEYS):
            page.wait_for_function("(step) => trueStep === step - 1", arg=step + 1)
            for action in ACTIONS[name]:
                page.wait_for_function("(name) => ahead.has(name)", arg=f"{step + 1} {action}")
            page.wait_for_function("() => decoding === 0")
            playing.settled(page)
            page.keyboard.press("ArrowLeft" if step % 2 else "ArrowRight")
            page.wait_for_function("(count) => answers.length === count", arg=step + 1)
            playing.expect_fact(page, "Step", str(step + 1))
        answers: list[dict[str, Any]] = page.evaluate("answers")
        expect(page.locator(".status-line")).to_contain_text(re.compile(r"round trip \d+ ms"))
        speed = page.locator(".status-line .speed").inner_text()
        playing.end(page)
        playing.save(page)
    print(answers)
    print(f"{name}: {sorted(each['ms'] for each in answers)} ms to the picture; the page says: {speed}")
    assert max(each["frames"] for each in answers) <= 2
    (episode,) = playing.recorded(arcade, study)
    clocks = [step[TRIAL_CLOCK]["player"] for step in list(episode.steps)[:-1]]
    assert [(clock["shown_ahead"], clock.get("came_true")) for clock in clocks[1:]] == [(True, True)] * (KEYS - 1)
    assert clocks[0]["shown_ahead"] is False
    assert all(clock["painted_ns"] <= clock["confirmed_ns"] for clock in clocks[1:])
    frames = episode.metadata["frames"]["player"]
    assert (frames["ahead_shown"], frames["ahead_wrong"]) == (KEYS, 0)
    assert frames["round_trip_ms"] >= 200


def test_a_pause_takes_back_what_is_shown_ahead(open_page: Open, api: Api) -> None:
    """A picture whose key made no step gives way to the true one."""
    page = player_page.begun(open_page, api, GAMES["lake"])
    before = page.evaluate(_PICTURE)
    page.wait_for_function("() => sent.some(({ type, seq }) => type === 'ahead' && seq === 4)")
    page.evaluate("() => { WebSocket.prototype.send = () => {}; }")  # a key that is lost on its way
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"(before) => {_PICTURE} !== before", arg=before)
    session = re.findall(r"session=(\w+)", page.url)[0]
    api.ask("POST", f"sessions/{session}/end")
    expect(page.get_by_role("group", name="The session is over")).to_be_visible()
    page.wait_for_function(f"(before) => {_PICTURE} === before", arg=before)

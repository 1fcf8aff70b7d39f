"""Two people play together: whether all records say the same, and how soon each sees what their own key did."""

import csv
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as LateError

import rlds_kit
from mug_side import pages, vendor
from mug_side.relay import relaying
from mug_side.servers import LAMPS, mug, studio
from tests.studio.bad_link import Quality, bad_link
from tests.studio.browser.several_people import lobby
from tests.studio.studio_process import Api

GOOD: Final = Quality(delay=0.0, stalled=0.0)
BAD: Final = Quality(delay=0.1, stalled=0.15)
"""15 % of the segments come 200 ms later, as TCP sends again what was lost; MUG's UDP packets are lost instead."""
PRESSES: Final = 8
"""Of each person: three every two seconds."""
_MUG_OWN: Final = """() => {
  const lamp = _phaserScene.objectMap.get(String(game.myPlayerId));
  return lamp ? +(lamp.x > 150) : -1;
}"""
_STUDIO_OWN: Final = """() => {
  const canvas = document.querySelector(".arena canvas");
  const x = Math.floor(canvas.width * 3 / 4), y = Math.floor(canvas.height * ROW);
  return +(canvas.getContext("2d").getImageData(x, y, 1, 1).data[0] < 128);
}"""
_FRAMES: Final = """
window.totals = {};
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => {
      if (typeof data === "string") return;
      const view = new DataView(data);
      totals[view.getUint32(12, true)] = view.getFloat64(24, true);
    });
  }
};
"""


@dataclass(frozen=True)
class Pair:
    """An episode of two people.

    Attributes:
      steps: that were compared.
      differing: steps of which what one person's side says differs from the other's, or from the record.
      own: milliseconds from each key to the picture in which the person's own lamp has moved.
      is_over: whether it ended within 90 seconds; if not, there is no record of it.
    """

    steps: int
    differing: int
    own: list[float]
    is_over: bool = True


def mug_pair(browser: Browser, python: Path, libraries: Path, quality: Quality, seed: int) -> Pair:
    """Each page has a copy, predicts, and sends its own record when the episode is over."""
    loss = quality.stalled
    with mug(python, "pair") as server, bad_link(server.port, quality, seed) as link:
        with relaying(quality.delay, loss, seed) as relay:
            entered = []
            for _ in range(2):
                context = browser.new_context()
                relay.use(context)
                vendor.answer(context, libraries)
                entered.append(context.new_page())
                pages.enter_mug(entered[-1], f"http://127.0.0.1:{link.port}")
            for page in entered:
                page.locator("#startButton").click(timeout=pages.WAIT_MS)
            for page in entered:
                page.wait_for_function("() => window._phaserScene?.objectMap.has('first')", timeout=pages.WAIT_MS)
            own = _play(entered, [_MUG_OWN, _MUG_OWN])
            is_over = all(map(_ends, entered))
            entered[0].wait_for_timeout(4000)
            for page in entered:
                page.context.close()
            if relay.passed < PRESSES:
                raise RuntimeError("the pages did not find each other through the relay")
        if not is_over:
            return Pair(0, 0, own, is_over=False)
        return Pair(*_compared(sorted(server.directory.glob("data/lamp/lamp/*_ep0.csv"))), own)


def _ends(page: Page) -> bool:
    try:
        page.wait_for_function("() => window.game.state === 'done'", timeout=pages.WAIT_MS)
    except LateError:
        return False
    return True


def _compared(files: Sequence[Path]) -> tuple[int, int]:
    """Steps, and how many of them differ in actions, rewards or ends."""
    first, second = (list(csv.DictReader(each.read_text(encoding="utf-8").splitlines())) for each in files)
    told = [name for name in first[0] if name.split(".")[0] in {"actions", "rewards", "terminateds", "truncateds", "t"}]
    same = sum(all(a[name] == b[name] for name in told) for a, b in zip(first, second, strict=False))
    return max(len(first), len(second)), max(len(first), len(second)) - same


def studio_pair(browser: Browser, quality: Quality, seed: int) -> Pair:
    """There is one environment; both pages are told what it did, and it is recorded."""
    with tempfile.TemporaryDirectory() as folder:
        with _two(browser, Path(folder), quality, seed) as entered:
            own = _play(entered, [_STUDIO_OWN.replace("ROW", row) for row in ("1 / 4", "3 / 4")])
            told = [page.evaluate("totals") for page in entered]
        datasets = [path.parent for path in Path(folder).glob("studio/recordings/**/*.json")]
        (episode,) = rlds_kit.open(datasets[0], include_open=True).episodes
        return Pair(*_against(episode, told), own)


@contextmanager
def _two(browser: Browser, folder: Path, quality: Quality, seed: int) -> Iterator[list[Page]]:
    with studio(folder / "studio") as server, bad_link(int(server.url.rpartition(":")[2]), quality, seed) as link:
        study = server.designer.study("Lamps", LAMPS, instructions="Go on.")
        entered = []
        for name in ("ann", "bob"):
            person = server.person("participant", name)
            far = Api(f"http://127.0.0.1:{link.port}", person.token, person.cookie)
            entered.append(pages.logged_in(browser, far, lobby(study), _FRAMES))
        for page in entered:
            page.wait_for_function("() => Object.keys(totals).length > 10", timeout=pages.WAIT_MS)
        yield entered
        for page in entered:
            page.context.close()


def _play(entered: Sequence[Page], looks: Sequence[str]) -> list[float]:
    for page, look in zip(entered, looks, strict=True):
        page.evaluate(pages.WATCH, look)
    for press in range(PRESSES):
        for page in entered:
            page.keyboard.press("ArrowLeft" if press % 2 else "ArrowRight", delay=100)
            page.wait_for_timeout(150)
    entered[0].wait_for_timeout(700)
    found: list[Any] = [each for page in entered for each in page.evaluate("answers")]
    return [each for each in found if each is not None]


def _against(episode: rlds_kit.Episode, told: Sequence[dict[str, float]]) -> tuple[int, int]:
    """Steps that the pages were told of, and how many of them the record contradicts."""
    totals = [0.0]
    for step in list(episode.steps)[:-1]:
        totals.append(totals[-1] + float(step["reward"]["first"]))
    steps = {int(step) for page in told for step in page}
    wrong = {int(step) for page in told for step, total in page.items() if totals[int(step)] != total}
    return len(steps), len(wrong)

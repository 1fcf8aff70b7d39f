"""How soon a key changes the picture in a page, near and far from the server."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser

from mug_side import pages
from mug_side.servers import LAKE, LAMP, mug, studio
from tests.studio.bad_link import Quality, bad_link
from tests.studio.studio_process import Api

LINKS: Final = {"loopback": None, "100 ms each way": Quality(delay=0.1, stalled=0.0)}
NEAR: Final = Quality(delay=0.0, stalled=0.0)


@dataclass(frozen=True)
class Setting:
    """What all of them need.

    Attributes:
      browser: that shows the pages.
      python: of an environment that has MUG.
      libraries: what MUG's page loads.
      presses: of keys.
      seed: of their moments.
    """

    browser: Browser
    python: Path
    libraries: Path
    presses: int
    seed: int


def of_mug(setting: Setting, quality: Quality | None, mode: str) -> list[float]:
    """Milliseconds for each press, in MUG."""
    with mug(setting.python, mode) as server, bad_link(server.port, quality or NEAR, setting.seed) as link:
        url = server.url if quality is None else f"http://127.0.0.1:{link.port}"
        page = pages.mug_page(setting.browser, url, setting.libraries)
        pages.begin_mug(page)
        found = pages.latencies(page, pages.MUG_SIDE, setting.presses, setting.seed)
        page.context.close()
        return found


def of_studio(setting: Setting, quality: Quality | None, environment: dict[str, Any], look: str) -> list[float]:
    """Milliseconds for each press, in the studio."""
    with tempfile.TemporaryDirectory() as folder, studio(Path(folder) / "studio") as server:
        study = server.designer.study("Keys", environment, instructions="Go on.")
        person = server.person("participant", "ann")
        with bad_link(int(server.url.rpartition(":")[2]), quality or NEAR, setting.seed) as link:
            if quality is not None:
                person = Api(f"http://127.0.0.1:{link.port}", person.token, person.cookie)
            page = pages.studio_page(setting.browser, person, study)
            found = pages.latencies(page, look, setting.presses, setting.seed)
            page.context.close()
        return found


SYSTEMS: Final[dict[str, Callable[[Setting, Quality | None], list[float]]]] = {
    "MUG, steps in the page": lambda setting, quality: of_mug(setting, quality, "page"),
    "MUG, steps on its server": lambda setting, quality: of_mug(setting, quality, "server"),
    "rlds_kit, real time": lambda setting, quality: of_studio(setting, quality, LAMP, pages.STUDIO_SIDE),
    "rlds_kit, step by step (FrozenLake)": lambda setting, quality: of_studio(setting, quality, LAKE, pages.STUDIO_SUM),
}
"""Thirty steps a second, but the last: MUG has no pace that waits for keys."""

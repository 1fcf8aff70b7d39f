"""Measures Multi-User Gymnasium (MUG) and the studio side by side, in turn, on this machine.

    python benchmarks/mug.py            all of it, five rounds: about 30 minutes
    python benchmarks/mug.py --quick    one round
    python benchmarks/mug.py --only delays loads waiting records pairs

Both play the same lamps, `mug_side/lamp.py`. MUG 0.1.3 stays as pip installs it, in an environment of its own, which
this makes. What its page loads from servers on the internet comes from npm and PyPI, once (`mug_side/vendor.py`); that
needs npm, and Chromium has to be installed.
"""

import argparse
import logging
import os
import platform
import sys
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script's own folder is on the path, its checkout is not

from mug_side import delays, loads, pages, pairs, records, reports, vendor
from mug_side.reports import Found
from side_by_side import machine, page
from side_by_side.venvs import Peer, python_of

BEGIN: Final = "<!-- begin: benchmarks/mug.py -->"
END: Final = "<!-- end: benchmarks/mug.py -->"
MUG: Final = Peer(
    "mug",
    ("multi-user-gymnasium[server]==0.1.3", "gymnasium==1.3.0", "python-socketio[client]"),
    "",
    "import mug.rendering, eventlet, flask_socketio, websocket",
    "It needs wheels of pandas and greenlet.",
)
"""Gymnasium 1.4.0 cannot be imported in Pyodide 0.26."""
PARTS: Final = ("delays", "loads", "waiting", "records", "pairs")
COUNTS: Final = (1, 4, 8)
WAITING: Final = 200
SECONDS: Final = 5.0


def main() -> None:
    """Measures, and prints Markdown; what it is doing goes to standard error."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "rlds_kit-benchmarks"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to measure; all if not given")
    parser.add_argument("--workdir", type=Path, default=cache, help=f"for MUG and what its page loads; {cache}")
    parser.add_argument("--page", type=Path, help="also put the report into this page, docs/crowds.md")
    arguments = parser.parse_args()
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # links that are cut at the end are no news
    folder = arguments.workdir.expanduser()
    python = python_of(MUG, folder / "venvs")
    libraries = vendor.fetch(folder / "mug-page", python)
    found, before = Found(), os.getloadavg()[0]
    rounds = 1 if arguments.quick else arguments.rounds
    for number in range(rounds):
        _round(number, arguments.only, python, libraries, found)
        report = "\n".join([*_machine(number + 1, before), *reports.lines(found, WAITING)])
        if arguments.page is not None:  # after each round: the next one may fail
            page.insert(report, arguments.page, BEGIN, END)
    print(report)


def _machine(rounds: int, before: float) -> list[str]:
    return [
        f"- machine: {machine.describe()}; Python {platform.python_version()}",
        f"- rounds: {rounds}, all systems in turn; after ±, how far the round that is farthest from the median is off",
        f"- load average: {before:.1f} before, {os.getloadavg()[0]:.1f} at the end",
        "",
    ]


def _round(number: int, parts: tuple[str, ...], python: Path, libraries: Path, found: Found) -> None:
    """Measures everything once, every second time in the other order."""
    turn = -1 if number % 2 else 1
    with pages.chromium() as browser:
        setting = delays.Setting(browser, python, libraries, presses=12, seed=number)
        if "delays" in parts:
            for link, quality in delays.LINKS.items():
                for name in list(delays.SYSTEMS)[::turn]:
                    _say(number, f"{name}, {link}")
                    found.delays[name, link].append(delays.SYSTEMS[name](setting, quality))
        if "records" in parts:
            _say(number, "servers that are killed")
            found.in_page.append(records.mug_in_page(browser, python, libraries))
            found.on_server.append(records.mug_on_server(browser, python, libraries))
            found.studio.append(records.studio_killed(browser))
        if "pairs" in parts:
            for name, quality in {"loopback": pairs.GOOD, "bad link": pairs.BAD}.items():
                _say(number, f"two players, {name}")
                found.pairs["MUG", name].append(pairs.mug_pair(browser, python, libraries, quality, number))
                found.pairs["rlds_kit", name].append(pairs.studio_pair(browser, quality, number))
    _without_pages(number, parts, python, found)


def _without_pages(number: int, parts: tuple[str, ...], python: Path, found: Found) -> None:
    for count in COUNTS if "loads" in parts else ():
        _say(number, f"{count} sessions")
        found.loads["MUG, steps on its server", count].append(loads.mug_load(python, count, SECONDS))
        found.loads["rlds_kit, recorded", count].append(loads.studio_load(count, SECONDS))
    if "waiting" in parts:
        _say(number, f"{WAITING} people who wait")
        found.waiting["MUG"].append(loads.mug_waiting(python, WAITING))
        found.waiting["rlds_kit"].append(loads.studio_waiting(WAITING))


def _say(number: int, text: str) -> None:
    print(time.strftime("%H:%M:%S"), f"round {number + 1}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""Measures how columns of numbers are best stored: the filters of the format, Blosc2, pcodec, Lance, and prototypes.

    python benchmarks/float_columns.py              three rounds, some minutes
    python benchmarks/float_columns.py --rounds 1   a look

Columns are those of environments of Gymnasium and MuJoCo, of robots, decimals, times, rewards and noise, in blocks of
1,000 rows, as the recorder cuts episodes of vectors, and of 64, as it cuts those with images. Systems take turns within
a round, in reversed order in every other round. Speeds are MB of numbers for a second of CPU time in one thread, calls
from Python included; Lance's are of whole tables. Every decoded number is compared, except those of prototypes, which
only have sizes.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from side_by_side import machine, page
from side_by_side.command_line import note, parser_of
from side_by_side.tables import row
from side_by_side.venvs import Peer, PeerMissingError, python_of

HERE: Final = Path(__file__).parent
BEGIN: Final = "<!-- begin: benchmarks/float_columns.py -->"
END: Final = "<!-- end: benchmarks/float_columns.py -->"
SIDE: Final = HERE / "floats_side"
PEER: Final = Peer(
    "float_columns",
    ("blosc2==4.14.1", "pcodec==1.1.0", "pylance==14.0.2", "gymnasium[mujoco]==1.4.0", "numpy>=2"),
    "",
    "import blosc2, gymnasium, lance, mujoco, pcodec",
    "It needs wheels of Blosc2, pcodec, pylance and MuJoCo.",
)
SYSTEMS: Final = {"rlds_kit": None, "blosc2": PEER, "lance": PEER, "prototypes": None}
OURS: Final = "rlds_kit, the recorder"
SHOWN: Final = {
    OURS: "recorder",
    "zstd 3": "zstd 3",
    "SHUFFLE, zstd 3": "shuffle",
    "SHUFFLE, zstd 3, each plane": "shuffle, planes",
    "XOR_SHUFFLE, zstd 3, each plane": "XOR, planes",
    "DELTA_SHUFFLE, zstd 3, each plane": "delta, planes",
    "Blosc2, shuffle, zstd": "Blosc2, zstd",
    "pcodec": "pcodec",
    "Lance, zstd": "Lance, zstd",
    "ALP (size only)": "ALP",
    "Gorilla (size only)": "Gorilla",
}
"""The codecs of the table of columns, and what they are called there."""

Rounds = list[dict[str, dict[str, Any]]]
"""For each round, by column and codec, what was measured."""


def main() -> None:
    """Measures, and prints Markdown or JSON; what it is doing goes to standard error."""
    arguments = _arguments()
    workdir = arguments.workdir.expanduser()
    inputs = make(workdir)
    rounds: Rounds = []
    versions: set[str] = set()
    for number in range(arguments.rounds):
        found: dict[str, dict[str, Any]] = {}
        for system in list(SYSTEMS)[:: 1 if number % 2 == 0 else -1]:
            note(f"round {number + 1}: {system}")
            played = _play(system, inputs, workdir)
            versions |= {played["versions"]} - {""}
            for column, measured in played["columns"].items():
                found.setdefault(column, {}).update(measured)
        rounds.append(found)
    report = "\n".join(_report(rounds, versions))
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(json.dumps(rounds) if arguments.json else report)


def make(workdir: Path) -> Path:
    """Makes the columns, unless they are there."""
    path = workdir / "float_columns.npz"
    if not path.exists():
        partial = path.with_suffix(".partial.npz")
        _run(_python(PEER, workdir), SIDE / "inputs.py", partial.resolve(), folder=workdir)  # MuJoCo writes a log there
        partial.rename(path)
    return path


def _play(system: str, inputs: Path, workdir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_run(_python(SYSTEMS[system], workdir), SIDE / "play.py", system, inputs))
    return found


def _python(peer: Peer | None, workdir: Path) -> Path:
    if peer is None:
        return Path(sys.executable)
    try:
        return python_of(peer, workdir)
    except PeerMissingError as error:
        raise SystemExit(f"{peer.name}: {error}") from error


def _run(*command: object, folder: Path | None = None) -> str:
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command[1:]))} failed:\n{done.stderr[-2000:]}")
    return (done.stdout.strip().splitlines() or ["{}"])[-1]


def _report(rounds: Rounds, versions: set[str]) -> Iterator[str]:
    yield f"- machine: {machine.describe()}"
    yield f"- python: {platform.python_version()}"
    yield f"- versions: {'; '.join(sorted(versions))}"
    yield f"- rounds: {len(rounds)}; load average at the end: {os.getloadavg()[0]:.1f}"
    yield ""
    yield "All codecs: medians over the columns, in brackets the lowest and the highest column:"
    yield ""
    yield row(("codec", "share of bytes", "blocks of 64 rows", "encode, MB/s", "decode, MB/s"))
    yield row(["---"] * 5)
    for codec in dict.fromkeys(codec for found in rounds[0].values() for codec in found if codec != "choice"):
        yield row([codec, *_summary(rounds, codec)])
    yield ""
    yield "Bytes of a value, blocks of 1,000 rows, and what the recorder chooses for a column that is alone:"
    yield ""
    yield row(("column", "stored", *SHOWN.values(), "chosen", "decode, MB/s"))
    yield row(["---"] * (4 + len(SHOWN)))
    for column, found in rounds[0].items():
        sizes = (f"{found[codec]['bytes']:.2f}" if codec in found else "" for codec in SHOWN)
        speed = statistics.median(each[column][OURS]["decode"] for each in rounds)
        yield row([column, f"{_width(found)}", *sizes, found["choice"], f"{speed:,.0f}"])


def _summary(rounds: Rounds, codec: str) -> Iterator[str]:
    measured = [name for name, found in rounds[0].items() if codec in found]
    for key in ("bytes", "short"):
        shares = [
            rounds[0][name][codec][key] / _width(rounds[0][name]) for name in measured if _has(rounds, codec, key)
        ]
        yield f"{statistics.median(shares):.0%}" if shares else ""
    for key in ("encode", "decode"):
        if not _has(rounds, codec, key):
            yield ""
            continue
        speeds = [statistics.median(each[name][codec][key] for each in rounds) for name in measured]
        yield f"{statistics.median(speeds):,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})"


def _has(rounds: Rounds, codec: str, key: str) -> bool:
    return all(key in found[codec] for found in rounds[0].values() if codec in found)


def _width(found: dict[str, Any]) -> int:
    """Bytes of a number."""
    return round(found["stored"]["bytes"])


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "inputs, which are made once")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Measures conversions: MB/s and peak memory of each format, to ours and from ours, with one worker and with two.

    python benchmarks/convert.py              all of it: 1 GB of Atari frames and 17 floats a step
    python benchmarks/convert.py --quick      a look at small inputs

One recording, made with rlds_kit's logger, is written in every format: by `rlds-kit convert`, as HDF5 of D4RL's layout,
and by TFDS. Megabytes are those of the steps before compression, so that formats compare. Every conversion of ours
compares what it wrote with what it read; no peer does, and TFDS's loop writes nothing. Inputs are kept below --workdir.
"""

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np
from pipelines_side import inputs
from pipelines_side.arrays import Arrays
from pipelines_side.inputs import Input
from side_by_side import machine, page
from side_by_side.script import last_line
from side_by_side.tables import row, spread

HERE: Final = Path(__file__).parent
BEGIN: Final = "<!-- begin: benchmarks/convert.py -->"
END: Final = "<!-- end: benchmarks/convert.py -->"
OURS: Final = "rlds_kit"
TFDS: Final = "tfds tfrecord"
MINARI: Final = "minari"
WRITTEN: Final = (MINARI, "envlogger", "lerobot")
"""Formats that `rlds-kit convert` makes of the recording, to be measured in both directions."""
SOURCES: Final = (TFDS, "tfds array_record", "arrays", *WRITTEN)

Results = dict[str, dict[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Way:
    """One thing to measure.

    Attributes:
      name: for the table.
      way: what the player is told to do.
      files: that are read, a folder or file of the input.
      options: for the player.
    """

    name: str
    way: str
    files: str
    options: tuple[str, ...] = ()


def ways() -> Iterator[Way]:
    """Each conversion, and beside it what peers do with the same files."""
    for name in SOURCES:
        for workers in (1, 2):
            options = ("--source", name.partition(" ")[0], "--to", OURS, "--workers", str(workers))
            said = "1 worker" if workers == 1 else f"{workers} workers"
            yield Way(f"{name} to rlds_kit, {said}", "convert", _files(name), options)
        if name == TFDS:
            yield Way("TFDS reads the tfrecord files, and writes nothing", "tfds", _files(name))
        if name == MINARI:
            yield Way("Minari copies its own dataset", "minari", _files(name))
    for name in WRITTEN:
        yield Way(f"rlds_kit to {name}, 1 worker", "convert", "recording", ("--source", OURS, "--to", name))


def _files(name: str) -> str:
    return {TFDS: "tfrecord-zlib", "tfds array_record": "array_record-zlib", "arrays": "arrays.hdf5"}.get(
        name, f"as-{name}-v0"
    )


def main() -> None:
    """Measures, and prints Markdown or JSON; what it is doing goes to standard error."""
    arguments = _arguments()
    results: Results = {}
    for given in _inputs(quick=arguments.quick):
        _say(f"{given.title}: preparing")
        folder = prepare(given, arguments.workdir.expanduser() / "pipelines")
        step_bytes = _step_bytes(folder)
        for number in range(arguments.rounds):
            for way in list(ways())[:: 1 if number % 2 == 0 else -1]:
                result = _run(HERE / "convert_side" / "play.py", way.way, _source(folder / way.files), *way.options)
                result["mb_per_s"] = result["steps"] * step_bytes / result["seconds"] / 1e6
                _say(f"{given.title}, round {number + 1}: {way.name}: {result['mb_per_s']:,.0f} MB/s")
                results.setdefault(given.title, {}).setdefault(way.name, []).append(result)
    report = _report(results, arguments.rounds)
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(json.dumps(results) if arguments.json else report)


def _inputs(*, quick: bool) -> Iterator[Input]:
    yield Input("210 x 160 x 3 Atari frames", "ale", 100 if quick else 2_600)
    yield Input("17 floats", "vectors", 5_000 if quick else 200_000)


def prepare(given: Input, workdir: Path) -> Path:
    """Makes the input in all formats, unless it is there; returns its folder."""
    folder = inputs.make(given, workdir)
    for kind in ("tfrecord", "array_record"):
        options = ("--encoding", "zlib", "--file-format", kind)
        inputs.once(folder / f"{kind}-zlib", lambda out, o=(*options,): _write_tfds(folder, out, *o))
    if not (folder / "arrays.hdf5").exists():
        _write_arrays(Arrays(folder / "arrays"), folder / "arrays.hdf5")
    for name in WRITTEN:
        target = folder / _files(name)
        if not target.exists():
            options = ("--source", OURS, "--to", name, "--keep", str(target))
            _run(HERE / "convert_side" / "play.py", "convert", folder / "recording", *options)
    return folder


def _write_tfds(folder: Path, out: Path, *options: str) -> None:
    last_line(HERE / "pipelines_side" / "write_tfds.py", folder / "arrays", out, *options)


def _write_arrays(arrays: Arrays, path: Path) -> None:
    """D4RL's layout: a row for every action, and the observation after it."""
    partial = path.with_suffix(".partial")
    rows = sum(len(episode["action"]) - 1 for episode in arrays.episodes())
    with h5py.File(partial, "w") as file:
        row = 0
        for episode in arrays.episodes():
            count = len(episode["action"]) - 1
            ends = np.arange(count) == count - 1
            given = {
                "observations": episode["observation"][:-1],
                "next_observations": episode["observation"][1:],
                "actions": episode["action"][:-1],
                "rewards": episode["reward"][:-1],
                "terminals": ends & bool(episode["is_terminal"][-1]),
                "timeouts": ends & (not episode["is_terminal"][-1]),
            }
            for name, each in given.items():
                into = file.require_dataset(
                    name,
                    (rows, *each.shape[1:]),
                    each.dtype,
                    chunks=(min(rows, 64), *each.shape[1:]),
                    compression="gzip",
                    compression_opts=1,
                )
                into[row : row + count] = each
            row += count
    partial.rename(path)


def _source(path: Path) -> Path:
    """Where a dataset is: TFDS puts it below its name and version."""
    return next((each.parent for each in path.rglob("features.json")), path) if path.is_dir() else path


def _step_bytes(folder: Path) -> float:
    """Of all fields of a step, before compression."""
    arrays = Arrays(folder / "arrays")
    return float(sum(arrays[name].nbytes for name in inputs.FIELDS) / len(arrays))


def _run(*command: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(last_line(*command))
    return found


def _report(results: Results, rounds: int) -> str:
    versions = sorted({one["versions"] for ways in results.values() for played in ways.values() for one in played})
    lines = [
        f"- machine: {machine.describe()}",
        f"- python: {platform.python_version()}",
        "- versions: " + ";\n  ".join(versions),
        f"- rounds: {rounds}",
        f"- load average at the end: {os.getloadavg()[0]:.1f}",
    ]
    for title, played in results.items():
        lines += ["", f"**{title}**:", "", row(("conversion", "MB/s", "seconds", "peak MiB")), row(["---"] * 4)]
        for name, one in played.items():
            lines.append(
                row([name, *(spread([each[key] for each in one]) for key in ("mb_per_s", "seconds", "peak_mib"))])
            )
        lines += ["", *_said(played)]
    return "\n".join(lines)


def _said(played: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """What two workers bring, round by round."""
    for name in SOURCES:
        one, two = (played[f"{name} to rlds_kit, {said}"] for said in ("1 worker", "2 workers"))
        ratios = [b["mb_per_s"] / a["mb_per_s"] for a, b in zip(one, two, strict=True)]
        yield f"- {name}: two workers are {statistics.median(ratios):.2f}x as fast as one"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "rlds_kit-benchmarks"
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print every number of every round as JSON")
    parser.add_argument("--page", type=Path, help="also put the report into this page")
    parser.add_argument("--workdir", type=Path, default=cache, help=f"inputs, which are recorded once; {cache}")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

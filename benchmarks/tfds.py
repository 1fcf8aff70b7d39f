"""Measures reading recordings through TensorFlow Datasets: without conversion, and from files that TFDS wrote.

    python benchmarks/tfds.py              all of it, about twenty minutes
    python benchmarks/tfds.py --quick      a look at small inputs
    python benchmarks/tfds.py --only "17 floats" --rounds 5

One recording, made with rlds_kit's logger, is also written as tfrecord and array_record, its images as PNG and as
zlib tensors. Each system delivers the same steps: that is checked, bit for bit, before numbers are compared. They take
turns within a round, and ratios are of numbers of the same round. Inputs are kept below --workdir.
"""

import argparse
import json
import os
import platform
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from pipelines_side import inputs
from pipelines_side.arrays import Arrays
from pipelines_side.inputs import FIELDS, Input
from pipelines_side.player import digests
from side_by_side import machine, page
from side_by_side.command_line import note, parser_of
from side_by_side.script import last_line
from side_by_side.stopwatch import bytes_on_disk
from side_by_side.tables import row, spread

HERE: Final = Path(__file__).parent
BEGIN: Final = "<!-- begin: benchmarks/tfds.py -->"
END: Final = "<!-- end: benchmarks/tfds.py -->"
SPEED: Final = 5
"""Times the steps per second that zero conversion promises."""
NAMES: Final = {"zlib": "zlib", "png": "PNG", "none": "tensor"}

Results = dict[str, dict[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Way:
    """A way of reading, and who reads.

    Attributes:
      work: what all that are compared with each other do.
      name: for the tables.
      stream: the argument of the player.
      files: that are read, a folder of the input.
    """

    work: str
    name: str
    stream: str
    files: str = "recording"


def ways(encodings: Sequence[str]) -> Iterator[Way]:
    """Ours first in each work."""
    for work, ours, kind, said in (
        ("steps one by one", "one by one", "tfrecord", "one by one"),
        ("whole episodes", "whole", "tfrecord", "whole"),
        ("whole episodes in batches", "dense", "tfrecord", "in batches"),
        ("episodes by number", "by number", "array_record", "by number"),
    ):
        yield Way(work, "rlds_kit, no conversion", f"ours {ours}")
        for encoding in encodings:
            yield Way(work, f"TFDS {kind} {NAMES[encoding]}", f"{encoding} {said}", f"{kind}-{encoding}")


def main() -> None:
    """Measures, and prints Markdown or JSON; what it is doing goes to standard error."""
    arguments = _arguments()
    results: Results = {}
    for given, encodings in _inputs(quick=arguments.quick):
        if arguments.only not in given.title:
            continue
        note(f"{given.title}: preparing")
        folder = prepare(given, encodings, arguments.workdir.expanduser() / "pipelines")
        for number in range(arguments.rounds):
            chosen = list(ways(encodings))
            for way in chosen if number % 2 == 0 else reversed(chosen):
                result = play(way, folder, arguments.seconds, check=number == 0)
                note(f"{given.title}, round {number + 1}: {way.work}, {way.name}: {result['per_second']:,.0f} steps/s")
                results.setdefault(f"{way.work}, {given.title}", {}).setdefault(way.name, []).append(result)
    report = _report(results, arguments.rounds)
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(json.dumps(results) if arguments.json else report)


def _inputs(*, quick: bool) -> Iterator[tuple[Input, tuple[str, ...]]]:
    yield Input("210 x 160 x 3 Atari frames", "ale", 300 if quick else 2_000), ("zlib", "png")
    yield Input("84 x 84 Atari frames", "atari", 2_000 if quick else 30_000), ("zlib", "png")
    yield Input("128 x 128 x 3 noisy camera", "camera", 1_000 if quick else 16_000), ("zlib", "png")
    yield Input("17 floats", "vectors", 20_000 if quick else 200_000), ("none", "zlib")


def prepare(given: Input, encodings: Sequence[str], workdir: Path) -> Path:
    """Makes the input in all formats, unless it is there; returns its folder."""
    folder = inputs.make(given, workdir)
    for encoding in encodings:
        for kind in ("tfrecord", "array_record"):
            command = [HERE / "pipelines_side" / "write_tfds.py", folder / "arrays"]
            options = ["--encoding", encoding, "--file-format", kind]
            inputs.once(
                folder / f"{kind}-{encoding}", lambda out, c=(*command,), o=(*options,): last_line(c[0], c[1], out, *o)
            )
    return folder


def play(way: Way, folder: Path, seconds: float, *, check: bool) -> dict[str, Any]:
    """One timing. On request every step of an epoch is compared with what was recorded.

    Raises:
      ValueError: other steps come out.
    """
    found = folder / "found.npy"
    options = ("--digests", found) if check else ()
    played = last_line(HERE / "tfds_side" / "play.py", "speed", way.stream, folder, "--seconds", seconds, *options)
    result: dict[str, Any] = json.loads(played) | {
        "bytes": bytes_on_disk(folder / way.files) / len(Arrays(folder / "arrays"))
    }
    if check and not np.array_equal(np.sort(np.load(found)), _expected(folder)):
        raise ValueError(f"{folder.name}: {way.name} does not deliver the recorded steps ({way.work})")
    return result


def _expected(folder: Path) -> np.ndarray:
    path = folder / "steps.npy"
    if not path.exists():
        parts = [digests({name: episode[name] for name in FIELDS}) for episode in Arrays(folder / "arrays").episodes()]
        np.save(path, np.sort(np.concatenate(parts)))
    expected: np.ndarray = np.load(path)
    return expected


def _report(results: Results, rounds: int) -> str:
    versions = sorted({one["versions"] for ways in results.values() for played in ways.values() for one in played})
    lines = [
        f"- machine: {machine.describe()}",
        f"- python: {platform.python_version()}",
        "- versions: " + ";\n  ".join(versions),
    ]
    lines += [f"- rounds: {rounds}", f"- load average at the end: {os.getloadavg()[0]:.1f}", ""]
    lines += [row(("work", "against", "goal", "steps/s", "lowest", "highest", "of CPU", "bytes", "met"))]
    lines += [row(["---"] * 9)]
    for title, played in results.items():
        (_, ours), *peers = played.items()
        lines += [_promise(title, name, ours, theirs) for name, theirs in peers]
    for title, played in results.items():
        lines += ["", f"**{title}**:", "", row(("system", "steps/s", "steps/s of CPU", "peak MiB", "bytes/step"))]
        lines += [row(["---"] * 5)]
        for name, one in played.items():
            cells = [
                spread([each[key] for each in one]) for key in ("per_second", "per_cpu_second", "peak_mib", "bytes")
            ]
            lines.append(row([name, *cells]))
    return "\n".join(lines)


def _promise(title: str, name: str, ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> str:
    wall, cpu = (
        [a[key] / b[key] for a, b in zip(ours, theirs, strict=True)] for key in ("per_second", "per_cpu_second")
    )
    weight = ours[0]["bytes"] / theirs[0]["bytes"]
    median = statistics.median(wall)
    numbers = [f"{number:.3g}x" for number in (median, min(wall), max(wall), statistics.median(cpu), weight)]
    goal, most = _goal(title, name)
    stated = f"{goal}x" if most is None else f"{goal}x, bytes at most {most}x"
    is_met = median >= goal and (most is None or weight <= most)
    return row([title, name, stated, *numbers, "yes" if is_met else "NO"])


def _goal(title: str, name: str) -> tuple[int, int | None]:
    """Times the peer's speed, and of its bytes at most: not of TFDS's own tensors, which are not compressed."""
    if NAMES["none"] not in name:
        return SPEED, 1
    return (1 if title.startswith("steps one by one") else SPEED), None


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "inputs, which are recorded once")
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--only", default="", help="only inputs whose title has this in it, for instance floats")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="of each timing")
    return parser.parse_args()


if __name__ == "__main__":
    main()

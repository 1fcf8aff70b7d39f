"""Measures conversions: MB/s and peak memory of each format, to ours and from ours, with one worker and with two.

    python benchmarks/convert.py              all of it: 1 GB of Atari frames and 17 floats a step
    python benchmarks/convert.py --quick      a look at small inputs
    python benchmarks/convert.py --only floats --before ../other      also another checkout, in turn

One recording, made with rlds_kit's logger, is written in every format: by `rlds-kit convert`, as HDF5 and NPZ of D4RL's
layout, and by TFDS. Megabytes are those of the steps before compression, so that formats compare. Imports are not
counted, but for those of the second worker. Every conversion of ours compares what it wrote with what it read, and
syncs it; no peer does, and TFDS's loop writes nothing. Of vectors, what takes long gets fewer steps, see `SHARES`.
Inputs are kept below --workdir.
"""

import argparse
import json
import os
import platform
import re
import statistics
import sys
from collections.abc import Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np
from pipelines_side import inputs
from pipelines_side.arrays import Arrays
from pipelines_side.inputs import Input
from side_by_side import machine, page, venvs
from side_by_side.command_line import note, parser_of
from side_by_side.script import last_line
from side_by_side.tables import row, spread


@dataclass(frozen=True)
class Peer:
    """What a peer does with its own files.

    Attributes:
      title: for the table.
      way: the command of the player.
      venv: what its own environment has; None: it is installed beside rlds_kit.
    """

    title: str
    way: str
    venv: venvs.Peer | None = None


HERE: Final = Path(__file__).parent
ARRAYS: Final = "d4rl.hdf5"
NPZ: Final = "arrays.npz"
BEGIN: Final = "<!-- begin: benchmarks/convert.py -->"
END: Final = "<!-- end: benchmarks/convert.py -->"
OURS: Final = "rlds_kit"
TFDS: Final = "tfds tfrecord"
MINARI: Final = "minari"
WRITTEN: Final = (MINARI, "envlogger", "lerobot")
"""Formats that `rlds-kit convert` makes of the recording, to be measured in both directions."""
SOURCES: Final = (TFDS, "tfds array_record", "arrays", "npz", *WRITTEN)
BEFORE: Final = ", before"
TWICE: Final = ", two conversions at the same time"
"""What the machine can do with two cores: processes that share nothing but caches, memory and disk."""
PEERS: Final = {
    TFDS: Peer("TFDS reads the tfrecord files, and writes nothing", "tfds"),
    MINARI: Peer("Minari copies its own dataset", "minari"),
    "arrays": Peer("h5py copies the file, with gzip level 1", "h5py"),
    "npz": Peer("NumPy copies the file", "numpy"),
    "envlogger": Peer("EnvLogger copies its own dataset", "envlogger", venvs.ENVLOGGER),
    "lerobot": Peer("LeRobot copies its own dataset", "lerobot", venvs.LEROBOT),
}
"""What comes nearest to a copy by the package of a format."""

SHARES: Final = {
    "before": 20,
    "from ours": 20,
    "tfds": 100,
    "h5py": 5,
    "numpy": 5,
    "minari": 5,
    "envlogger": 20,
    "lerobot": 100,
}
"""Ways that are so slow that they get only this part of the vectors; their MB/s do not depend on how many there are."""
COLUMNS: Final = {
    "mb_per_s": "MB/s",
    "seconds": "seconds",
    "cpu_s": "CPU seconds",
    "cores": "cores",
    "peak_mib": "peak MiB",
}

Results = dict[str, dict[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Way:
    """One thing to measure.

    Attributes:
      name: for the table.
      way: the command of the player.
      files: that are read, a folder or file of the input.
      options: for the player.
      share: it gets the steps of the input divided by this, if they are vectors.
      copies: of the process, which do the same at the same time.
      venv: see `Peer`.
    """

    name: str
    way: str
    files: str
    options: tuple[str, ...] = ()
    share: int = 1
    copies: int = 1
    venv: venvs.Peer | None = None


def ways(before: Path | None) -> Iterator[Way]:
    """Each conversion, and beside it what peers, or another checkout, do with the same files."""
    for name in SOURCES:
        source = {"npz": "arrays"}.get(name, name.partition(" ")[0])
        for workers in (1, 2):
            options = ("--source", source, "--to", OURS, "--workers", str(workers))
            yield Way(_title(name, workers), "convert", _files(name), options)
            if before is not None and workers == 1:
                rooted = (*options, "--root", str(before))
                yield Way(_title(name, 1) + BEFORE, "convert", _files(name), rooted, SHARES["before"])
        yield Way(_title(name, 1) + TWICE, "convert", _files(name), ("--source", source, "--to", OURS), copies=2)
        if name in PEERS:
            peer = PEERS[name]
            yield Way(peer.title, peer.way, _files(name), share=SHARES.get(peer.way, 1), venv=peer.venv)
    for name in WRITTEN:
        options = ("--source", OURS, "--to", name)
        yield Way(f"rlds_kit to {name}, 1 worker", "convert", "recording", options, SHARES["from ours"])


def _title(name: str, workers: int) -> str:
    return f"{name} to rlds_kit, {workers} worker{'' if workers == 1 else 's'}"


def _files(name: str) -> str:
    own = {
        TFDS: "tfrecord-zlib",
        "tfds array_record": "array_record-zlib",
        "arrays": ARRAYS,
        "npz": NPZ,
    }
    return own.get(name, f"as-{name}-v0")


def main() -> None:
    """Measures, and prints Markdown or JSON; what it is doing goes to standard error."""
    arguments = _arguments()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # workers load what is compiled, as they do where it is installed
    results: Results = {}
    for given in _inputs(arguments.steps, arguments.frames, quick=arguments.quick):
        if arguments.only not in given.title:
            continue
        note(f"{given.title}: preparing")
        chosen = [each for each in ways(arguments.before) if re.search(arguments.way, each.name)]
        workdir = arguments.workdir.expanduser() / "pipelines"
        files = {
            share: {each.files for each in chosen if each.share == share} for share in {each.share for each in chosen}
        }
        pythons = _pythons(chosen, arguments.workdir.expanduser() / "venvs")
        folders = {share: prepare(_part(given, share), workdir, files[share]) for share in sorted(files)}
        for number in range(arguments.rounds):
            for way in chosen[:: 1 if number % 2 == 0 else -1]:
                folder = folders[way.share]
                command = (HERE / "convert_side" / "play.py", way.way, _source(folder / way.files), *way.options)
                result = _run_copies(way.copies, *command, python=pythons[way.name])
                result["mb_per_s"] = result["steps"] * _step_bytes(folder) / result["seconds"] / 1e6
                note(f"{given.title}, round {number + 1}: {way.name}: {result['mb_per_s']:,.0f} MB/s")
                results.setdefault(given.title, {}).setdefault(way.name, []).append(result)
    report = _report(results, arguments.rounds)
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(json.dumps(results) if arguments.json else report)


def _pythons(chosen: Iterable[Way], folder: Path) -> dict[str, object]:
    """The interpreter of each way."""
    return {each.name: sys.executable if each.venv is None else venvs.python_of(each.venv, folder) for each in chosen}


def _inputs(steps: int, frames: int, *, quick: bool) -> Iterator[Input]:
    yield Input("210 x 160 x 3 Atari frames", "ale", 100 if quick else frames)
    yield Input("17 floats", "vectors", 5_000 if quick else steps)


def _part(given: Input, share: int) -> Input:
    """The same with fewer steps; frames are few enough."""
    return replace(given, steps=max(1_000, given.steps // share)) if given.kind == "vectors" else given


def prepare(given: Input, workdir: Path, files: Container[str]) -> Path:
    """Makes the input in the formats of some files, unless they are there; returns its folder."""
    folder = inputs.make(given, workdir)
    for kind in ("tfrecord", "array_record"):
        if f"{kind}-zlib" in files:
            options = ("--encoding", "zlib", "--file-format", kind)
            inputs.once(folder / f"{kind}-zlib", lambda out, o=(*options,): _write_tfds(folder, out, *o))
    if (ARRAYS in files or NPZ in files) and not (folder / ARRAYS).exists():
        _write_arrays(Arrays(folder / "arrays"), folder / ARRAYS)
    if NPZ in files and not (folder / NPZ).exists():
        _write_npz(folder / ARRAYS, folder / NPZ)
    for name in WRITTEN:
        target = folder / _files(name)
        if target.name in files and not target.exists():
            options = ("--source", OURS, "--to", name, "--keep", str(target))
            _run(HERE / "convert_side" / "play.py", "convert", folder / "recording", *options)
    return folder


def _write_tfds(folder: Path, out: Path, *options: str) -> None:
    last_line(HERE / "pipelines_side" / "write_tfds.py", folder / "arrays", out, *options)


def _write_arrays(arrays: Arrays, path: Path) -> None:
    """D4RL's layout, and the chunks of the scripts that made its files; frames, which are large, in chunks of rows."""
    partial = path.with_suffix(".partial")
    with h5py.File(partial, "w") as file:
        if arrays["observation"].ndim == 2:
            episodes = [*_transitions(arrays)]
            for name in episodes[0]:
                file.create_dataset(name, data=np.concatenate([each[name] for each in episodes]), compression="gzip")
        else:
            _append_all(file, _transitions(arrays), rows=sum(len(each["action"]) - 1 for each in arrays.episodes()))
    partial.rename(path)


def _transitions(arrays: Arrays) -> Iterator[dict[str, np.ndarray]]:
    """Of each episode a row for every action, with the observation after it."""
    for episode in arrays.episodes():
        count = len(episode["action"]) - 1
        ends = np.arange(count) == count - 1
        yield {
            "observations": episode["observation"][:-1],
            "next_observations": episode["observation"][1:],
            "actions": episode["action"][:-1],
            "rewards": episode["reward"][:-1],
            "terminals": ends & bool(episode["is_terminal"][-1]),
            "timeouts": ends & (not episode["is_terminal"][-1]),
        }


def _append_all(file: h5py.File, episodes: Iterator[dict[str, np.ndarray]], rows: int) -> None:
    row = 0
    for episode in episodes:
        for name, each in episode.items():
            shape, chunks = (rows, *each.shape[1:]), (min(rows, 64), *each.shape[1:])
            options: dict[str, Any] = {"chunks": chunks, "compression": "gzip", "compression_opts": 1}
            file.require_dataset(name, shape, each.dtype, **options)[row : row + len(each)] = each
        row += len(episode["actions"])


def _write_npz(source: Path, path: Path) -> None:
    with h5py.File(source) as file:
        np.savez_compressed(path.with_suffix(".partial.npz"), **{name: each[()] for name, each in file.items()})
    path.with_suffix(".partial.npz").rename(path)


def _source(path: Path) -> Path:
    """Where a dataset is: TFDS puts it below its name and version."""
    return next((each.parent for each in path.rglob("features.json")), path) if path.is_dir() else path


def _step_bytes(folder: Path) -> float:
    """Of all fields of a step, before compression."""
    arrays = Arrays(folder / "arrays")
    return float(sum(arrays[name].nbytes for name in inputs.FIELDS) / len(arrays))


def _run(*command: object, python: object = sys.executable) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(last_line(*command, python=python))
    return found


def _run_copies(copies: int, *command: object, python: object) -> dict[str, Any]:
    """Runs the same several times at once; the work, CPU time and memory are those of all."""
    with ThreadPoolExecutor(copies) as pool:
        found = [*pool.map(lambda _: _run(*command, python=python), range(copies))]
    seconds = max(each["seconds"] for each in found)
    sums = {key: sum(each[key] for each in found) for key in ("steps", "cpu_s", "peak_mib")}
    return found[0] if copies == 1 else {**found[0], **sums, "seconds": seconds, "cores": sums["cpu_s"] / seconds}


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
        lines += ["", f"**{title}**:", "", row(("conversion", *COLUMNS.values())), row(["---"] * (len(COLUMNS) + 1))]
        for name, one in played.items():
            lines.append(row([name, *(spread([each[key] for each in one]) for key in COLUMNS)]))
        lines += ["", *_said(played)]
    return "\n".join(lines)


def _said(played: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """What the ratios are, round by round."""
    for name in SOURCES:
        one = played.get(_title(name, 1))
        two, before = played.get(_title(name, 2)), played.get(_title(name, 1) + BEFORE)
        peer = played.get(PEERS[name].title) if name in PEERS else None
        if one and two:
            cores = statistics.median(each["cores"] for each in two)
            more = statistics.median(a["cpu_s"] / b["cpu_s"] for a, b in zip(two, one, strict=True))
            yield (
                f"- {name}: two workers are {_ratio(two, one)} as fast as one, with {more:.2f}x its CPU, on "
                f"{cores:.2f} cores"
            )
        if one and (twice := played.get(_title(name, 1) + TWICE)):
            each_cpu = statistics.median(a["cpu_s"] / b["cpu_s"] / 2 for a, b in zip(twice, one, strict=True))
            yield (
                f"- {name}: two conversions at the same time are together {_ratio(twice, one)} as fast as one alone, "
                f"each with {each_cpu:.2f}x its CPU"
            )
        if one and before:
            yield f"- {name}: {_ratio(one, before)} as fast as before"
        if one and peer:
            yield f"- {name}: {_ratio(one, peer)} as fast as: {PEERS[name].title}"


def _ratio(ours: list[dict[str, Any]], others: list[dict[str, Any]]) -> str:
    found = [a["mb_per_s"] / b["mb_per_s"] for a, b in zip(ours, others, strict=True)]
    return f"{statistics.median(found):.2f}x ({min(found):.2f} to {max(found):.2f})"


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "inputs, which are recorded once")
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--only", default="", help="only inputs whose title has this in it, for instance floats")
    parser.add_argument("--way", default="", help="only what this regular expression finds, for instance arrays")
    parser.add_argument("--steps", type=int, default=2_000_000, help="of 17 floats")
    parser.add_argument("--frames", type=int, default=2_600, help="of each of four games; 2,600 are about 1 GB")
    parser.add_argument("--before", type=Path, help="another checkout of rlds_kit, to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Measures trials: their ticks a second, how soon actors answer, and how late trials are while another one fails.

    python benchmarks/trials.py            all of it, about two minutes
    python benchmarks/trials.py --quick    a look, half a minute
    python benchmarks/trials.py --faults   only how late trials are while another one fails, over processes

All of it runs on this machine: in one process, in processes, and on a cluster of Ray that is started here.
"""

import argparse
import contextlib
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script's own folder is on the path, its checkout is not

from side_by_side import machine, page
from trials_side.faults import FAULTS, Lateness, lateness
from trials_side.speed import Speed, bare, trial

from rlds_kit.trials.ray import RayCluster

HERE: Final = Path(__file__).parent
BEGIN: Final = "<!-- begin: benchmarks/trials.py -->"
END: Final = "<!-- end: benchmarks/trials.py -->"
FAULTS_BEGIN: Final = "<!-- begin: benchmarks/trials.py --faults -->"
FAULTS_END: Final = "<!-- end: benchmarks/trials.py --faults -->"
FRAMES_MS: Final = 2 * 1000 / 60
"""That another trial may be late when one fails."""
Backends = Mapping[str, Mapping[str, Any]]


def main() -> None:
    """Measures, and prints Markdown; what it is doing goes to standard error."""
    arguments = _arguments()
    before = os.getloadavg()[0]
    with _backends(has_ray=not arguments.faults) as backends:
        speeds = {} if arguments.faults else _speeds(backends, 1 if arguments.quick else 4)
        late = _lateness(backends, FAULTS[:3] if arguments.quick else FAULTS)
    parts = [
        f"- machine: {machine.describe()}",
        f"- python: {platform.python_version()}",
        f"- load average: {before:.1f} before, {os.getloadavg()[0]:.1f} at the end",
        "",
        *(_speed_table(speeds) if speeds else ()),
        *_fault_table(late),
    ]
    report = "\n".join(parts)
    if arguments.page is not None:
        page.insert(report, arguments.page, *((FAULTS_BEGIN, FAULTS_END) if arguments.faults else (BEGIN, END)))
    print(report)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--faults", action="store_true", help="only how late trials are, over processes")
    parser.add_argument("--page", type=Path, help="also put the report into this page, as docs/performance.md")
    return parser.parse_args()


@contextlib.contextmanager
def _backends(*, has_ray: bool) -> Iterator[Backends]:
    """Options of a host, by what runs the trials."""
    here: dict[str, Mapping[str, Any]] = {"one process": {"is_here": True}, "processes": {}}
    if not has_ray:
        yield here
        return
    os.environ["PYTHONPATH"] = os.pathsep.join((str(HERE), str(HERE.parent)))  # where processes of Ray find modules
    with RayCluster(cpus=8) as cluster:  # more than there are: what is measured waits more than it computes
        yield {**here, "Ray": {"backend": cluster}}


def _speeds(backends: Backends, scale: int) -> dict[str, tuple[Speed, Speed]]:
    """Not recorded, and recorded."""
    found = {"a loop of PettingZoo": _both(lambda directory: bare(5000 * scale, directory))}
    for name, options in backends.items():
        _say(name)
        steps = (300 if name == "Ray" else 1000) * scale
        found[f"a trial: {name}"] = _both(lambda directory, s=steps, o=options: trial(s, directory, o))
    return found


def _both(measure: Callable[[Path | None], Speed]) -> tuple[Speed, Speed]:
    with tempfile.TemporaryDirectory() as folder:
        return measure(None), measure(Path(folder))


def _lateness(backends: Backends, faults: tuple[str, ...]) -> dict[str, dict[str, Lateness]]:
    found: dict[str, dict[str, Lateness]] = {}
    for fault in faults:
        for name in [each for each in backends if each != "one process"]:
            _say(f"{fault}: {name}")
            with tempfile.TemporaryDirectory() as folder:
                found.setdefault(fault, {})[name] = lateness(fault, Path(folder), backends[name])
    return found


def _speed_table(speeds: Mapping[str, tuple[Speed, Speed]]) -> list[str]:
    lines = ["| four scripted actors | ticks/s | recorded | an answer, median | p99 |", "|---|---|---|---|---|"]
    for name, (plain, recorded) in speeds.items():
        answers = recorded.answers
        times = "| | |" if answers is None else f"| {answers[0]:.2f} ms | {answers[1]:.2f} ms |"
        lines.append(f"| {name} | {plain.ticks:,.0f} | {recorded.ticks:,.0f} {times}")
    return [*lines, ""]


def _fault_table(late: Mapping[str, Mapping[str, Lateness]]) -> list[str]:
    names = list(next(iter(late.values())))
    columns = [f"{name}: {what}" for name in names for what in ("median", "p99", "most")]
    head = f"| what fails | {' | '.join(columns)} | within two frames: {', '.join(names)} |"
    lines = [head, f"|{'---|' * (len(columns) + 2)}"]
    for fault, found in late.items():
        times = " | ".join(f"{time_ms:.1f} ms" for each in found.values() for time_ms in _times(each))
        is_met = ", ".join("yes" if each.most <= FRAMES_MS else "NO" for each in found.values())
        lines.append(f"| {fault} | {times} | {is_met} |")
    return lines


def _times(late: Lateness) -> tuple[float, float, float]:
    return late.median, late.late, late.most


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""Two programs amend the same episodes; one is killed in the middle of it."""

import os
import signal
import subprocess
import sys
from collections import defaultdict
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit.layers import Annotation, Kind
from tests.layers.inserting import inserts
from tests.layers.recording import record

EPISODES, LENGTH = 20, 500
CHECKOUT = Path(rlds_kit.__file__).parent.parent


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("count", [2_000, 70_000])  # of the first program; the other one is killed halfway
def test_no_acknowledged_amendment_is_lost(tmp_path: Path, count: int) -> None:
    """All acknowledged annotations exist, and no others, and both views are correct."""
    dataset = record(tmp_path / "d", [LENGTH] * EPISODES, rows=64)
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    programs = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("inserting.py")), dataset.path, name, str(seed), str(count)],
            stdout=subprocess.PIPE,
            env=env,
            text=True,
        )
        for seed, name in enumerate(("anna", "bob"))
    ]
    killed = _run(programs[1], until=count // 2)
    acknowledged = [_run(programs[0], until=count), killed]

    history = dataset.layer("human").history()
    found = {name: [each for each in history if each.source == name] for name in ("anna", "bob")}
    said = [list(islice(inserts(seed, count, EPISODES, LENGTH), len(found[name]))) for seed, name in enumerate(found)]
    assert acknowledged[0] == len(found["anna"]) == count
    assert count // 2 <= acknowledged[1] <= len(found["bob"]) < count
    ids = [episode.id for episode in dataset.episodes]
    for one, truth in zip(found.values(), said, strict=True):
        for each, insert in zip(one, truth, strict=True):
            if insert.retracts is not None:
                assert (each.kind, each.retracts) == (Kind.RETRACTION, one[insert.retracts].id)
            else:
                what = (ids[insert.episode], range(insert.step, insert.step + 1), insert.value, insert.confidence)
                assert (each.episode, each.steps, each.value, each.confidence) == what

    rewards = _amended(found)
    amended = dataset.as_amended("human")
    for number, (episode, view) in enumerate(zip(dataset.episodes, amended.episodes, strict=True)):
        recorded = np.append(100.0 + np.arange(LENGTH - 1), 0.0)
        assert np.array_equal(episode["reward"], recorded)
        for step, value in rewards[ids[number]].items():
            recorded[step] = value
        np.testing.assert_allclose(view["reward"], recorded, rtol=1e-12)
        assert view.mask("reward").tolist() == [True] * (LENGTH - 1) + [False]


def _run(program: "subprocess.Popen[str]", until: int) -> int:
    """Waits for a number of acknowledgements, then kills the running program; returns their number."""
    assert program.stdout is not None
    latest = 0
    for line in program.stdout:
        latest = int(line)
        if latest >= until:
            program.send_signal(signal.SIGKILL)
            break
    latest = max([latest, *map(int, program.stdout)])
    program.stdout.close()
    program.wait()
    return latest


def _amended(found: dict[str, list[Annotation]]) -> dict[object, dict[int, float]]:
    """The rewards that count, by episode and step, in plain Python."""
    votes = defaultdict[object, dict[int, dict[str, Annotation]]](lambda: defaultdict(dict))
    gone = {each.retracts for one in found.values() for each in one}
    for source, one in found.items():
        for each in one:
            if each.steps is not None and each.id not in gone:
                votes[each.episode][each.steps.start][source] = each
    rewards = defaultdict[object, dict[int, float]](dict)
    for episode, steps in votes.items():
        for step, by_source in steps.items():
            total = sum(each.confidence for each in by_source.values())
            if total > 0:
                rewards[episode][step] = sum(each.value * each.confidence for each in by_source.values()) / total
    return rewards

"""Rewards that come late, while the program that takes them is killed: none that was acknowledged is lost."""

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from tests.trials.hosts.rewarding import Given, plan

ROOT = Path(__file__).parents[3]
Acknowledged = set[tuple[str, int]]


def give(directory: Path, letter: str, *numbers: int, until: int | None = None) -> Acknowledged:
    """Runs the program that gives rewards; it is killed when so many are acknowledged."""
    command = [sys.executable, "-m", "tests.trials.hosts.rewarding", str(directory), letter, *map(str, numbers)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    found: Acknowledged = set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True) as program:
        assert program.stdout is not None
        for line in program.stdout:
            name, number = line.split()
            found.add((name, int(number)))
            if len(found) == until:
                program.kill()
    assert program.returncode == (0 if until is None else -9)
    return found


def check(episode: Any, amended: Any, given: list[Any], wanted: dict[int, Given]) -> set[int]:
    """Both views of an episode; returns the numbers of its rewards."""
    ours: dict[tuple[str, int], dict[str, tuple[float, float]]] = defaultdict(dict)
    numbers = set()
    for each in given:
        about = wanted[each.user_data["number"]]
        (row,) = each.steps
        seat = each.field.removeprefix("reward/")
        assert (each.value, each.confidence, each.source) == (about.value, about.confidence, about.source)
        assert row == about.step - 1 < episode.length - 1
        assert about.seat in {seat, "*"}
        numbers.add(about.number)
        ours[seat, row][each.source] = each.value, each.confidence  # the latest of a source counts
    assert len(given) == sum(2 if wanted[number].seat == "*" else 1 for number in numbers)  # none twice
    rows, changed = list(episode.steps)[:-2], list(amended.steps)[:-2]  # in the last one only one of two is left
    for seat in ("odd", "even"):
        won = np.array([1.0 if row["action"]["odd"] == row["action"]["even"] else -1.0 for row in rows])
        expected = won if seat == "even" else -won
        np.testing.assert_array_equal([row["reward"][seat] for row in rows], expected)
        for (receiver, row), rewards in ours.items():
            weight = sum(confidence for _, confidence in rewards.values())
            if receiver == seat and weight and row < len(rows):
                expected[row] = sum(value * confidence for value, confidence in rewards.values()) / weight
        np.testing.assert_allclose([row["reward"][seat] for row in changed], expected, rtol=0, atol=1e-12)
    return numbers


@pytest.mark.parametrize(
    ("count", "trials", "hour"),
    [
        pytest.param(600, 4, 300, marks=pytest.mark.slow),
        pytest.param(100_000, 20, 18_000, marks=pytest.mark.slow, id="an hour of 5 steps a second"),
    ],
)
def test_no_reward_that_was_acknowledged_is_lost(count: int, trials: int, hour: int, tmp_path: Path) -> None:
    """The program is killed in the middle; another one goes on in the same dataset. Both views are right."""
    first = give(tmp_path, "a", count, trials, hour, until=count // 2)
    acknowledged = first | give(tmp_path, "b", count // 2, trials // 2, hour)
    assert len(acknowledged) >= count
    dataset = rlds_kit.open(tmp_path)
    layer, amended = dataset.layer("judgements"), dataset.as_amended("judgements")
    found: Acknowledged = set()
    for episode, changed in zip(dataset.episodes, amended.episodes, strict=True):
        name = episode.metadata["trial"]
        each = count // trials
        wanted = {given.number: given for given in plan(name, each, hour)}
        found |= {(name, number) for number in check(episode, changed, list(layer.annotations(episode)), wanted)}
    assert acknowledged <= found
    assert len(found - acknowledged) <= 64 * 2  # on their way when it was killed

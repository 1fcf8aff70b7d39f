"""The power fails during recording: durable rows can be read, and the others are a prefix of the given rows."""

import itertools
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Final

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from rlds_kit import DamageWarning, EpisodeEnd
from rlds_kit.storage.directory import DESCRIPTION, is_dataset
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools.upkeep.repair import repair
from tests.power_cut import CUTS, Cut, Disk, Tree, restore
from tests.repetitions import repetitions
from tests.storage.killing import DECLARED, POLICIES, Promise, Tally, check, length_of, row_of
from tests.storage.lanes import Lanes, Open, Source

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the simulation looks at open files in /proc")

SEED: Final = 11
FORMS: Final = ("rows", "columns")
ROWS: Final = 3
"""Given at once."""
ACTIONS: Final = st.lists(st.sampled_from(("rows", "rows", "rows", "end", "flush", "other")), max_size=12)


class Recording:
    """Two episodes at a time, recorded to a simulated disk, and what was promised of them.

    Args:
      directory: of the dataset.
      policy: a name of POLICIES.
      form: "rows" or "columns".
    """

    def __init__(self, directory: Path, policy: str, form: str) -> None:
        self._policy, self._durable, self._ended = policy, dict[Open, int](), list[Open]()
        self._recorder = Recorder(directory, DECLARED, policy=POLICIES[policy], max_shard_episodes=2)
        self._source: Source = Lanes(self._recorder, 2) if form == "columns" else self._recorder
        self._numbers = itertools.count()
        self._running = [self._new(), self._new()]

    def _new(self) -> tuple[int, Open]:
        number = next(self._numbers)
        return number, self._source.start_episode(metadata={"seed": SEED, "number": number})

    def do(self, action: str) -> Promise:
        """One of ACTIONS; returns what was promised by then."""
        number, episode = self._running[0]
        match action:
            case "rows":
                for row in range(episode.rows, min(episode.rows + ROWS, length_of(SEED, number))):
                    episode.append(*row_of(SEED, number, row))
            case "end":
                self._end()
            case "flush":
                self._recorder.flush()
                self._durable |= {each: each.rows for _, each in self._running}
            case "other":
                self._running.reverse()
        return self._promise()

    def close(self) -> Promise:
        """Ends all episodes and closes the recorder."""
        all_of_them = [each for _, each in self._running]
        self._end()
        self._end()
        self._recorder.close()
        self._ended += all_of_them
        return self._promise()

    def _end(self) -> None:
        number, episode = self._running.pop(0)
        for row in range(episode.rows, length_of(SEED, number)):
            episode.append(*row_of(SEED, number, row))
        episode.end(EpisodeEnd.TRUNCATED)
        if self._policy == "every_episode":
            self._ended.append(episode)
        self._running.append(self._new())

    def _promise(self) -> Promise:
        durable = {each.id: rows for each, rows in self._durable.items()}
        for key, rows in self._recorder.durable.items():
            durable[key] = max(rows, durable.get(key, 0))
        if self._policy == "every_step":
            durable |= {each.id: each.rows for _, each in self._running}
        return Promise(durable, {each.id: each.rows for each in self._ended})


def _check(tree: Tree, promise: Promise, cut: Cut, directory: Path) -> Tally:
    """Opens the files after a power cut, and checks that durable rows can be read."""
    data = restore(tree, directory) / "data"
    if not is_dataset(data):
        assert not any(promise.durable.values())
        assert not promise.ended
        return Tally()
    if (data / DESCRIPTION).exists():
        assert json.loads((data / DESCRIPTION).read_bytes())["format"] == "rlds_kit"
    with warnings.catch_warnings(action="ignore", category=DamageWarning):
        if cut.tail == "zeros":  # damage as any other: steps are read, but how an episode ended may lie in there
            data = Path(repair(data, directory / "repaired").destination)
        return check(data, promise)


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.name)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_durable_survives(tmp_path: Path, form: str, policy: str, cut: Cut) -> None:
    """After each of some steps, a flush and a close: by whatever policy, what was promised can be read."""
    (tmp_path / "disk").mkdir()
    disk = Disk(tmp_path / "disk")
    seen: list[tuple[Promise, Tree]] = []
    with disk.watched():
        recording = Recording(tmp_path / "disk" / "data", policy, form)
        for action in ("rows", "rows", "flush", "rows", "other", "rows", "end", "rows", "flush"):
            promise = recording.do(action)
            seen.append((promise, disk.left(cut)))
        promise = recording.close()
        seen.append((promise, disk.left(cut)))
    disk.close()
    tallies = [_check(tree, promise, cut, tmp_path / str(number)) for number, (promise, tree) in enumerate(seen)]
    assert tallies[2].durable_rows == 2 * ROWS
    assert (tallies[-1].whole, tallies[-1].cut) == (3, 0)
    assert "data/dataset.json" in seen[2][1]


@pytest.mark.sweep
@settings(max_examples=repetitions(60, least=24))
@given(
    form=st.sampled_from(FORMS),
    policy=st.sampled_from(sorted(POLICIES)),
    actions=ACTIONS,
    cut=st.sampled_from(CUTS),
    moment=st.integers(0, 60),
    call=st.integers(0, 60),
)
def test_at_any_moment(form: str, policy: str, actions: list[str], cut: Cut, moment: int, call: int) -> None:
    """Between any two steps, and before any call to the system, also of the background thread."""
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk(Path(folder))
        promise, calls = Promise(), itertools.count()
        seen: list[tuple[Promise, Tree]] = []

        def at_call() -> None:
            if next(calls) == call:
                seen.append((promise, disk.left(cut)))

        with disk.watched(at_call):
            recording = Recording(Path(folder) / "data", policy, form)
            for number, action in enumerate(actions):
                promise = recording.do(action)
                if number == moment:
                    seen.append((promise, disk.left(cut)))
            promise = recording.close()
            seen.append((promise, disk.left(cut)))
        disk.close()
        for number, (promised, tree) in enumerate(seen):
            _check(tree, promised, cut, Path(folder) / f"left-{number}")

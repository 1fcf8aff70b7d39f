"""What is counted beside an environment while it is played is what its recording says."""

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit.crowd.collectors import COLLECTORS, SCORE, TIME_PLAYED, Collector, Count, LiveCounts, Moment, can_travel
from rlds_kit.crowd.collectors.people import by_people
from rlds_kit.crowd.incentives import session_values
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.stage import Stage

VIEW: Final = requests.View(quality=None)
CONSOLE: Final = EnvironmentSpec(
    "ALE/SpaceInvaders-v5", {"obs_type": "ram", "frameskip": 2, "repeat_action_probability": 0.0}
)
CORRIDOR: Final = EnvironmentSpec("tests.trials.environments.odd_environments:rlds_kit_tests/Corridor-v0")
PENNIES: Final = EnvironmentSpec(
    "tests.trials.environments.matching_pennies:MatchingPennies", interface="pettingzoo", kwargs={"length": 40}
)


def _play(stage: Stage, steps: int, seed: int) -> Mapping[str, Mapping[str, float]]:
    """An episode of random actions, every tenth of a program, with a key now and then; returns the last values."""
    rng = np.random.default_rng(seed)
    classes = stage.opened().classes
    spaces: Mapping[str, Any] = {seat: each.action_space for seat, each in classes.items()}
    stage.answer(requests.Reset(VIEW, seed))
    counted: Mapping[str, Mapping[str, float]] = {}
    for index in range(steps):
        facts = {
            seat: {
                "driver": "policy" if (index + number) % 10 == 0 else "human",
                "pressed_ns": index // 7,
                "shown_frame": max(0, index - 2),
            }
            for number, seat in enumerate(spaces)
        }
        actions = {seat: int(rng.integers(space.n)) for seat, space in spaces.items()}
        done: Any = stage.answer(requests.Step(VIEW, actions, {"seats": facts}))
        counted = done.counted
        if done.terminated or done.truncated:
            break
    stage.answer(requests.Finish({}))
    return counted


def _live(collectors: Sequence[Collector], *seats: str) -> LiveCounts:
    return _travelled(LiveCounts(dict.fromkeys(seats, collectors), 60.0))


def _travelled(counts: LiveCounts) -> LiveCounts:
    found: LiveCounts = pickle.loads(pickle.dumps(counts))  # noqa: S301  our own
    return found


@pytest.mark.thorough
def test_all_collectors_count_live_what_the_recording_says(tmp_path: Path) -> None:
    """Bit for bit, over two episodes, those of the console's memory too; and a session that goes on counts on."""
    pytest.importorskip("ale_py")
    everything = list(COLLECTORS.values())
    assert all(map(can_travel, everything))
    stage = Stage(requests.Open(CONSOLE, str(tmp_path), counter=_live(everything, "player")))
    _play(stage, 700, 1)
    counted = _play(stage, 700, 2)
    stage.close()
    played = [(each, "player") for each in rlds_kit.open(tmp_path).episodes]
    assert counted == {"player": session_values(played, everything, fps=60.0)}
    assert counted["player"]["aliens_hit"] > 0
    assert 0 < counted["player"]["row_by_row"] < 1
    assert counted["player"]["frame_lag"] > 1

    resumed = _live(everything, "player")
    for episode, seat in played:
        resumed.add(seat, by_people(episode, seat, 60.0))
    assert resumed.values == counted
    stage = Stage(requests.Open(CONSOLE, str(tmp_path), counter=_travelled(resumed)))
    counted = _play(stage, 300, 3)
    stage.close()
    played = [(each, "player") for each in rlds_kit.open(tmp_path).episodes]
    assert len(played) == 3
    assert counted == {"player": session_values(played, everything, fps=60.0)}


def test_each_seat_counts_what_its_person_did(tmp_path: Path) -> None:
    """Of two agents, in steps that differ."""
    pytest.importorskip("pettingzoo")
    both = [SCORE, TIME_PLAYED]
    stage = Stage(requests.Open(PENNIES, str(tmp_path), counter=_live(both, "odd", "even")))
    counted = _play(stage, 40, 1)
    stage.close()
    (episode,) = rlds_kit.open(tmp_path).episodes
    assert counted == {seat: session_values([(episode, seat)], both, fps=60.0) for seat in ("odd", "even")}
    assert counted["odd"]["score"] != counted["even"]["score"]


class _Falling:
    def __call__(self, moment: Moment) -> float:
        if moment.index == 2:
            raise RuntimeError("it falls")
        return 1.0


def _falling() -> Count:
    return _Falling()


def test_a_collector_that_raises_ends_the_counting_and_not_the_game(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says why; the values before are not passed off as those of now."""
    stage = Stage(
        requests.Open(CORRIDOR, str(tmp_path), counter=_live([SCORE, Collector("f", "F", _falling)], "player"))
    )
    assert _play(stage, 2, 1)["player"]["f"] == 1.0
    assert _play(stage, 4, 1) == {}
    stage.close()
    assert "it falls" in caplog.text
    assert rlds_kit.open(tmp_path).episodes[1].length > 3


def test_values_that_an_environment_overwrites_are_counted_as_they_were() -> None:
    """It may write each observation into the same array."""
    seen: list[tuple[Any, Any]] = []

    def count(moment: Moment) -> float:
        seen.append((moment.before["observation"][0], moment.after["observation"][0]))
        return 0.0

    counts = LiveCounts({"player": [Collector("all", "All", lambda: count)]}, 60.0)
    array = np.zeros(3)
    counts.begin({"observation": array})
    for number in (1, 2):
        array[:] = number
        counts.count({"action": 0, "reward": 0.0}, {"observation": array})
    assert seen == [(0, 1), (1, 2)]

"""The same collectors live and of recordings: every value of every step is equal, bit for bit."""

import json
import tempfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import logger
from rlds_kit.base.executor import on_processes, serially
from rlds_kit.cli import main
from rlds_kit.crowd.collectors import COLLECTORS, CollectorWrapper, Tally, annotate_with, collect, collector, moments
from tests.crowd.collectors.consoles import space_invaders

rewards = st.one_of(st.floats(width=32), st.integers(0, 200).map(float))
memories = st.binary(min_size=8, max_size=8).map(
    lambda drawn: np.frombuffer(bytes(0x11) + drawn + bytes(128 - 0x19), np.uint8)
)
steps = st.tuples(st.integers(0, 5), rewards, memories, st.integers(0, 10**9))


@settings(max_examples=30)
@given(st.lists(st.lists(steps, min_size=1, max_size=6), min_size=1, max_size=3))
def test_c13_live_and_recorded_values_are_bit_equal(session: list[list[tuple[int, float, Any, int]]]) -> None:
    """Of every shipped collector, for any actions, rewards, memories and times, in each step, episode and session."""
    live, again = Tally([*COLLECTORS.values()]), Tally([*COLLECTORS.values()])
    with tempfile.TemporaryDirectory() as directory:
        expected = []
        with logger.EpisodeWriter(directory) as writer:
            for played in session:
                live.begin_episode()
                with writer.episode() as episode:
                    episode.start(np.zeros(2), info={"ram": np.zeros(128, np.uint8)})
                    for action, reward, ram, _ in played:
                        episode.step(action, reward, np.zeros(2), info={"ram": ram})
                rows: list[dict[str, Any]] = [
                    {"action": action, "reward": reward, "info": {"ram": before}}
                    for (action, reward, _, _), before in zip(
                        played, [np.zeros(128, np.uint8), *(each[2] for each in played)], strict=False
                    )
                ]
                rows.append({"info": {"ram": played[-1][2]}})
                expected.append([live.add(each) for each in moments(rows, fps=15)])
        for episode_values, recorded in zip(expected, rlds_kit.open(directory).episodes, strict=True):
            again.begin_episode()
            assert [again.add(each) for each in moments(recorded.steps, fps=15)] == episode_values
            by_name = collect(recorded, [*COLLECTORS.values()], fps=15)[None]
            for name in COLLECTORS:
                assert by_name[name].tolist() == [values.episode[name] for values in episode_values], name


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Space Invaders, played with collectors, and recorded."""
    path = tmp_path_factory.mktemp("played") / "d"
    names = ("score", "aliens_hit", "inside_out", "accuracy", "time_played")
    counted = CollectorWrapper(space_invaders(), [collector(name) for name in names])
    with logger.GymnasiumLogger(gymnasium.wrappers.TimeLimit(counted, 600), str(path), record_info=True) as env:
        for seed in range(2):
            env.reset(seed=seed)
            done = False
            while not done:
                _, _, terminated, truncated, _ = env.step(4)
                done = terminated or truncated
    return path


def test_c13_a_wrapper_counts_live_what_the_recording_gives(played: Path) -> None:
    """In each step the recorded live value is what is counted of the recording."""
    for episode in rlds_kit.open(played).episodes:
        found = collect(episode, [collector("score"), collector("aliens_hit"), collector("accuracy")], fps=60)[None]
        live = [step["info"]["collectors"]["episode"] for step in episode.steps][1:]
        for name, values in found.items():
            assert values.tolist() == [each[name] for each in live]
        assert found["aliens_hit"][-1] > 0


def test_c48_annotate_with_writes_a_layer(played: Path) -> None:
    """Every step has its values, episodes are chosen, and nothing of the recording changes."""
    done = CliRunner().invoke(
        main, ["annotate", str(played), "--with", "score", "--with", "aliens_hit", "--executor", "serial", "--json"]
    )
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"layer": "collectors", "episodes": 2})
    amended = rlds_kit.open(played).as_amended("collectors").episodes[1]
    assert amended["collector_score"][:-1].tolist() == np.cumsum(amended["reward"][:-1]).tolist()


def test_c48_with_refuses_what_it_does_not_know(played: Path) -> None:
    refused = CliRunner().invoke(main, ["annotate", str(played), "--with", "speed"])
    assert (refused.exit_code, "expected one of the collectors" in refused.output) == (1, True)
    both = CliRunner().invoke(
        main, ["annotate", str(played), "l", "--source", "a", "--episode", "0", "--with", "score", "--tag", "x"]
    )
    assert (both.exit_code, "nothing else" in both.output) == (2, True)


def test_c48_values_are_by_agent(tmp_path: Path) -> None:
    """Of several agents each has its own; one that is gone has its last value."""
    with logger.EpisodeWriter(tmp_path / "d") as writer, writer.episode() as episode:
        episode.start({"ada": 0, "bob": 0})
        episode.step({"ada": 1, "bob": 2}, {"ada": 1.0, "bob": 2.0}, {"ada": 0, "bob": 0})
        episode.step({"ada": 1}, {"ada": 1.0}, {"ada": 0})
    dataset = rlds_kit.open(tmp_path / "d")
    found = collect(dataset.episodes[0], [collector("score")])
    assert {agent: values["score"].tolist() for agent, values in found.items()} == {"ada": [1, 2], "bob": [2, 2]}
    with serially() as run:
        assert annotate_with(dataset, "counted", [collector("score")], run) == 1
    fields = {each.field for each in rlds_kit.open(tmp_path / "d").layer("counted").annotations()}
    assert fields == {"collector_score/ada", "collector_score/bob"}


@pytest.mark.thorough
def test_c48_processes_give_what_one_gives(tmp_path: Path) -> None:
    """In parallel, over more episodes than a part has."""
    with logger.EpisodeWriter(tmp_path / "d") as writer:
        for number in range(40):
            writer.write([0] * 4, [1] * 3, [1.0, 2.0, float(number)])
    dataset = rlds_kit.open(tmp_path / "d")
    with serially() as run:
        annotate_with(dataset, "one", [collector("score")], run)
    with on_processes(2) as run:
        assert annotate_with(dataset, "many", [collector("score")], run) == 40
    layers = rlds_kit.open(tmp_path / "d")
    one, many = (
        {each.episode: each.value.tolist() for each in layers.layer(name).annotations()} for name in ("one", "many")
    )
    assert one == many

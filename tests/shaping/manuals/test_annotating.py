"""Rewards by a manual: during recording and afterwards they are the same, bit for bit."""

from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit import logger
from rlds_kit.base.errors import SpecError
from rlds_kit.convert.conversion import convert
from rlds_kit.shaping.manuals import (
    ContactRewards,
    EveryFrame,
    ManualReward,
    ModelReply,
    annotate_manual_rewards,
    mixed_rewards,
    read_manual,
    shipped_manual,
    stored_tables,
)
from rlds_kit.shaping.objects import OCAtariObjects
from rlds_kit.tools import edit
from tests.shaping.manuals.scripted import Scripted, table
from tests.shaping.manuals.test_wrappers import Walk


def _walks(directory: Path, *walks: list[int]) -> rlds_kit.Dataset:
    """Records episodes of places, with the rewards of the moment."""
    for places in walks:
        env = ManualReward(Walk(places, [1.0] * (len(places) - 1)), ContactRewards(table(), Scripted()))
        with logger.GymnasiumLogger(env, directory, record_info=True) as recorded:
            recorded.reset()
            for _ in places[1:]:
                recorded.step(0)
    return rlds_kit.open(directory)


def test_recorded_rewards_stay_and_others_are_added(tmp_path: Path) -> None:
    """As many as there are actions; the last step has none."""
    dataset = _walks(tmp_path, [50, 10, 50, 10])
    assert annotate_manual_rewards(dataset, ContactRewards(table(), Scripted())) == 1
    (amended,) = dataset.refresh().as_amended("manual").episodes
    assert amended["reward"].tolist() == [1, 1, 1, 0]
    assert amended["manual_reward"].tolist() == [5, 0, 5, 0]
    assert amended.mask("manual_reward").tolist() == [True, True, True, False]
    assert amended["info/manual_reward"].tolist() == [0, 5, 0, 5]
    assert mixed_rewards(amended, {"reward": 1.0, "manual_reward": 0.5}).tolist() == [3.5, 1, 3.5, 0]
    assert mixed_rewards(amended, {"reward": 1.0, "manual_reward": 0.5}, clip=(0, 2)).tolist() == [2, 1, 2, 0]
    assert "manual_reward" not in dataset.episodes[0].fields


def test_annotations_name_the_table_and_the_contacts(tmp_path: Path) -> None:
    rewards = ContactRewards(table(), Scripted())
    dataset = _walks(tmp_path, [50, 10, 50, 10])
    annotate_manual_rewards(dataset, rewards)
    (annotation,) = dataset.refresh().layer("manual").annotations(dataset.episodes[0])
    assert annotation.source == "manual"
    assert annotation.user_data == {
        "rewards": rewards.fingerprint,
        "contacts": [[0, 0, "Ball"], [2, 0, "Ball"]],
        "table": table().to_json(),
    }


def test_a_layer_has_the_tables_and_the_replies_of_models(tmp_path: Path) -> None:
    """Each once, also where episodes were annotated again by another one."""
    dataset = _walks(tmp_path, [50, 10, 50], [50, 10])
    reply = ModelReply("tiny", 7, "Judge.", "Hit it?", "Yes", (("Yes", -0.5),))
    first = replace(table(), interactions=tuple(replace(each, replies=(reply,)) for each in table().interactions))
    second = first.override("Tree", "yes", "anna")
    for each in (first, second):
        annotate_manual_rewards(dataset, ContactRewards(each, Scripted()))
    assert stored_tables(dataset.refresh()) == [first, second]


def test_the_layer_survives_a_merge_and_a_trim(tmp_path: Path) -> None:
    """Values go with their steps."""
    dataset = _walks(tmp_path / "a", [50, 10, 50, 10, 50], [50, 50, 10])
    annotate_manual_rewards(dataset, ContactRewards(table(), Scripted()))
    edit.merge([tmp_path / "a"], tmp_path / "merged")
    for before, after in zip(_amended(tmp_path / "a"), _amended(tmp_path / "merged"), strict=True):
        assert after == before
    edit.trim(tmp_path / "a", tmp_path / "trimmed", begin=1)
    assert _amended(tmp_path / "trimmed") == [[0, 5, 0, 0], [5, 0]]


def _amended(directory: Path) -> list[list[float]]:
    return [each["manual_reward"].tolist() for each in rlds_kit.open(directory).as_amended("manual").episodes]


def test_episodes_without_memory_are_refused(tmp_path: Path) -> None:
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path) as env:
        env.reset(seed=0)
        env.step(0)
    with pytest.raises(SpecError, match=r"info/ram_frames.*EveryFrame and record_info=True"):
        annotate_manual_rewards(rlds_kit.open(tmp_path), ContactRewards(table(), Scripted()))


@pytest.mark.parametrize(
    ("game", "frames"),
    [
        pytest.param("Breakout", 300, marks=pytest.mark.slow),
        pytest.param("MsPacman", 300, marks=pytest.mark.slow),
        pytest.param("Seaquest", 1000, marks=pytest.mark.slow),
        pytest.param("Skiing", 300, marks=pytest.mark.slow),
    ],
)
def test_online_equals_offline(tmp_path: Path, game: str, frames: int) -> None:
    """On real games with OCAtari's objects, many episodes, sticky actions; also after merge, trim and conversion."""
    gymnasium.register_envs(__import__("ale_py"))
    number, directory = 25, tmp_path / "a"
    read = read_manual(shipped_manual(game))
    with OCAtariObjects(game) as extractor:
        rewards = ContactRewards(read, extractor)
        inner = EveryFrame(gymnasium.make(f"ALE/{game}-v5", frameskip=1, max_episode_steps=frames, obs_type="ram"))
        with logger.GymnasiumLogger(ManualReward(inner, rewards), directory, record_info=True) as env:
            env.action_space.seed(0)
            for episode in range(number):
                env.reset(seed=episode)
                while not any(env.step(env.action_space.sample())[2:4]):
                    pass
        assert annotate_manual_rewards(rlds_kit.open(directory), rewards) == number
        edit.merge([directory], tmp_path / "merged")
        edit.trim(directory, tmp_path / "trimmed", begin=5)
        convert(directory, tmp_path / "foreign", "envlogger", allow_loss=True)
        convert(tmp_path / "foreign", tmp_path / "converted", "rlds_kit")
        assert annotate_manual_rewards(rlds_kit.open(tmp_path / "converted"), rewards) == number
    contacts = _contacts_of_equal_columns(directory)
    assert contacts > 0
    assert _contacts_of_equal_columns(tmp_path / "merged") == contacts
    assert 0 < _contacts_of_equal_columns(tmp_path / "trimmed") <= contacts
    assert _contacts_of_equal_columns(tmp_path / "converted") == contacts


def _contacts_of_equal_columns(directory: Path) -> int:
    """How many steps have a reward by the manual, in both columns the same."""
    contacts = 0
    for played in rlds_kit.open(directory).as_amended("manual").episodes:
        online, offline = played["info/manual_reward"][1:], played["manual_reward"][:-1]
        assert (online.dtype, online.tobytes()) == (offline.dtype, offline.tobytes())
        contacts += int(np.count_nonzero(online))
    return contacts

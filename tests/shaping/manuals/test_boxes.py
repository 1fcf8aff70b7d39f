"""Bounding boxes of recorded episodes."""

from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.errors import SpecError
from rlds_kit.convert.conversion import convert
from rlds_kit.logger import EpisodeWriter
from rlds_kit.shaping.manuals import ContactRewards, annotate_boxes, annotate_manual_rewards
from rlds_kit.shaping.manuals.boxes import boxes_of, columns_of
from rlds_kit.shaping.objects import Box
from rlds_kit.tools import edit
from tests.shaping.manuals.scripted import Scripted, ram, table
from tests.shaping.manuals.test_annotating import _walks

PLAYER = Box(9, "Player", 10, 0, 2, 2)


def _boxes(directory: Path) -> list[list[list[Box]]]:
    """Of every step of every episode."""
    episodes = rlds_kit.open(directory).as_amended("manual").episodes
    return [[boxes_of(step["objects"]) for step in each.steps] for each in episodes]


def test_steps_have_the_boxes_of_their_observations(tmp_path: Path) -> None:
    """As many as there are; they go with their steps, and into copies."""
    dataset = _walks(tmp_path / "a", [50, 0, 10], [0, 7])
    assert annotate_boxes(dataset, Scripted()) == 2
    ball = [[Box(0, "Ball", place, 0, 2, 2)] if place else [] for place in (50, 0, 10, 0, 7)]
    expected = [[[PLAYER, *each] for each in ball[:3]], [[PLAYER, *each] for each in ball[3:]]]
    assert _boxes(tmp_path / "a") == expected
    (first, _) = rlds_kit.open(tmp_path / "a").as_amended("manual").episodes
    assert [each.shape for each in first["objects/xywh"]] == [(2, 4), (1, 4), (2, 4)]
    assert "'slot': Array((None,), int32)" in str(rlds_kit.open(tmp_path / "a").as_amended("manual").spec)
    edit.merge([tmp_path / "a"], tmp_path / "merged")
    assert _boxes(tmp_path / "merged") == expected
    edit.trim(tmp_path / "a", tmp_path / "trimmed", begin=1)
    assert _boxes(tmp_path / "trimmed") == [expected[0][1:], expected[1][1:]]


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"slot": 1},
        columns_of([PLAYER]) | {"xywh": np.zeros((2, 4), np.int16)},
        columns_of([PLAYER]) | {"xywh": np.zeros((1, 4), np.float32)},
        columns_of([PLAYER]) | {"category": np.array([b"Ball"])},
        columns_of([PLAYER]) | {"xywh": np.int16(3)},
    ],
)
def test_other_values_are_no_boxes(value: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        boxes_of(value)


@pytest.mark.parametrize("name", ["envlogger", "minari_arrow"])
def test_rewards_survive_conversions(tmp_path: Path, name: str) -> None:
    """Rewards that are computed again after a conversion and back are the same, bit for bit."""
    dataset = _walks(tmp_path / "a", [50, 10, 50, 10], [10, 50, 10])
    annotate_manual_rewards(dataset, ContactRewards(table(), Scripted()))
    convert(tmp_path / "a", tmp_path / "foreign", name, allow_loss=True)
    convert(tmp_path / "foreign", tmp_path / "back", "rlds_kit")
    back = rlds_kit.open(tmp_path / "back")
    annotate_manual_rewards(back, ContactRewards(table(), Scripted()))
    for old, new in zip(
        dataset.refresh().as_amended("manual").episodes, back.refresh().as_amended("manual").episodes, strict=True
    ):
        assert new["manual_reward"].tobytes() == old["manual_reward"].tobytes()
        assert new["info/manual_reward"][1:].tobytes() == old["manual_reward"][:-1].tobytes()
        assert np.count_nonzero(old["manual_reward"]) > 0


def test_the_last_frame_of_a_step_counts(tmp_path: Path) -> None:
    """That of the observation; frames before it are still shown to the extractor, in order."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start({"frames": np.stack([ram(50)])})
        frames = np.stack([ram(10), ram(20), ram(30)])
        episode.step(action=0, reward=0.0, discount=1.0, observation={"frames": frames}, truncated=True)
    annotate_boxes(rlds_kit.open(tmp_path), Scripted(), field="observation/frames")
    assert [[each.x for each in boxes if each.category == "Ball"] for boxes in _boxes(tmp_path)[0]] == [[50], [30]]


def test_episodes_without_memory_have_no_boxes(tmp_path: Path) -> None:
    dataset = _walks(tmp_path, [50, 10])
    with pytest.raises(SpecError, match="EveryFrame"):
        annotate_boxes(dataset, Scripted(), field="info/other")

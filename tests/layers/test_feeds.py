"""What frameworks get of a dataset as amended."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers
from tests.layers.recording import record

REWARDS = [100.0, 7.0, 8.0, 103.0, 104.0, 0.0]


@pytest.fixture
def amended(tmp_path: Path) -> rlds_kit.Dataset:
    """A dataset with amended rewards, and a field that was not recorded."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    said = [layers.rewards(episode, [7.0, 8.0], 1), layers.amendments(episode, "score", np.arange(6.0))]
    dataset.annotate("h", said, source="critic")
    return dataset.take([0]).as_amended("h")


def test_torch(amended: rlds_kit.Dataset) -> None:
    """Whole episodes, and samples in worker processes."""
    torch: Any = pytest.importorskip("torch")
    item = amended.select("reward", "score").as_torch_dataset()[0]
    assert item["reward"].tolist() == REWARDS
    assert item["score"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    samples = amended.transitions().as_torch_dataset()
    loader = torch.utils.data.DataLoader(samples, batch_size=None, num_workers=1)
    assert [float(np.sum(each["reward"].numpy())) for each in loader] == REWARDS[:5]


def test_grain(amended: rlds_kit.Dataset) -> None:
    pytest.importorskip("grain")
    assert amended.as_grain_source()[0]["reward"].tolist() == REWARDS


def test_tensorflow(amended: rlds_kit.Dataset) -> None:
    """Episodes of nested steps, and dense ones."""
    pytest.importorskip("tensorflow")
    (dense,) = amended.as_dense_tf_dataset().as_numpy_iterator()
    assert dense["steps"]["reward"].tolist() == REWARDS
    (episode,) = amended.as_tf_dataset()
    assert [float(step["reward"]) for step in episode["steps"].as_numpy_iterator()] == REWARDS

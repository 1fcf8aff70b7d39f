"""The loader of the core and the transformations give the same samples of the same data."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit.loader.nests import flattened
from rlds_kit.logger import EpisodeWriter

tf = pytest.importorskip("tensorflow")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> rlds_kit.Dataset:
    """Episodes of all lengths and ends, with nested observations."""
    path = tmp_path_factory.mktemp("agreement")
    rng = np.random.default_rng(0)
    with EpisodeWriter(path) as writer:
        for actions in (1, 2, 5, 9, 30):
            for terminated in (True, False):
                with writer.episode() as episode:
                    episode.start(_observation(rng))
                    for index in range(actions):
                        is_over = index == actions - 1
                        episode.step(
                            action=rng.normal(size=2).astype(np.float32),
                            reward=float(rng.normal()),
                            discount=0.0 if is_over and terminated else 1.0,
                            observation=_observation(rng),
                            terminated=is_over and terminated,
                            truncated=is_over and not terminated,
                        )
    return rlds_kit.open(path)


def _observation(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"state": rng.normal(size=3).astype(np.float32), "image": rng.integers(0, 256, (4, 4, 3), np.uint8)}


def _of_tf(dataset: rlds_kit.Dataset, function: Any) -> dict[str, np.ndarray]:
    parts = [flattened(function(episode["steps"])) for episode in dataset.as_dense_tf_dataset()]
    return {path: np.concatenate([part[path].numpy() for part in parts]) for path in parts[0]}


def _assert_alike(theirs: dict[str, np.ndarray], ours: dict[str, Any], missing: set[str]) -> None:
    mine = flattened(ours)
    assert mine.keys() - theirs.keys() <= missing | {"episode", "step"}
    for path, array in theirs.items():
        np.testing.assert_allclose(mine[path], array, rtol=1e-6, err_msg=path)
        assert mine[path].dtype == array.dtype, path


@pytest.mark.parametrize("n", [1, 3, 50])
def test_transitions_are_the_same(dataset: rlds_kit.Dataset, n: int) -> None:
    """In the same order, with the same fields, dtypes and values."""
    from rlds_kit import transformations as rlt

    theirs = _of_tf(dataset, lambda steps: rlt.transitions(steps, n, 0.9))
    samples = dataset.transitions(n, 0.9)
    valid = {path for path in flattened(samples.gather([0])) if path.startswith("valid/")}
    _assert_alike(theirs, samples.gather(range(len(samples))), valid)


@pytest.mark.parametrize("pad", ["none", "zero", "repeat"])
@pytest.mark.parametrize(("length", "stride"), [(1, 1), (4, 1), (4, 3)])
def test_windows_are_the_same(dataset: rlds_kit.Dataset, length: int, stride: int, pad: Any) -> None:
    """Windows, their masks, and which values are valid."""
    from rlds_kit import transformations as rlt

    theirs = _of_tf(dataset, lambda steps: rlt.windows(steps, length, stride, pad))
    observed = theirs.pop("valid/observation")
    samples = dataset.windows(length, stride, pad)
    ours = samples.gather(range(len(samples)))
    for mask in ours["valid"].pop("observation").values():
        assert np.array_equal(mask, observed)
    _assert_alike(theirs, ours, set())


@pytest.mark.parametrize("pad", ["none", "zero", "repeat"])
def test_chunks_are_the_same(dataset: rlds_kit.Dataset, pad: Any) -> None:
    """A history of observations, actions ahead."""
    from rlds_kit import transformations as rlt

    offsets = {"observation": range(-2, 1), "action": range(4), "reward": [0]}
    theirs = _of_tf(dataset, lambda steps: rlt.chunks(steps, offsets, pad))
    observed = theirs.pop("valid/observation")
    samples = dataset.chunks(offsets, pad)
    ours = samples.gather(range(len(samples)))
    for mask in ours["valid"].pop("observation").values():
        assert np.array_equal(mask, observed)
    _assert_alike(theirs, ours, set())


@pytest.mark.parametrize("n", [1, 2])
def test_a_discount_that_was_not_given_is_one(tmp_path: Path, n: int) -> None:
    """Zero would mean that the next step is terminal."""
    from rlds_kit import transformations as rlt

    with EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(np.float32(0))
        for discount, terminated in ((0.5, False), (None, False), (1.0, False), (None, True)):
            episode.step(action=1, reward=1.0, discount=discount, observation=np.float32(1), terminated=terminated)
    dataset = rlds_kit.open(tmp_path)
    samples = dataset.transitions(n)
    ours = samples.gather(range(len(samples)))["discount"].tolist()
    theirs = _of_tf(dataset, lambda steps: rlt.transitions(steps, n))["discount"].tolist()
    assert ours == theirs == ([0.5, 1, 1, 0] if n == 1 else [0.5, 1, 0, 0])


def test_a_reward_without_weight_may_be_infinite(tmp_path: Path) -> None:
    """With gamma 0 only the first reward counts."""
    from rlds_kit import transformations as rlt

    with EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(0)
        for reward in (1.0, np.inf, 2.0):
            episode.step(action=1, reward=reward, discount=1.0, observation=0)
    dataset = rlds_kit.open(tmp_path)
    assert dataset.transitions(3, 0.0).gather([0])["reward"].tolist() == [1.0]
    assert _of_tf(dataset, lambda steps: rlt.transitions(steps, 3, 0.0))["reward"][0] == 1.0

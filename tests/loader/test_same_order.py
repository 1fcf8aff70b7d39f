"""The same samples in the same order for every framework."""

from typing import Any

import grain
import numpy as np
import pytest
import tensorflow_datasets as tfds
from torch.utils.data import DataLoader

from rlds_kit import Dataset
from rlds_kit.loader.nests import flattened, map_arrays
from tests.loader.recording import EpisodePlan, Plan, recorded

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

PLAN = Plan(
    (
        EpisodePlan(16),
        EpisodePlan(9, gaps=frozenset((3, 4))),
        EpisodePlan(2),
        EpisodePlan(11, lacks_observation=True),
    ),
    observation="tuple",
    is_scheduled=True,
)
BATCH, EPOCHS = 4, 2
"""32 samples: full batches only, so that those of Grain, which join epochs, are the same."""


@pytest.fixture(scope="module")
def samples() -> Any:
    """Transitions of episodes with gaps and without a final observation."""
    with recorded(PLAN) as dataset:
        yield _transitions(dataset)


def _transitions(dataset: Dataset) -> Any:
    return dataset.transitions(2, 0.9)


@pytest.fixture(scope="module")
def expected(samples: Any) -> list[dict[str, np.ndarray]]:
    """What the NumPy loader gives."""
    assert len(samples) == 32
    batches = samples.batches(BATCH, shuffle="global", seed=6)
    return [flattened(batch) for _ in range(EPOCHS) for batch in batches]


def _assert_same(batches: list[Any], expected: list[dict[str, np.ndarray]]) -> None:
    assert len(batches) == len(expected)
    for batch, truth in zip(batches, expected, strict=True):
        arrays = flattened(map_arrays(np.asarray, batch))
        assert arrays.keys() == truth.keys()
        for path, array in truth.items():
            assert arrays[path].dtype == array.dtype
            assert np.array_equal(arrays[path], array)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [{}, {"num_workers": 2, "multiprocessing_context": "fork"}, {"num_workers": 2, "multiprocessing_context": "spawn"}],
    ids=["no workers", "fork", "spawn"],
)
def test_pytorch(samples: Any, expected: list[Any], options: dict[str, Any]) -> None:
    """With the sampler, in any kind of worker."""
    sampler = samples.torch_sampler(seed=6)
    loader = DataLoader(samples.as_torch_dataset(), BATCH, sampler=sampler, persistent_workers=bool(options), **options)
    _assert_same([batch for _ in range(EPOCHS) for batch in loader], expected)


def test_pytorch_batches(samples: Any, expected: list[Any]) -> None:
    loader = DataLoader(samples.batches(BATCH, shuffle="global", seed=6).as_torch_dataset(), batch_size=None)
    _assert_same([batch for _ in range(EPOCHS) for batch in loader], expected)


def test_tensorflow(samples: Any, expected: list[Any]) -> None:
    dataset = samples.batches(BATCH, shuffle="global", seed=6).as_tf_dataset()
    _assert_same(list(tfds.as_numpy(dataset.repeat(EPOCHS))), expected)


def test_grain(samples: Any, expected: list[Any]) -> None:
    """The source in the order of the seed, by both of Grain's loaders; and the batches themselves."""
    source = samples.as_grain_source(seed=6, epochs=EPOCHS)
    _assert_same(list(grain.MapDataset.source(source).batch(BATCH)), expected)
    loader = grain.DataLoader(
        data_source=source,
        sampler=grain.samplers.SequentialSampler(len(source), grain.sharding.NoSharding()),
        operations=[grain.transforms.Batch(BATCH)],
    )
    _assert_same(list(loader), expected)
    batches = samples.batches(BATCH, shuffle="global", seed=6).as_grain_dataset(epochs=EPOCHS)
    _assert_same(list(batches), expected)

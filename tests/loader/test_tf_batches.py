"""Batches as `tf.data.Dataset`, against those of the NumPy loader."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import Dataset
from tests.loader.recording import numbered, plain, recorded
from tests.loader.truth import flat
from tests.storage.truth import same


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six episodes whose observations count all steps, in blocks of four."""
    return numbered(tmp_path_factory.mktemp("counted"), (17, 1, 40, 8, 23, 2))


@pytest.mark.parametrize("shuffle", [None, "global", "blocks"])
def test_batches_are_those_of_the_loader(counted: Dataset, shuffle: Any) -> None:
    """In the same order, epoch after epoch."""
    samples = counted.transitions(2)
    made = tfds.as_numpy(samples.batches(16, shuffle=shuffle, seed=4).as_tf_dataset())
    expected = samples.batches(16, shuffle=shuffle, seed=4)
    _assert_same_batches(list(_epochs(made, 2)), list(_epochs(expected, 2)))


def _epochs(batches: Any, count: int) -> Iterator[Any]:
    for _ in range(count):
        yield from batches


def _assert_same_batches(some: list[Any], others: list[Any]) -> None:
    """Bit for bit."""
    assert len(some) == len(others)
    for one, other in zip(some, others, strict=True):
        assert same(flat(one), flat(other))


def test_repeat_goes_through_the_epochs(counted: Dataset) -> None:
    """Each in its own order."""
    made = counted.windows(3).batches(16, shuffle="global").as_tf_dataset().repeat(2)
    expected = list(_epochs(counted.windows(3).batches(16, shuffle="global"), 2))
    _assert_same_batches(list(tfds.as_numpy(made)), expected)


def test_batch_dimension_is_known_where_every_batch_is_full(counted: Dataset) -> None:
    """That is with `drop_remainder`."""
    samples = counted.chunks({"observation": range(-1, 1), "action": range(2)})
    full, ragged = (samples.batches(16, drop_remainder=each).as_tf_dataset().element_spec for each in (True, False))
    assert full["observation"] == tf.TensorSpec([16, 2], tf.int64)
    assert ragged["observation"] == tf.TensorSpec([None, 2], tf.int64)


@pytest.mark.parametrize("observation", ["dict", "text", "tuple", "big-endian", "bfloat16", "fixed text"])
def test_batches_of_any_array(observation: str) -> None:
    """Nests, text as UTF-8, either byte order."""
    with recorded(plain(5, 3, observation=observation)) as dataset:
        samples = dataset.windows(2)
        (made,) = samples.batches(100).as_tf_dataset()
        truth = flat(samples.gather(range(len(samples))))
        found = flat(tfds.as_numpy(made))
        assert found.keys() == truth.keys()
        for path, array in truth.items():
            items = [item.encode() if isinstance(item, str) else item for item in array.reshape(-1).tolist()]
            assert found[path].reshape(-1).tolist() == items


def test_training_goes_on_where_a_state_says(counted: Dataset) -> None:
    """TensorFlow prefetches; `state_at` counts the batches that training has used."""
    samples = counted.transitions()
    expected = list(_epochs(samples.batches(8, shuffle="global", seed=1), 3))
    batches = samples.batches(8, shuffle="global", seed=1)
    steps = len(batches) + 4
    running = iter(batches.as_tf_dataset().repeat())
    _assert_same_batches([tfds.as_numpy(next(running)) for _ in range(steps)], expected[:steps])
    resumed = samples.batches(8, shuffle="global", seed=1)
    resumed.load_state_dict(batches.state_at(*divmod(steps, len(batches))))
    rest = list(tfds.as_numpy(resumed.as_tf_dataset().repeat(2)))
    _assert_same_batches(rest, expected[steps:])


def test_mixtures_are_endless_batches(counted: Dataset, tmp_path: Path) -> None:
    """Also where a transform makes them alike."""
    other = numbered(tmp_path, (30, 9), first=1000)

    def halved(batch: Any) -> Any:
        return {**batch, "observation": batch["observation"] // 2}

    mixture = rlds_kit.mix({other: 0.3, counted: 0.7}, {other: halved})
    made = mixture.transitions().batches(10, shuffle="global").as_tf_dataset()
    assert made.element_spec["observation"] == tf.TensorSpec([10], tf.int64)
    expected = itertools.islice(mixture.transitions().batches(10, shuffle="global"), 20)
    _assert_same_batches(list(tfds.as_numpy(made.take(20))), list(expected))

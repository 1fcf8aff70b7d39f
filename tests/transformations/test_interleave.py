"""Mixing datasets: proportions, order, and what is refused."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations.interleave import interleave
from tests.transformations.episodes import make_steps, to_dense_episodes


def numbered(count: int | None = None) -> list[tf.data.Dataset]:
    """Datasets of pairs: of which dataset, and which element."""
    return [tf.data.Dataset.range(10**6 if count is None else count).map(lambda n, i=i: (i, n)) for i in range(3)]


def take(dataset: tf.data.Dataset, count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Sources and numbers of the first elements."""
    source, number = dataset.take(count).batch(count).get_single_element()
    return source.numpy(), number.numpy()


@settings(max_examples=12)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=3))
def test_whole_weights_have_their_share_after_every_round(weights: list[int]) -> None:
    """Exactly; and in between, none is far from it."""
    source, _ = take(interleave(numbered(), weights), 5 * sum(weights))
    counts = np.cumsum(source[:, np.newaxis] == np.arange(3), axis=0)
    rounds = np.arange(1, 6)[:, np.newaxis]
    np.testing.assert_array_equal(counts[sum(weights) - 1 :: sum(weights)], rounds * weights)
    share = np.array(weights) / sum(weights)
    fair = np.arange(1, len(source) + 1)[:, np.newaxis] * share
    assert (abs(counts - fair) <= 0.5 + 1.5 * share).all()


@settings(max_examples=8)
@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_any_weights_keep_near_their_share(weights: list[float]) -> None:
    """Also across blocks that are planned apart."""
    source, number = take(interleave(numbered(), weights), 2500)
    counts = np.cumsum(source[:, np.newaxis] == np.arange(3), axis=0)
    share = np.array(weights) / sum(weights)
    assert (abs(counts - np.arange(1, 2501)[:, np.newaxis] * share) <= 0.5 + 1.5 * share + 1e-9).all()
    for each in range(3):
        assert number[source == each].tolist() == list(range(counts[-1, each]))


def test_the_fixed_order_is_fixed() -> None:
    """Every pass gives the same."""
    dataset = interleave(numbered(), [1, 2, 4])
    assert take(dataset, 100)[0].tolist() == take(dataset, 100)[0].tolist()


def test_a_seed_draws_at_random_in_proportion() -> None:
    """Another seed gives another order, and each dataset keeps its own."""
    draws = [take(interleave(numbered(), [0.2, 0.3, 0.5], seed=seed), 3000) for seed in (1, 1, 2)]
    assert draws[0][0].tolist() == draws[1][0].tolist() != draws[2][0].tolist()
    np.testing.assert_allclose(np.bincount(draws[0][0]) / 3000, [0.2, 0.3, 0.5], atol=0.05)
    for source, number in draws:
        assert number[source == 1].tolist() == list(range((source == 1).sum()))


@pytest.mark.parametrize("seed", [None, 0])
def test_the_end_of_one_is_the_end_or_not(seed: int | None) -> None:
    """As set by `stop_on_empty`; without it, every element occurs once."""
    ending = [dataset.take(count) for dataset, count in zip(numbered(), (2, 50, 50), strict=True)]
    source, _ = take(interleave(ending, [1, 1, 1], seed=seed), 1000)
    assert (source == 0).sum() == 2
    assert len(source) < 102
    source, _ = take(interleave(ending, [1, 1, 1], seed=seed, stop_on_empty=False), 1000)
    assert np.bincount(source).tolist() == [2, 50, 50]


def test_datasets_and_weights_can_have_names() -> None:
    """In whatever order the weights are."""
    datasets = dict(zip("abc", numbered(), strict=True))
    source, _ = take(interleave(datasets, {"c": 3, "a": 1, "b": 2}), 60)
    assert np.bincount(source).tolist() == [10, 20, 30]


@pytest.mark.parametrize("nested", [True, False])
def test_episodes_are_mixed_in_either_form(nested: bool) -> None:
    """Lengths differ, fields do not."""

    def episodes(*lengths: int) -> tf.data.Dataset:
        dense = to_dense_episodes([make_steps(length) for length in lengths])
        return dense.map(lambda steps: {"steps": tf.data.Dataset.from_tensor_slices(steps) if nested else steps})

    mixed = interleave([episodes(1, 2), episodes(3, 4)], [1, 1])
    assert [len(list(one["steps"])) if nested else len(one["steps"]["reward"]) for one in mixed] == [1, 3, 2, 4]


def of_one(**fields: Any) -> tf.data.Dataset:
    """A dataset of one episode."""
    return tf.data.Dataset.from_tensors({"steps": fields})


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"state": tf.zeros([2, 8])}, r"differ in field 'steps/state': float32 \(2, 7\) in a, float32 \(2, 8\) in b"),
        ({"state": tf.zeros([2, 7], tf.float64)}, r"float32 \(2, 7\) in a, float64 \(2, 7\) in b"),
        ({"pose": tf.zeros([2, 7])}, r"'steps/state': float32 \(2, 7\) in a, missing in b"),
        ({"state": tf.zeros([2, 7]), "text": "a"}, r"'steps/text': missing in a, string \(\) in b"),
    ],
)
def test_different_fields_are_refused_by_name(other: dict[str, Any], message: str) -> None:
    """With both types; nothing is ever scrambled."""
    with pytest.raises(TypeError, match=message):
        interleave({"a": of_one(state=tf.zeros([2, 7])), "b": of_one(**other)}, {"a": 1, "b": 1})


def test_different_fields_of_nested_steps_are_refused_by_name() -> None:
    """The steps of a dataset are looked into."""
    nested = [
        of_one(state=tf.zeros([2, size])).map(lambda e: {"steps": tf.data.Dataset.from_tensor_slices(e["steps"])})
        for size in (7, 8)
    ]
    with pytest.raises(TypeError, match=r"field 'steps/state': float32 \(7,\) in 0, float32 \(8,\) in 1"):
        interleave(nested, [1, 1])


def test_different_elements_are_refused() -> None:
    with pytest.raises(TypeError, match=r"differ in elements: int64 \(\) in 0, float32 \(\) in 1"):
        interleave([tf.data.Dataset.range(3), tf.data.Dataset.from_tensors(1.0)], [1, 1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1], "expected a weight for each of the datasets 0, 1, 2, got weights for 0, 1"),
        ([1, 0, 1], "expected weights above 0, got {'1': 0}"),
        ([1, 1, -2], "expected weights above 0, got {'2': -2}"),
        ([1, float("nan"), 1], "expected weights above 0, got {'1': nan}"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        interleave(numbered(), weights)


def test_nothing_to_mix_is_refused() -> None:
    """No datasets, an empty one, or one alone that was meant as several."""
    with pytest.raises(ValueError, match="at least one dataset"):
        interleave([], [])
    with pytest.raises(ValueError, match="dataset 1 is empty"):
        interleave([tf.data.Dataset.range(3), tf.data.Dataset.range(0)], [1, 1])
    with pytest.raises(TypeError, match="expected several datasets"):
        interleave(tf.data.Dataset.range(3), [1])

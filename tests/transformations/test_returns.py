"""Returns against loops, in every mode, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.transformations.returns import returns, returns_to_go
from tests.transformations.episodes import (
    MODES,
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    run,
    taken,
    to_dense_episodes,
    to_numpy,
    to_tensors,
    without,
)

gammas = st.sampled_from([0.0, 0.01, 0.9, 1.0])


def expected_return(steps: Steps, gamma: float) -> float:
    """The sum of the rewards that belong to an action, discounted by the number of their step."""
    index = steps.get("step_index", np.arange(len(steps["reward"])))
    return sum(
        float(reward) * gamma ** int(number - index[0])
        for reward, number, acted in zip(steps["reward"], index, taken(steps), strict=True)
        if acted
    )


def expected_returns_to_go(steps: Steps, gamma: float) -> np.ndarray:
    """From the last step back to the first; a gap begins anew."""
    expected = np.zeros(len(steps["reward"]))
    for row in reversed(range(len(expected) - 1)):
        if taken(steps)[row]:
            expected[row] = float(steps["reward"][row]) + gamma * expected[row + 1]
    return expected


@given(episode_steps(min_length=0), gammas)
def test_returns_equal_loop(steps: Steps, gamma: float) -> None:
    """Undefined rewards do not count, and the time in a gap counts for the discount."""
    actual = returns(to_tensors(steps), gamma)
    np.testing.assert_allclose(actual, expected_return(steps, gamma), rtol=1e-6, atol=1e-6)
    assert actual.dtype == tf.float32


@given(episode_steps(min_length=0), gammas)
def test_returns_to_go_equal_loop(steps: Steps, gamma: float) -> None:
    """Sums end at gaps and at the episode's end; nothing else changes."""
    actual = to_numpy(returns_to_go(to_tensors(steps), gamma))
    np.testing.assert_allclose(
        actual["return_to_go"], expected_returns_to_go(steps, gamma), rtol=1e-6, atol=1e-6, strict=False
    )
    assert actual["return_to_go"].dtype == np.float32
    assert_same(without(actual, "return_to_go"), steps)


@given(episode_steps(gaps=False), gammas)
def test_the_first_return_to_go_is_the_return(steps: Steps, gamma: float) -> None:
    """What is obtained from the first step on is the return."""
    first = returns_to_go(to_tensors(steps), gamma)["return_to_go"][0]
    np.testing.assert_allclose(first, returns(to_tensors(steps), gamma), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [0, 1, 6])
def test_returns_to_go_in_every_mode(mode: str, length: int) -> None:
    """Dense or a dataset, eager or in a graph, the sums are the same."""
    steps = make_steps(length, observation="nested", step_index=[0, 1, 2, 5, 6, 7][:length])
    actual = run(lambda dense: returns_to_go(dense, 0.9), steps, mode)
    np.testing.assert_allclose(actual["return_to_go"], expected_returns_to_go(steps, 0.9), rtol=1e-6)


@pytest.mark.parametrize("length", [0, 1, 6])
def test_returns_in_every_mode(length: int) -> None:
    """Dense or a dataset, eager or in a graph, the return is the same."""
    steps = make_steps(length, observation="nested", step_index=[0, 1, 2, 5, 6, 7][:length])
    dense = to_dense_episodes([steps])
    nested = dense.map(lambda one: {"steps": tf.data.Dataset.from_tensor_slices(one)})
    actual = [
        returns(to_tensors(steps), 0.9),
        returns(tf.data.Dataset.from_tensor_slices(to_tensors(steps)), 0.9),
        tf.function(lambda one: returns(one, 0.9), input_signature=[dense.element_spec])(to_tensors(steps)),
        *dense.map(lambda one: returns(one, 0.9)),
        *nested.map(lambda episode: returns(episode["steps"], 0.9)),
    ]
    np.testing.assert_allclose(actual, [expected_return(steps, 0.9)] * 5, rtol=1e-6)


def test_nan_beyond_a_gap_stays_there() -> None:
    """A reward that is not a number spoils its own segment only."""
    steps = make_steps(6, step_index=[0, 1, 2, 7, 8, 9])
    steps["reward"][3] = np.nan
    actual = returns_to_go(to_tensors(steps), 0.9)["return_to_go"]
    assert np.isnan(actual).tolist() == [False, False, False, True, False, False]


def test_long_episodes() -> None:
    """A small discount and many steps: no power of it is divided by, and nothing becomes infinite."""
    rewards = np.ones(3000, np.float32)
    actual = returns_to_go({"reward": tf.constant(rewards)}, 0.5)["return_to_go"].numpy()
    np.testing.assert_allclose(actual[:2900], 2, rtol=1e-6)
    assert actual[-3:].tolist() == [1.5, 1, 0]


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [(np.uint8, np.float32), (np.int64, np.float32), (np.float16, np.float32), (np.float64, np.float64)],
)
def test_dtypes(dtype: Any, wanted: Any) -> None:
    """Small integers do not wrap around; float64 stays float64, all else is float32."""
    steps = {"reward": tf.constant(np.array([200, 200, 0], dtype))}
    assert returns(steps) == 400
    assert returns(steps).dtype == wanted
    assert returns_to_go(steps)["return_to_go"].numpy().tolist() == [400, 200, 0]


def test_nested_rewards() -> None:
    """Every reward of a nest has its return, vectors among them."""
    steps = {"reward": {"anna": tf.constant([1.0, 2.0, 9.0]), "ben": tf.constant([[1.0, 3.0], [2.0, 4.0], [9.0, 9.0]])}}
    assert {name: value.numpy().tolist() for name, value in returns(steps, 0.5).items()} == {"anna": 2, "ben": [2, 5]}
    to_go = returns_to_go(steps)["return_to_go"]["ben"]
    assert to_go.numpy().tolist() == [[3, 7], [2, 4], [0, 0]]


@pytest.mark.parametrize("function", [returns, returns_to_go])
def test_bad_input(function: Callable[..., Any]) -> None:
    """Missing rewards and discounts out of range are refused."""
    with pytest.raises(ValueError, match=r"expected steps with the fields \['reward'\]"):
        function(to_tensors(without(make_steps(3), "reward")))
    with pytest.raises(ValueError, match=r"expected gamma between 0 and 1, got 1\.5"):
        function(to_tensors(make_steps(3)), 1.5)


def test_field_that_would_be_overwritten() -> None:
    """A recorded field is never overwritten."""
    with pytest.raises(ValueError, match=r"already have fields \['return_to_go'\]"):
        returns_to_go(returns_to_go(to_tensors(make_steps(3))))

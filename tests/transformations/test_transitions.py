"""Transitions against loops over steps, in every mode, and what is refused."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.transformations.transitions import transitions
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

OF_NEXT = ("observation", "is_last", "is_terminal", "observation_valid")


def expected_transitions(steps: Steps, n: int, gamma: float) -> Steps:
    """The transitions, step by step."""
    length = len(steps["is_last"])
    steps = {"discount": np.ones(length, np.float32), "is_terminal": np.zeros(length, bool), **steps}
    valid = steps.get("observation_valid", np.ones(length, bool))
    starts, ends, rewards, discounts = [], [], [], []
    for start in range(length):
        end, reached = start, None
        while valid[start] and end - start < n and taken(steps)[end]:
            end += 1
            if valid[end] or steps["is_terminal"][end]:
                reached = end
        if reached is not None:
            factors = [gamma * float(discount) for discount in steps["discount"][start:reached]]
            weights = np.cumprod([1.0, *factors])
            obtained = steps.get("reward", np.zeros(length))[start:reached].astype(np.float64)
            starts.append(start)
            ends.append(reached)
            rewards.append(np.sum(obtained * weights[:-1]))
            discounts.append(0.0 if steps["is_terminal"][reached] else weights[-1])
    at, until = np.array(starts, int), np.array(ends, int)
    expected = {
        name: tf.nest.map_structure(lambda leaf: leaf[at], value)
        for name, value in steps.items()
        if name == "observation" or name not in OF_NEXT
    }
    for name in OF_NEXT:
        if name in steps:
            expected[f"next_{name}"] = tf.nest.map_structure(lambda leaf: leaf[until], steps[name])
    if "reward" in steps:
        expected["reward"] = np.array(rewards, steps["reward"].dtype)
    return {
        **expected,
        "discount": np.array(discounts, steps["discount"].dtype),
        "n_steps": (until - at).astype(np.int32),
    }


def assert_transitions(actual: Any, expected: Steps) -> None:
    """Assert equality, but for the rounding of what is computed."""
    for name in {"reward", "discount"} & expected.keys():
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-6, atol=1e-7, err_msg=name)
        assert actual[name].dtype == expected[name].dtype
    assert_same(without(actual, "reward", "discount"), without(expected, "reward", "discount"))


@given(
    episode_steps(min_length=0, optional=("discount", "is_terminal", "reward", "action")),
    st.sampled_from([1, 2, 3, 7, 60]),
    st.sampled_from([0.0, 0.9, 1.0]),
)
def test_equal_loops_over_steps(steps: Steps, n: int, gamma: float) -> None:
    """Ends, gaps, missing observations and fields, garbage in undefined rows: all as the loops have it."""
    actual = to_numpy(transitions(to_tensors(steps), n, gamma))
    assert_transitions(actual, expected_transitions(steps, n, gamma))


@given(episode_steps(gaps=False, final_observation=True))
def test_one_step_transitions_are_slices(steps: Steps) -> None:
    """What is not computed is bit for bit what was recorded."""
    actual = to_numpy(transitions(to_tensors(steps)))
    assert_same(actual["observation"], tf.nest.map_structure(lambda leaf: leaf[:-1], steps["observation"]))
    assert_same(actual["next_observation"], tf.nest.map_structure(lambda leaf: leaf[1:], steps["observation"]))
    assert_same(actual["reward"], steps["reward"][:-1])


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("step_index", [None, [0, 1, 2, 5, 6, 8]], ids=["whole", "gaps"])
def test_every_mode(mode: str, n: int, step_index: list[int] | None) -> None:
    """Dense or a dataset, eager or in a graph, the transitions are the same."""
    steps = make_steps(6, observation="nested", step_index=step_index)
    actual = run(lambda dense: transitions(dense, n, 0.9), steps, mode)
    assert_transitions(actual, expected_transitions(steps, n, 0.9))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("n", [1, 3])
def test_episodes_without_an_action(mode: str, length: int, n: int) -> None:
    """An episode of one step, or of none, has no transitions."""
    actual = run(lambda dense: transitions(dense, n), make_steps(length), mode)
    assert actual["next_observation"].shape == (0, 3)


def test_terminal_steps_are_not_bootstrapped() -> None:
    """The discount is exactly 0 where the next step is terminal, whatever was recorded."""
    steps = make_steps(4, end="terminated")
    steps["discount"][:] = 1
    assert transitions(to_tensors(steps))["discount"].numpy().tolist() == [1, 1, 0]
    assert transitions(to_tensors(steps), n=2)["discount"].numpy().tolist() == [1, 0, 0]


@pytest.mark.parametrize("end", ["truncated", "interrupted"])
def test_truncated_episodes_are_bootstrapped(end: Any) -> None:
    """The last observation of an episode that did not terminate is an ordinary state."""
    steps = without(make_steps(3, end=end), "discount")
    actual = transitions(to_tensors(steps), gamma=0.5)
    assert actual["discount"].numpy().tolist() == [0.5, 0.5]
    assert actual["next_is_last"].numpy().tolist() == [False, True]


def test_missing_final_observation_of_a_truncated_episode() -> None:
    """Nothing is bootstrapped from an observation that is missing: a transition is shortened, or left out."""
    steps = make_steps(4, end="truncated", final_observation=False, undefined="garbage")
    assert transitions(to_tensors(steps), n=1)["n_steps"].numpy().tolist() == [1, 1]
    actual = transitions(to_tensors(steps), n=2)
    assert actual["n_steps"].numpy().tolist() == [2, 1]
    assert actual["next_observation_valid"].numpy().all()
    np.testing.assert_array_equal(actual["next_observation"], steps["observation"][[2, 2]])


def test_missing_final_observation_of_a_terminated_episode() -> None:
    """The last transition remains, because no value of its next observation is needed."""
    steps = make_steps(3, end="terminated", final_observation=False)
    actual = transitions(to_tensors(steps))
    assert actual["next_observation_valid"].numpy().tolist() == [True, False]
    assert actual["discount"].numpy().tolist()[-1] == 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_missing_observation_in_the_middle(n: int) -> None:
    """No transition begins at an observation that is missing, and none is bootstrapped from it."""
    steps = make_steps(6) | {"observation_valid": np.array([True, True, False, True, True, True])}
    actual = to_numpy(transitions(to_tensors(steps), n))
    assert_transitions(actual, expected_transitions(steps, n, 1.0))
    assert actual["n_steps"].tolist() == {1: [1, 1, 1], 2: [1, 2, 2, 1], 3: [3, 3, 2, 1]}[n]


def test_nothing_is_joined_across_a_gap() -> None:
    """No transition leads over steps that were left out, and none sums rewards from beyond them."""
    steps = make_steps(5, step_index=[0, 1, 4, 5, 6])
    actual = transitions(to_tensors(steps), n=3)
    assert actual["step_index"].numpy().tolist() == [0, 4, 5]
    assert actual["n_steps"].numpy().tolist() == [1, 2, 1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2])
def test_floating_dtypes_are_kept(dtype: Any, n: int) -> None:
    """Rewards and discounts of floats keep their dtype."""
    steps = make_steps(4) | {"reward": np.ones(4, dtype), "discount": np.ones(4, dtype)}
    actual = transitions(to_tensors(steps), n)
    assert (actual["reward"].dtype, actual["discount"].dtype) == (dtype, dtype)


def test_rewards_of_integers() -> None:
    """Integers stay integers as long as nothing is summed; sums, and discounts, become float32."""
    steps = to_tensors(make_steps(3) | {"reward": np.array([1, 2, 0], np.int8), "discount": np.array([1, 1, 1])})
    one, two = transitions(steps), transitions(steps, n=2, gamma=0.5)
    assert (one["reward"].dtype, one["discount"].dtype) == (tf.int8, tf.float32)
    assert two["reward"].dtype == tf.float32
    assert two["reward"].numpy().tolist() == [2, 2]


def test_sums_do_not_drift() -> None:
    """A long sum of float32 rewards is that of float64, rounded once."""
    rewards = np.full(1001, 0.1, np.float32)
    steps = make_steps(1001) | {"reward": rewards, "discount": np.ones(1001, np.float32)}
    actual = transitions(to_tensors(steps), n=1000)["reward"][0]
    assert actual == np.float32(rewards[:-1].astype(np.float64).sum())


def nested_rewards(discount: Any) -> Any:
    """Steps of an episode of two agents."""
    rewards = {"anna": np.array([1, 2, 0], np.float32), "ben": np.array([[1, 1], [3, 5], [0, 0]], np.float64)}
    return to_tensors(make_steps(3, end="truncated") | {"reward": rewards, "discount": discount})


def test_one_discount_serves_nested_rewards() -> None:
    """Each reward of a nest, a vector among them, is multiplied by the discount there is."""
    actual = transitions(nested_rewards(np.array([0.5, 0.5, 0], np.float32)), n=2)
    assert actual["reward"]["anna"].numpy().tolist() == [2, 2]
    assert actual["reward"]["ben"].numpy().tolist() == [[2.5, 3.5], [3, 5]]
    assert actual["discount"].numpy().tolist() == [0.25, 0.5]


@pytest.mark.parametrize("n", [1, 2])
def test_nested_discounts(n: int) -> None:
    """Each agent has its own discount."""
    discounts = {"anna": np.array([0, 1, 0], np.float32), "ben": np.array([1, 1, 0], np.float32)}
    actual = transitions(nested_rewards(discounts), n=n)
    assert actual["discount"]["anna"].numpy().tolist() == [0, 1]
    assert actual["reward"]["anna"].numpy().tolist() == [1, 2]
    assert actual["discount"]["ben"].numpy().tolist() == [1, 1]


def test_discounts_of_other_agents() -> None:
    """Discounts whose keys are not those of the rewards are refused."""
    with pytest.raises(ValueError, match="keys of the nest of rewards"):
        transitions(nested_rewards({"anna": np.ones(3, np.float32)}), n=2)


def test_discounts_of_more_dimensions_than_rewards() -> None:
    """A vector of discounts for a scalar reward is refused."""
    steps = make_steps(3) | {"discount": np.ones((3, 2), np.float32)}
    with pytest.raises(ValueError, match="expected the leading dimensions"):
        transitions(to_tensors(steps), n=2)


def test_static_shapes() -> None:
    """What is known of shapes when a graph is traced stays known."""
    steps = make_steps(5, observation="image")
    known = tf.data.Dataset.from_tensors(to_tensors(steps)).map(transitions).element_spec
    unknown = to_dense_episodes([steps, make_steps(3, observation="image")]).map(transitions).element_spec
    assert known["next_observation"].shape == [4, 4, 5, 3]
    assert unknown["next_observation"].shape.as_list() == [None, 4, 5, 3]


def test_one_step_transitions_gather_nothing() -> None:
    """Without gaps, the graph of 1-step transitions copies no observations."""
    spec = to_dense_episodes([make_steps(5), make_steps(3)]).element_spec
    graph = tf.function(transitions, input_signature=[spec]).get_concrete_function().graph
    assert not {operation.type for operation in graph.get_operations()} & {"GatherV2", "ConcatV2"}


@pytest.mark.parametrize("n", [0, -1])
def test_n_below_one(n: int) -> None:
    """A transition sums at least one reward."""
    with pytest.raises(ValueError, match=f"expected n of at least 1, got {n}"):
        transitions(to_tensors(make_steps(3)), n)


def test_n_that_is_no_integer() -> None:
    with pytest.raises(TypeError, match=r"expected n to be an integer, got 2.0"):
        transitions(to_tensors(make_steps(3)), 2.0)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("gamma", [-0.1, 1.1, float("nan")])
def test_gamma_out_of_range(gamma: float) -> None:
    """A discount lies in [0, 1]."""
    with pytest.raises(ValueError, match="expected gamma between 0 and 1"):
        transitions(to_tensors(make_steps(3)), gamma=gamma)


@pytest.mark.parametrize("field", ["observation", "is_last"])
def test_missing_fields(field: str) -> None:
    """The error names the field that is needed, and those there are."""
    with pytest.raises(ValueError, match=rf"expected steps with the fields \['{field}'\]; these have only \['action'"):
        transitions(to_tensors(without(make_steps(3), field)))


@pytest.mark.parametrize("field", ["next_observation", "next_is_terminal", "n_steps"])
def test_fields_that_would_be_overwritten(field: str) -> None:
    """A recorded field is never overwritten."""
    with pytest.raises(ValueError, match=rf"already have fields \['{field}'\]"):
        transitions(to_tensors(make_steps(3) | {field: np.zeros(3)}))

"""n-step transitions, against a loop over every episode's steps."""

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import Dataset, EpisodeEnd, SpecError
from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage.recorder import Recorder
from tests.loader.recording import EpisodePlan, Plan, plain, plans, recorded, select_all
from tests.loader.truth import assert_batch, transitions, true_episodes
from tests.repetitions import repetitions

gammas = st.sampled_from((1.0, 0.99, 0.5, 0.0))
TRUNCATED = (EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED, EpisodeEnd.INCOMPLETE)


@pytest.mark.sweep
@given(plan=plans(), n=st.integers(1, 10), gamma=gammas)
@settings(max_examples=repetitions(70, least=28))
def test_transitions_are_what_a_loop_over_the_steps_gives(plan: Plan, n: int, gamma: float) -> None:
    """Every value, mask and flag of every transition of any dataset, and how many transitions there are."""
    with recorded(plan) as dataset:
        _check(dataset, plan, n, gamma)


@given(plan=plans(max_episodes=3), n=st.integers(1, 4))
@settings(max_examples=15)
def test_transitions_of_episodes_that_are_being_recorded(plan: Plan, n: int) -> None:
    """An open episode has a transition for every action that is durable, and none of them is the last."""
    with recorded(plan, include_open=True) as dataset:
        _check(dataset, plan, n, 0.9)


def _check(dataset: Dataset, plan: Plan, n: int, gamma: float) -> None:
    samples = select_all(dataset, plan.kinds).transitions(n, gamma)
    expected = transitions(true_episodes(dataset, plan.kinds), n, gamma, has_discount="discount" in dataset.spec.fields)
    assert len(samples) == len(expected)
    batch = samples.gather(range(len(samples)))
    assert_batch(batch, expected, dataset.spec, rounded=("discount", "reward"))


def test_one_transition_for_every_action() -> None:
    """Of each episode as many as it has actions, in order."""
    plan = Plan((EpisodePlan(5), EpisodePlan(1), EpisodePlan(4, lacks_observation=True)), observation="scalar")
    with recorded(plan) as dataset:
        samples = dataset.transitions()
        assert len(samples) == 4 + 0 + 3
        batch = samples.gather(range(7))
        actions = [episode["action"][:-1] for episode in dataset.episodes]
        assert batch["action"].tolist() == np.concatenate(actions).tolist()
        assert batch["valid"]["action"].all()
        assert batch["valid"]["next_observation"].tolist() == [True] * 6 + [False]
        assert batch["is_first"].tolist() == [True, False, False, False, True, False, False]
        assert batch["next_is_last"].tolist() == [False, False, False, True, False, False, True]


@pytest.mark.parametrize("n", [1, 3, 10])
@pytest.mark.parametrize("ending", list(EpisodeEnd))
def test_the_discount_is_zero_at_a_terminal_step_only(ending: EpisodeEnd, n: int) -> None:
    """Beyond a terminal step there is no value; beyond a truncated, interrupted or incomplete end there is."""
    plan = Plan((EpisodePlan(5, ending),), observation="scalar", discount="float64")
    with recorded(plan) as dataset:
        batch = dataset.transitions(n, gamma=0.9).gather(range(4))
        leads_to_end = np.minimum(np.arange(4) + n, 4) == 4
        assert batch["next_is_last"].tolist() == leads_to_end.tolist()
        is_terminal = leads_to_end & (ending is EpisodeEnd.TERMINATED)
        assert batch["next_is_terminal"].tolist() == is_terminal.tolist()
        assert (batch["discount"] == 0).tolist() == is_terminal.tolist()
        assert batch["n_steps"].tolist() == [min(n, 4 - row) for row in range(4)]


def test_nothing_is_joined_over_a_gap() -> None:
    """Before a gap fewer rewards are summed, and the value is bootstrapped from the last observation before it."""
    plan = Plan((EpisodePlan(7, gaps=frozenset({3})),), observation="scalar", is_scheduled=True, reward="float64")
    with recorded(plan) as dataset:
        observation, reward = dataset.episodes[0]["observation"], dataset.episodes[0]["reward"]
        batch = dataset.transitions(n=5).gather(range(5))
        assert batch["observation"].tolist() == observation[[0, 1, 3, 4, 5]].tolist()
        assert batch["next_observation"].tolist() == observation[[2, 2, 6, 6, 6]].tolist()
        assert batch["n_steps"].tolist() == [2, 1, 3, 2, 1]
        assert batch["discount"].tolist() == [1, 1, 0, 0, 0]
        assert not batch["next_is_last"][:2].any()
        np.testing.assert_allclose(batch["reward"][:2], [reward[0] + reward[1], reward[1]])


@pytest.mark.parametrize(
    ("reward", "n", "expected"),
    [
        ("float64", 1, np.float64),
        ("float32", 3, np.float32),
        ("float16", 3, np.float16),
        ("int64", 1, np.int64),
        ("int64", 2, np.float64),
        ("bool", 1, np.bool_),
        ("bool", 2, np.float64),
    ],
)
def test_dtypes_of_rewards(reward: str, n: int, expected: type) -> None:
    """One reward is as recorded; a sum of them too if it is of floating point, and else is float64."""
    with recorded(plain(4, reward=reward)) as dataset:
        assert dataset.transitions(n, gamma=0.5).gather([0])["reward"].dtype == expected


@pytest.mark.parametrize(("discount", "expected"), [("undeclared", np.float64), ("float32", np.float32)])
def test_dtypes_of_discounts(discount: str, expected: type) -> None:
    """As recorded; float64 where none was."""
    with recorded(plain(4, discount=discount)) as dataset:
        for n in (1, 3):
            assert dataset.transitions(n, gamma=0.5).gather([0])["discount"].dtype == expected


def test_fields_can_be_converted() -> None:
    """`dtypes` of the observation is that of the next one too; sums are in the dtype of the reward."""
    with recorded(plain(4, observation="image", reward="int64", discount="float64")) as dataset:
        wanted = {"observation": "float32", "reward": "float32", "discount": "float32"}
        batch = dataset.transitions(2, 0.5, dtypes=wanted).gather(range(3))
        names = ("observation", "next_observation", "reward", "discount")
        assert {name: batch[name].dtype for name in names} == dict.fromkeys(names, np.dtype("float32"))


def _write(directory: Path, steps: list[dict[str, Any]], spec: specs.Dict | None = None) -> Dataset:
    """One terminated episode of these actions, with observations 0, 1, 2, ..."""
    with EpisodeWriter(directory, spec, record_time=False) as writer, writer.episode() as episode:
        episode.start(0)
        for number, step in enumerate(steps, 1):
            episode.step(**{"action": 0, "reward": 0.0, **step}, observation=number, terminated=number == len(steps))
    return rlds_kit.open(directory)


def test_returns_by_hand(tmp_path: Path) -> None:
    """The definition, on an example small enough to check by hand."""
    steps = [{"reward": float(reward), "discount": discount} for reward, discount in ((1, 0.5), (2, 1.0), (4, 1.0))]
    batch = _write(tmp_path, steps).transitions(n=2, gamma=0.5).gather(range(3))
    assert batch["reward"].tolist() == [1 + 0.25 * 2, 2 + 0.5 * 4, 4]
    assert batch["discount"].tolist() == [0.25 * 0.5, 0, 0]
    assert batch["next_observation"].tolist() == [2, 3, 3]


def test_n_may_be_longer_than_any_episode() -> None:
    """Then rewards are summed until the end, at the cost of the longest episode only."""
    with recorded(plain(9, 30, reward="float64")) as dataset:
        batch = dataset.transitions(n=10**9, gamma=0.9).gather(range(37))
        expected = dataset.transitions(n=29, gamma=0.9).gather(range(37))
        assert batch["n_steps"].tolist() == expected["n_steps"].tolist()
        assert batch["reward"].tobytes() == expected["reward"].tobytes()


@pytest.mark.parametrize("infinite", [math.inf, -math.inf, math.nan])
def test_what_is_beyond_the_end_adds_nothing(tmp_path: Path, infinite: float) -> None:
    """The last reward is not weighed with zero for the steps that are not there: infinity times zero is no number."""
    steps = [{"reward": 1.0}, {"reward": infinite}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rewards = _write(tmp_path, steps).transitions(n=5).gather([0, 1])["reward"]
    np.testing.assert_array_equal(rewards, [infinite, infinite])


def test_a_discount_that_was_not_given_is_not_zero(tmp_path: Path) -> None:
    """A zero would mean that the step is terminal; without a discount only `gamma` is used."""
    spec = specs.Dict({"discount": specs.Array((), np.float64)})
    batch = _write(tmp_path, [{}, {"discount": 0.5}, {}, {}], spec).transitions(n=1, gamma=0.9).gather(range(4))
    np.testing.assert_allclose(batch["discount"], [0.9, 0.45, 0.9, 0])


def test_episodes_with_and_without_discounts_in_one_dataset(tmp_path: Path) -> None:
    """Where an episode has none its discounts are 1."""
    _write(tmp_path, [{"discount": 0.5}] * 3)
    batch = _write(tmp_path, [{}] * 3).transitions(n=2).gather(range(6))
    np.testing.assert_allclose(batch["discount"], [0.25, 0, 0, 1, 0, 0])


def test_a_reward_that_was_not_given_is_not_valid(tmp_path: Path) -> None:
    """It adds nothing to a sum, and the mask shows that the sum is incomplete."""
    dataset = _write(tmp_path, [{"reward": 1.0}, {"reward": None}, {"reward": 4.0}])
    batch = dataset.transitions(n=2).gather(range(3))
    assert batch["reward"].tolist() == [1, 4, 4]
    assert batch["valid"]["reward"].tolist() == [False, False, True]
    assert dataset.transitions().gather(range(3))["valid"]["reward"].tolist() == [True, False, True]


def test_rewards_of_several_types_are_summed(tmp_path: Path) -> None:
    """Without a spec, 0 and 0.5 have different types; their sum is a number nevertheless."""
    steps: list[dict[str, Any]] = [
        {"reward": 0, "discount": 1},
        {"reward": 0.5, "discount": 0.5},
        {"reward": True},
        {"reward": None},
    ]
    dataset = _write(tmp_path, steps)
    batch = dataset.transitions(n=2).gather(range(4))
    assert batch["reward"].dtype == batch["discount"].dtype == np.float64
    assert batch["reward"].tolist() == [0.5, 1, 1, 0]
    assert batch["discount"].tolist() == [0.5, 0.5, 0, 0]
    assert batch["valid"]["reward"].tolist() == [True, True, False, False]


def _record_vectors(directory: Path, declared: specs.Dict, acted: dict[str, Any]) -> Dataset:
    with Recorder(directory, declared) as recorder:
        episode = recorder.start_episode()
        for row in range(4):
            episode.append({"observation": row}, {"action": 0, **acted} if row else None)
        episode.end(EpisodeEnd.TRUNCATED)
    return rlds_kit.open(directory)


def test_vectors_of_rewards_and_discounts(tmp_path: Path) -> None:
    """Each part of a reward is discounted by the part of the discount in its place."""
    vector = specs.Array((2,), np.float64)
    declared = specs.Dict({"reward": vector, "discount": vector})
    acted = {"reward": np.array([1.0, 10.0]), "discount": np.array([0.5, 0.0])}
    batch = _record_vectors(tmp_path, declared, acted).transitions(n=3).gather(range(3))
    assert batch["reward"].tolist() == [[1.75, 10], [1.5, 10], [1, 10]]
    assert batch["discount"].tolist() == [[0.125, 0], [0.25, 0], [0.5, 0]]


def test_a_reward_cannot_be_discounted_by_a_vector(tmp_path: Path) -> None:
    """The meaning is ambiguous; shapes that happen to broadcast would give wrong results."""
    declared = specs.Dict({"reward": specs.Array((), np.float64), "discount": specs.Array((3,), np.float64)})
    samples = _record_vectors(tmp_path, declared, {"reward": 1.0, "discount": np.ones(3)}).transitions(n=3)
    with pytest.raises(SpecError, match=r"rewards of shape \(\), discounts of shape \(3,\)"):
        samples.gather(range(3))


def test_agents_have_discounts_of_their_own(tmp_path: Path) -> None:
    """Where rewards and discounts are keyed by agent, each reward is discounted by its agent's."""
    agents = specs.Dict({"ada": specs.Array((), np.float64), "bob": specs.Array((), np.float64)})
    declared = specs.Dict({"reward": agents, "discount": agents})
    acted = {"reward": {"ada": 1.0, "bob": 2.0}, "discount": {"ada": 0.5, "bob": 1.0}}
    batch = _record_vectors(tmp_path, declared, acted).transitions(n=2).gather([0])
    assert batch["reward"] == {"ada": [1.5], "bob": [4.0]}
    assert batch["discount"] == {"ada": [0.25], "bob": [1.0]}


def test_an_absent_agent_gets_nothing(tmp_path: Path) -> None:
    """The mask shows for each agent whether all of its rewards are defined."""
    spec = specs.Dict({"reward": specs.Dict({"ada": specs.Array((), np.float64), "bob": specs.Any()})})
    with Recorder(tmp_path, spec) as recorder:
        episode = recorder.start_episode()
        for row in range(4):
            reward = {"ada": 1.0, "bob": 2.0} if row != 2 else {"ada": 1.0}
            episode.append({"observation": row}, {"action": 0, "reward": reward} if row else None)
        episode.end(EpisodeEnd.TRUNCATED)
    batch = rlds_kit.open(tmp_path).transitions(n=2).gather(range(3))
    assert batch["reward"]["ada"].tolist() == [2, 2, 1]
    assert batch["reward"]["bob"].tolist() == [2, 2, 2]
    assert batch["valid"]["reward"]["ada"].tolist() == [True, True, True]
    assert batch["valid"]["reward"]["bob"].tolist() == [False, False, True]


def test_a_lost_number_of_steps_is_damage_not_a_join(tmp_path: Path) -> None:
    """An action that is missing in the middle means a gap; without the steps' numbers, steps must not be joined."""
    for spec, action in ((None, 1), (specs.Dict({"action": specs.Dict({"x": specs.Array((), np.int64)})}), {"x": 1})):
        directory = tmp_path / str(spec is None)
        with Recorder(directory, spec) as recorder:
            episode = recorder.start_episode()
            episode.append({"observation": 0})
            episode.append({"observation": 1}, {"action": action})
            episode.append({"observation": 2})  # as after a gap, but without `step_index`
            episode.append({"observation": 3}, {"action": action})
            episode.end(EpisodeEnd.TRUNCATED)
        with pytest.raises(rlds_kit.DamagedError, match="no action at step 1"):
            rlds_kit.open(directory).transitions().gather(range(3))


def test_rewards_alone_need_no_observation() -> None:
    """Whatever is left out with `select` is neither read nor in the batch."""
    with recorded(plain(4, observation="image")) as dataset:
        batch = dataset.select("reward").transitions(2).gather(range(3))
        assert batch.keys() >= {"reward", "discount", "is_first", "next_is_last", "next_is_terminal", "n_steps"}
        assert not batch.keys() & {"observation", "next_observation", "action"}
        assert batch["valid"].keys() == {"reward"}


def test_a_selected_part_of_the_observation_is_that_of_the_next_one_too() -> None:
    """And a selected part of the reward is summed as the whole would be."""
    with recorded(plain(5, observation="dict", reward="agents")) as dataset:
        whole = dataset.transitions(2).gather(range(4))
        part = dataset.select("observation/inner/x", "reward/ada").transitions(2).gather(range(4))
        assert part["next_observation"]["inner"]["x"].tolist() == whole["next_observation"]["inner"]["x"].tolist()
        assert part["reward"].keys() == {"ada"}
        assert part["reward"]["ada"].tolist() == whole["reward"]["ada"].tolist()


@given(plan=plans(max_episodes=3, reward="float64", discount="float64", is_scheduled=False), n=st.integers(1, 40))
@settings(max_examples=30)
def test_a_transition_does_not_depend_on_its_batch(plan: Plan, n: int) -> None:
    """Each sample by itself has the very bits that it has among all others: sums are not regrouped."""
    with recorded(replace(plan, info="none")) as dataset:
        samples = dataset.transitions(n, gamma=0.97)
        together = samples.gather(range(len(samples)))
        for number in range(0, len(samples), 7):
            alone = samples.gather([number])
            for name in ("reward", "discount"):
                assert alone[name].tobytes() == together[name][number : number + 1].tobytes()

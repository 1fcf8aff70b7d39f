"""Chunks: each field at its own offsets around a step, against a loop over every episode's steps."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit import Dataset, EpisodeEnd
from tests.loader.recording import EpisodePlan, Plan, plain, plans, recorded
from tests.loader.truth import ACTED, FLAGS, assert_batch, chunks, spec_leaves, true_episodes
from tests.repetitions import repetitions

Offsets = dict[str, list[int]]
reaches = st.lists(st.integers(-6, 6), min_size=1, max_size=5)
"""Also unsorted, repeated, of the past or of the future only."""


@st.composite
def _offsets(draw: st.DrawFn, plan: Plan) -> Offsets:
    names = [*sorted(plan.kinds), *FLAGS]
    return {name: draw(reaches) for name in draw(st.lists(st.sampled_from(names), min_size=1, unique=True))}


@pytest.mark.sweep
@given(plan=plans(), pad=st.sampled_from(("none", "zero", "repeat")), data=st.data())
@settings(max_examples=repetitions(60, least=24))
def test_chunks_are_what_a_loop_over_the_steps_gives(plan: Plan, pad: str, data: st.DataObject) -> None:
    """Every value and mask of every chunk of any dataset, and how many chunks there are."""
    offsets = data.draw(_offsets(plan))
    with recorded(plan) as dataset:
        _check(dataset, plan, offsets, pad)


@given(plan=plans(max_episodes=2), pad=st.sampled_from(("none", "repeat")), data=st.data())
@settings(max_examples=15)
def test_chunks_of_episodes_that_are_being_recorded(plan: Plan, pad: str, data: st.DataObject) -> None:
    """An open episode has no action on its latest step."""
    offsets = data.draw(_offsets(plan))
    with recorded(plan, include_open=True) as dataset:
        _check(dataset, plan, offsets, pad)


def _check(dataset: Dataset, plan: Plan, offsets: Offsets, pad: str) -> None:
    known = {*dataset.spec.fields, *FLAGS}
    offsets = {name: those for name, those in offsets.items() if name in known}
    if not offsets:  # only a dynamic field that no step has
        return
    samples = dataset.chunks(offsets, pad)  # type: ignore[arg-type]  # one of the literals
    episodes = true_episodes(dataset, offsets)
    spec = dataset.spec
    paths = {n: [n] if n in FLAGS else [path for path, _ in spec_leaves(spec, n)] for n in offsets}
    expected = chunks(episodes, offsets, pad, paths)
    assert len(samples) == len(expected)
    assert_batch(samples.gather(range(len(samples))), expected, spec)


@given(plan=plans(is_scheduled=True, reward="float64", discount="float32"), data=st.data())
@settings(max_examples=20)
def test_without_padding_every_value_is_defined(plan: Plan, data: st.DataObject) -> None:
    """Chunks around which something is missing are left out: before a gap, and at an end, there is no action."""
    whole = [EpisodePlan(each.length, each.ending, each.gaps) for each in plan.episodes]
    offsets = {name: data.draw(reaches) for name in ("observation", *ACTED)}
    with recorded(Plan(tuple(whole), plan.observation, reward="float64", discount="float32", is_scheduled=True)) as ds:
        samples = ds.chunks(offsets)
        valid = samples.gather(range(len(samples)))["valid"]
        assert all(array.all() for array in _arrays(valid))


def _arrays(nest: Any) -> list[np.ndarray]:
    if isinstance(nest, np.ndarray):
        return [nest]
    return [array for item in (nest.values() if isinstance(nest, dict) else nest) for array in _arrays(item)]


def test_a_history_and_a_chunk_of_actions() -> None:
    """The use that the name comes from: four observations up to now, and three actions from now on."""
    with recorded(plain(8, observation="scalar")) as dataset:
        observation, action = dataset.episodes[0]["observation"], dataset.episodes[0]["action"]
        samples = dataset.chunks({"observation": range(-3, 1), "action": range(3)})
        assert len(samples) == 2  # anchored at the steps 3 and 4
        batch = samples.gather([0, 1])
        assert batch["observation"].tolist() == [observation[0:4].tolist(), observation[1:5].tolist()]
        assert batch["action"].tolist() == [action[3:6].tolist(), action[4:7].tolist()]


@pytest.mark.parametrize(
    ("offsets", "count"),
    [
        ({"observation": [0]}, 5),
        ({"action": [0]}, 4),
        ({"action": [-1]}, 4),
        ({"action": [-2]}, 3),
        ({"action": [2, 1]}, 2),
        ({"observation": [2, 3]}, 2),
        ({"observation": [-4]}, 1),
        ({"observation": [5]}, 0),
        ({"observation": [-5]}, 0),
        ({"observation": [-2, 2], "reward": [1]}, 1),
        ({"is_last": [1]}, 4),
        ({"action/arm": [0]}, 4),
        ({"reward/ada": [0], "reward/bob": [1]}, 3),
    ],
)
def test_how_many_chunks_an_episode_has(offsets: Offsets, count: int) -> None:
    """Of five steps four have an action, which a part of an action knows too."""
    plan = plain(5, observation="scalar", action="dict", reward="agents")
    with recorded(plan) as dataset:
        samples = dataset.chunks(offsets)
        assert len(samples) == count
        assert all(array.all() for array in _arrays(samples.gather(range(count))["valid"]))


def test_repeated_and_unsorted_offsets_come_as_requested() -> None:
    """The order of the offsets is the order of the array."""
    with recorded(plain(4, observation="scalar")) as dataset:
        one = dataset.episodes[0]["observation"].tolist()
        batch = dataset.chunks({"observation": [1, -1, 1]}).gather([0])
        assert batch["observation"].tolist() == [[one[2], one[0], one[2]]]


def test_padding_stays_in_the_episode() -> None:
    """What stands where there is no step comes from the same episode, or is zero; an end still has no action."""
    with recorded(plain(2, 2, observation="scalar")) as dataset:
        first, second = (episode["observation"].tolist() for episode in dataset.episodes)
        offsets = {"observation": [-1, 1], "action": [0]}
        again = dataset.chunks(offsets, pad="repeat").gather(range(4))
        assert again["observation"].tolist() == [
            [first[0], first[1]],
            [first[0], first[1]],
            [second[0], second[1]],
            [second[0], second[1]],
        ]
        assert again["valid"]["action"].tolist() == [[True], [False], [True], [False]]
        zero = dataset.chunks(offsets, pad="zero").gather(range(4))
        assert zero["observation"].tolist() == [[0, first[1]], [first[0], 0], [0, second[1]], [second[0], 0]]
        assert zero["valid"]["observation"].tolist() == [[False, True], [True, False]] * 2


def test_each_field_has_a_length_of_its_own() -> None:
    """A batch of chunks is as long as the offsets of each field."""
    plan = Plan((EpisodePlan(9, EpisodeEnd.TRUNCATED),), observation="image", action="continuous")
    with recorded(plan) as dataset:
        batch = dataset.chunks({"observation": range(-2, 1), "action": range(4), "is_last": [0]}).gather(range(2))
        assert batch["observation"].shape == (2, 3, 8, 8, 3)
        assert batch["action"].shape == (2, 4, 2)
        assert batch["is_last"].shape == (2, 1)
        assert {name: array.shape for name, array in batch["valid"].items()} == {
            "observation": (2, 3),
            "action": (2, 4),
            "is_last": (2, 1),
        }

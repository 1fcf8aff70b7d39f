"""RLDS's notebook on patterns of Reverb, without Reverb, against NumPy and the shorter ways.

https://github.com/google-research/rlds/blob/main/rlds/examples/rlds_dataset_patterns.ipynb
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rlds_kit
from rlds_kit import transformations as rlt
from rlds_kit.base import rlds_types as rlds
from tests.pipelines.arrays import assert_fields, gathered, joined
from tests.pipelines.conftest import Reader
from tests.pipelines.recorded import Array, Played, Recorded


@pytest.fixture
def episodes(cartpole: Recorded, episodes_of: Reader) -> tf.data.Dataset:
    """Four terminated episodes of 12 to 18 actions, two truncated ones of 40."""
    return episodes_of(cartpole)


def get_sars_pattern(step: Any) -> dict[str, Any]:
    """A transition, from the two newest steps."""
    return {
        rlds.OBSERVATION: step[rlds.OBSERVATION][-2],
        rlds.ACTION: step[rlds.ACTION][-2],
        rlds.REWARD: step[rlds.REWARD][-2],
        "next_observation": step[rlds.OBSERVATION][-1],
    }


def sars(played: Played, rows: slice = slice(None)) -> dict[str, Array]:
    """Transitions of an episode, or some of them."""
    return {
        "observation": played.observations[:-1][rows],
        "action": played.actions[rows],
        "reward": played.rewards[rows],
        "next_observation": played.observations[1:][rows],
    }


def test_a_pattern_as_a_function(episodes: tf.data.Dataset, cartpole: Recorded) -> None:
    """`pattern_map_from_transform` gives the transitions that `transitions` gives, and the loader."""
    found = gathered(
        rlt.pattern_map_from_transform(
            episodes_dataset=episodes, transform_fn=get_sars_pattern, respect_episode_boundaries=True
        )
    )
    assert_fields(found, joined(sars(played) for played in cartpole.played))
    assert_fields(gathered(episodes.flat_map(lambda episode: rlt.transitions(episode[rlds.STEPS]))), found)
    assert_fields(joined(rlds_kit.open(cartpole.path).transitions().batches(64)), found)


def test_a_pattern_from_a_reference_step(episodes: tf.data.Dataset, cartpole: Recorded) -> None:
    """A condition on the number of the newest step, which is the second of a transition: 9 of the first 10 steps."""
    reference = rlt.create_reference_step(rlt.step_spec(episodes))
    condition = rlt.Condition.step_index() < 10
    config = rlt.create_config(get_sars_pattern(reference), table="transition", conditions=[condition])
    found = gathered(rlt.pattern_map(episodes_dataset=episodes, configs=[config], respect_episode_boundaries=True))
    assert_fields(found, joined(sars(played, slice(9)) for played in cartpole.played))


def test_a_condition_on_data(episodes: tf.data.Dataset, cartpole: Recorded) -> None:
    """Transitions that do not lead to a terminal state, by the value of a field of the newest step."""
    step_spec = rlt.step_spec(episodes)
    condition = rlt.Condition.data(step_spec)[rlds.IS_TERMINAL] == False  # noqa: E712  it builds a condition
    found = apply(episodes, [rlt.create_config(transition(step_spec), conditions=[condition])])
    whole = [sars(one, slice(len(one.actions) - one.terminated)) for one in cartpole.played]
    assert_fields(found, joined(whole))


def test_several_patterns(episodes: tf.data.Dataset, cartpole: Recorded) -> None:
    """Each config whose conditions are true gives an element: here the first and the last transition of an episode."""
    step_spec = rlt.step_spec(episodes)
    first = rlt.create_config(transition(step_spec), conditions=[rlt.Condition.step_index() == 1])
    last = rlt.create_config(transition(step_spec), conditions=[rlt.Condition.is_end_episode()])
    found = apply(episodes, [first, last])
    ends = (slice(1), slice(-1, None))
    assert_fields(found, joined(sars(played, rows) for played in cartpole.played for rows in ends))


def test_trajectories_of_the_five_newest_steps(episodes: tf.data.Dataset, cartpole: Recorded) -> None:
    """A slice gives a trajectory: windows of `windows`."""
    found = gathered(rlt.pattern_map_from_transform(episodes, lambda step: {"observation": step["observation"][-5:]}))
    rows = [np.arange(len(played) - 4)[:, None] + np.arange(5) for played in cartpole.played]
    expected = {
        "observation": np.concatenate(
            [played.observations[at] for played, at in zip(cartpole.played, rows, strict=True)]
        )
    }
    assert_fields(found, expected)
    windows = rlt.apply_nested_steps(episodes, lambda steps: rlt.windows(steps, 5))
    assert_fields(gathered(windows.flat_map(lambda episode: episode[rlds.STEPS])), expected)
    assert_fields(joined(rlds_kit.open(cartpole.path).windows(5).batches(64)), expected)


def test_episodes_run_into_each_other_on_request(episodes: tf.data.Dataset, cartpole: Recorded) -> None:
    """Without respect for boundaries the steps of all episodes are one stream."""
    found = gathered(rlt.pattern_map_from_transform(episodes, get_sars_pattern, respect_episode_boundaries=False))
    observations = np.concatenate([played.observations for played in cartpole.played])
    assert_fields(found, {"observation": observations[:-1], "next_observation": observations[1:]})


def transition(step_spec: Any) -> Any:
    """The pattern of a transition."""
    return rlt.pattern_from_transform(step_spec, get_sars_pattern)


def apply(episodes: tf.data.Dataset, configs: Sequence[Any]) -> Any:
    """All elements that patterns give."""
    return gathered(rlt.pattern_map(episodes, configs))

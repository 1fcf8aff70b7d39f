"""The pipelines of section 7 of the RLDS paper: as they are written there, in few lines, and with NumPy.

Ramos et al., "RLDS: an Ecosystem to Generate, Share and Use Datasets in Reinforcement Learning", 2021,
https://arxiv.org/abs/2111.02767. Two of its listings need a correction, which a comment explains.
"""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rlds_kit
from rlds_kit import transformations as rlt
from rlds_kit.base import rlds_types as rlds
from rlds_kit.tools import plot
from tests.pipelines.arrays import MODES, assert_fields, gathered, joined, transformed
from tests.pipelines.conftest import Groups, Reader
from tests.pipelines.recorded import ARM_STEPS, OBJECT, PROPRIOCEPTION, Array, Played, Recorded

STATES = [PROPRIOCEPTION, OBJECT]


def prepare_observation(step: rlds.Step) -> rlds.Step:
    """Selects the two states and joins them. Works on a step, on dense steps and on a batch."""
    observation = [step[rlds.OBSERVATION][key] for key in STATES]
    return {**step, rlds.OBSERVATION: tf.concat(observation, axis=-1)}


def state(played: Played) -> Array:
    """The joined states of an episode."""
    return np.concatenate([played.observations[key] for key in STATES], axis=-1)


def test_the_sample_of_k_episodes_is_the_same_each_time(arm: Recorded, episodes_of: Reader) -> None:
    """Listing a: with a seed and without reshuffling, every pass has the same K of the recorded episodes."""
    episodes = episodes_of(arm).shuffle(30, seed=42, reshuffle_each_iteration=False).take(4)
    first, second = ([episode["episode_id"].numpy().decode() for episode in episodes] for _ in range(2))
    assert first == second
    assert len(set(first)) == 4
    assert set(first) <= {str(episode.id) for episode in rlds_kit.open(arm.path).episodes}


def test_observations_are_joined(arm: Recorded, episodes_of: Reader) -> None:
    """Listing b: `map_nested_steps` puts both states in one vector, in every step."""
    episodes = rlt.map_nested_steps(episodes_of(arm), prepare_observation)
    for episode, played in zip(episodes, arm.played, strict=True):
        assert_fields(gathered(episode[rlds.STEPS]), {"observation": state(played), "tag:placed": played.placed})


def test_transitions_of_the_paper(arm: Recorded, episodes_of: Reader) -> None:
    """Listing c: pairs of steps become transitions."""

    def batch_to_transition(batch: rlds.BatchedStep) -> dict[str, Any]:
        return {
            "s_cur": batch[rlds.OBSERVATION][0],
            "a": batch[rlds.ACTION][0],
            "r": batch[rlds.REWARD][0],
            "s_next": batch[rlds.OBSERVATION][1],
        }

    def make_transition_dataset(episode: rlds.Episode) -> tf.data.Dataset:
        # The paper leaves out `drop_remainder`: then the last batch of an episode has no second observation.
        pairs = rlt.batch(episode[rlds.STEPS], size=2, shift=1, drop_remainder=True)
        return pairs.map(batch_to_transition)

    episodes = rlt.map_nested_steps(episodes_of(arm), prepare_observation)
    assert_fields(
        gathered(episodes.flat_map(make_transition_dataset)),
        joined(
            {"s_cur": state(one)[:-1], "a": one.actions, "r": one.rewards, "s_next": state(one)[1:]}
            for one in arm.played
        ),
    )


def test_pairs_without_drop_remainder_end_in_an_error(arm: Recorded, episodes_of: Reader) -> None:
    """Listing c as it is printed reads a second observation where there is one: an error, not a wrong value."""
    pairs = episodes_of(arm).flat_map(lambda episode: rlt.batch(episode[rlds.STEPS], size=2, shift=1))
    second = pairs.map(lambda batch: batch[rlds.OBSERVATION][OBJECT][1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
        list(second)


@pytest.mark.parametrize("mode", MODES)
def test_transitions_in_short(arm: Recorded, episodes_of: Reader, mode: str) -> None:
    """`transitions` makes the same of whole episodes."""
    for found, played in zip(transformed(episodes_of(arm), rlt.transitions, mode), arm.played, strict=True):
        assert_fields(prepare_observation(found)["observation"].numpy(), state(played)[:-1])
        assert_fields(found, transitions_of(played))


def test_transitions_of_dense_episodes(arm: Recorded) -> None:
    """From the files of whole episodes to a stream of transitions: `map` and `unbatch`."""
    episodes = rlds_kit.open(arm.path).as_dense_tf_dataset()
    stream = episodes.map(lambda episode: rlt.transitions(prepare_observation(episode["steps"]))).unbatch()
    expected = [{**transitions_of(one), "observation": state(one)[:-1]} for one in arm.played]
    for one, played in zip(expected, arm.played, strict=True):
        one["next_observation"] = state(played)[1:]
    assert_fields(gathered(stream), joined(expected))


def test_transitions_with_numpy(arm: Recorded) -> None:
    """The loader hands out the same transitions, of chosen episodes and fields, and needs no TensorFlow."""
    dataset = rlds_kit.open(arm.path)
    chosen = np.random.default_rng(42).choice(len(dataset.episodes), 4, replace=False)
    small = dataset.take(chosen).select(*(f"observation/{key}" for key in STATES), "action", "reward")
    found = joined(small.transitions().batches(50))
    expected = joined(transitions_of(arm.played[number]) for number in chosen)
    for name in ("observation", "next_observation"):
        assert found[name].keys() == {*STATES}
        expected[name] = {key: expected[name][key] for key in STATES}
    assert_fields(found, expected)


def transitions_of(played: Played) -> dict[str, Any]:
    """The transitions of an episode."""
    return {
        "observation": tf.nest.map_structure(lambda array: array[:-1], played.observations),
        "action": played.actions,
        "reward": played.rewards,
        "next_observation": tf.nest.map_structure(lambda array: array[1:], played.observations),
        "next_is_terminal": played.terminated & (np.arange(len(played.actions)) == len(played.actions) - 1),
    }


def test_the_paper_s_absorbing_states(cartpole: Recorded, episodes_of: Reader) -> None:
    """The listing, with Python's `if` in `map_nested_steps`, gives two zeroed steps at the end of what terminated."""

    def duplicate_terminal_step(steps: tf.data.Dataset) -> tf.data.Dataset:
        return rlt.concat_if_terminal(steps, make_extra_steps=tf.data.Dataset.from_tensors)

    def convert_to_absorbing_state(step: rlds.Step) -> rlds.Step:
        # The paper concatenates a bool to floats, which TensorFlow refuses.
        padding = tf.cast(step[rlds.IS_TERMINAL], tf.float32)
        if step[rlds.IS_TERMINAL]:
            step[rlds.OBSERVATION] = tf.zeros_like(step[rlds.OBSERVATION])
            step[rlds.ACTION] = tf.zeros_like(step[rlds.ACTION])
            step[rlds.IS_TERMINAL] = False
            step[rlds.IS_LAST] = False
        step[rlds.OBSERVATION] = tf.concat([step[rlds.OBSERVATION], [padding]], 0)
        return step

    episodes = rlt.apply_nested_steps(episodes_of(cartpole), duplicate_terminal_step)
    episodes = rlt.map_nested_steps(episodes, convert_to_absorbing_state)
    for episode, played in zip(episodes, cartpole.played, strict=True):
        steps = gathered(episode[rlds.STEPS])
        assert_fields(steps, {"observation": with_bit(played), "action": actions_of_steps(played)})
        assert not steps[rlds.IS_TERMINAL].any()
        assert steps[rlds.IS_LAST].any() == (not played.terminated)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
def test_absorbing_states_in_short(cartpole: Recorded, episodes_of: Reader, mode: str) -> None:
    """`add_absorbing_states` gives the same observations and actions, and flags of an episode as well."""
    found = transformed(episodes_of(cartpole), rlt.add_absorbing_states, mode)
    for steps, played in zip(found, cartpole.played, strict=True):
        assert_fields(joined_bit(steps, "observation", "is_absorbing"), with_bit(played))
        assert_fields(steps, {"action": actions_of_steps(played)})
        assert not steps[rlds.IS_TERMINAL].any()
        assert steps[rlds.IS_LAST].tolist() == [False] * (len(steps[rlds.IS_LAST]) - 1) + [True]


def test_transitions_to_the_absorbing_state(cartpole: Recorded) -> None:
    """Both steps compose; after every terminal transition there is one from the absorbing state to itself."""
    episodes = rlds_kit.open(cartpole.path).as_dense_tf_dataset()
    stream = episodes.map(lambda episode: rlt.transitions(rlt.add_absorbing_states(episode["steps"]))).unbatch()
    found = gathered(stream)
    expected = joined({"now": with_bit(one)[:-1], "next": with_bit(one)[1:]} for one in cartpole.played)
    assert_fields(joined_bit(found, "observation", "is_absorbing"), expected["now"])
    assert_fields(found["next_observation"], expected["next"][:, :-1])
    assert (found["discount"] == 1).all()


def test_absorbing_states_with_numpy(cartpole: Recorded) -> None:
    """A function of a batch does it for the loader: zeros and a bit, and a transition more for each terminal one."""

    def absorb(batch: dict[str, Any]) -> dict[str, Array]:
        ends = batch["next_is_terminal"]
        now = np.pad(batch["observation"], [(0, 0), (0, 1)])
        then = np.where(ends[:, None], 0, np.pad(batch["next_observation"], [(0, 0), (0, 1)]))
        then[:, -1] = ends
        return {
            "observation": np.concatenate([now, then[ends]]),
            "next_observation": np.concatenate([then, then[ends]]),
            "action": np.concatenate([batch["action"], np.zeros_like(batch["action"][ends])]),
        }

    found = joined(absorb(batch) for batch in rlds_kit.open(cartpole.path).transitions().batches(32))
    expected = joined(
        {"action": actions_of_steps(one)[:-1], "now": with_bit(one)[:-1], "next": with_bit(one)[1:]}
        for one in cartpole.played
    )
    for name, other in (("observation", "now"), ("next_observation", "next"), ("action", "action")):
        assert sorted(row.tobytes() for row in found[name]) == sorted(row.tobytes() for row in expected[other])


def with_bit(played: Played) -> Array:
    """Observations with the bit of the absorbing state; of a terminated episode the last two are that state."""
    rows = np.pad(played.observations, [(0, played.terminated), (0, 1)])
    if played.terminated:
        rows[-2:] = 0
        rows[-2:, -1] = 1
    return rows


def actions_of_steps(played: Played) -> Array:
    """Actions with a zero for each step that has none."""
    return np.pad(played.actions, (0, 1 + played.terminated))


def joined_bit(steps: dict[str, Array], observation: str, bit: str) -> Array:
    """Observations with a bool field as their last element."""
    return np.concatenate([steps[observation], steps[bit][:, None].astype(np.float32)], axis=1)


def test_returns_up_to_the_tag_of_the_paper(arm: Recorded, episodes_of: Reader) -> None:
    """The listing sums the rewards up to and including the one beside the tag."""

    def placed_tag_is_set(step: rlds.Step) -> tf.Tensor:
        return tf.not_equal(tf.math.count_nonzero(step["tag:placed"]), 0)

    def compute_return(steps: tf.data.Dataset) -> tf.Tensor:
        steps = rlt.truncate_after_condition(steps, truncate_condition=placed_tag_is_set)
        return rlt.sum_dataset(steps, lambda step: step[rlds.REWARD])

    returns = episodes_of(arm).map(lambda episode: compute_return(episode[rlds.STEPS]))
    expected = [one.rewards[: tagged(one) + 1].sum() for one in arm.played]
    np.testing.assert_allclose(list(returns.as_numpy_iterator()), expected, rtol=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
def test_returns_up_to_the_tag_in_short(arm: Recorded, episodes_of: Reader, mode: str) -> None:
    """`truncate` makes the tagged step the last one, which has no reward: what follows the tag does not count.

    The reward beside the tag is that of the next action. The paper's listing counts it, this one does not.
    """

    def compute_return(steps: Any) -> Any:
        return rlt.returns(rlt.truncate(steps, "tag:placed"))

    found = transformed(episodes_of(arm), compute_return, mode)
    expected = [one.rewards[: tagged(one)].sum() for one in arm.played]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_returns_up_to_the_tag_with_numpy(arm: Recorded) -> None:
    """An episode's fields are arrays, and only two small ones are read."""

    def compute_return(episode: rlds_kit.Episode) -> float:
        placed = np.append(np.flatnonzero(episode["tag:placed"]), episode.length - 1)[0]
        return float(episode["reward"][:placed].sum())

    found = [compute_return(episode) for episode in rlds_kit.open(arm.path).episodes]
    np.testing.assert_allclose(found, [one.rewards[: tagged(one)].sum() for one in arm.played], rtol=1e-5)


def test_rewards_of_several_datasets(groups: Groups) -> None:
    """The last listing treats all datasets alike. It counts one undefined zero per episode."""
    for group in groups.values():
        for found in group.values():
            episodes = rlds_kit.open(found.path).as_tf_dataset().take(2)
            steps = episodes.flat_map(lambda episode: episode[rlds.STEPS])
            expected = [one.rewards for one in found.played[:2]]
            assert_rewards(steps, np.concatenate([[*one, 0.0] for one in expected]))
            assert_rewards(steps.filter(lambda step: ~step[rlds.IS_LAST]), np.concatenate(expected))


def test_returns_of_several_datasets(groups: Groups) -> None:
    """`plot.count` puts the returns of each group into shared bins; tf.data gives the same returns."""
    for name, group in groups.items():
        datasets = {agent: rlds_kit.open(found.path) for agent, found in group.items()}
        (returns,) = plot.count(datasets).returns
        for agent, found in group.items():
            expected = [one.rewards.sum() for one in found.played]
            episodes = datasets[agent].as_dense_tf_dataset()
            of_tf_data = episodes.map(lambda episode: rlt.returns(episode["steps"]))
            np.testing.assert_allclose(list(of_tf_data.as_numpy_iterator()), expected, err_msg=f"{name}, {agent}")
            assert returns.datasets[agent].bins == tuple(np.histogram(expected, returns.edges)[0])
            assert returns.datasets[agent].total == len(expected)


def test_a_figure_of_several_datasets(groups: Groups) -> None:
    """`plot.histograms` draws the paper's figure 4: a panel of returns with a colour for each dataset."""
    pytest.importorskip("matplotlib", reason="needs the extra `plot`")
    for group in groups.values():
        figure = plot.histograms({agent: rlds_kit.open(found.path) for agent, found in group.items()})
        assert figure.axes[0].get_title("left") == "return"
        assert [text.get_text().split(":")[0] for text in figure.legends[0].get_texts()] == list(group)


def assert_rewards(steps: tf.data.Dataset, expected: Array) -> None:
    """Asserts that a stream of steps has these rewards."""
    rewards = steps.map(lambda step: step[rlds.REWARD])
    np.testing.assert_array_equal(list(rewards.as_numpy_iterator()), expected)


def tagged(played: Played) -> int:
    """The number of the tagged step, or of the last one."""
    return int(np.append(np.flatnonzero(played.placed), ARM_STEPS - 1)[0])

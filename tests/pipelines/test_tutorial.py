"""The cells of RLDS's tutorial notebook, on recorded episodes: unchanged, and with newer functions.

https://github.com/google-research/rlds/blob/main/rlds/examples/rlds_tutorial.ipynb. Three cells contradict their text
(n-step transitions, the change of alignment, the end of a truncated episode); the tests of these say how.
"""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rlds_kit
from rlds_kit import transformations as rlt
from rlds_kit.base import rlds_types as rlds
from tests.pipelines.arrays import MODES, assert_fields, gathered, joined, transformed
from tests.pipelines.conftest import Reader
from tests.pipelines.recorded import Array, Played, Recorded


@pytest.fixture
def episodes(pendulum: Recorded, episodes_of: Reader) -> tf.data.Dataset:
    """Four episodes of 30 actions, with rewards of many values."""
    return episodes_of(pendulum)


def with_zero(values: Array) -> Array:
    """What is defined for every action, with the zero that stands on the last step."""
    return np.concatenate([values, np.zeros_like(values[:1])])


def all_of(recorded: Recorded, field: str) -> Array:
    """A field of all episodes, without undefined values."""
    return np.concatenate([getattr(one, field) for one in recorded.played])


def test_take_and_skip_whole_episodes(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """A dataset of episodes is an ordinary `tf.data.Dataset`."""
    (second, third) = episodes.skip(1).take(2)
    for episode, played in zip((second, third), pendulum.played[1:3], strict=True):
        assert_fields(gathered(episode[rlds.STEPS]), {"observation": played.observations})


def test_episodes_become_a_stream_of_steps(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`flat_map` joins the steps of all episodes."""
    steps = gathered(episodes.flat_map(lambda episode: episode[rlds.STEPS]))
    assert_fields(steps, {"observation": all_of(pendulum, "observations")})


def test_a_step_and_an_episode_of_zeros(episodes: tf.data.Dataset) -> None:
    """`zeros_from_spec` and `zero_dataset_like` give what has the same fields, and zeros in them."""
    spec = episodes.element_spec
    metadata = rlt.zeros_from_spec({name: one for name, one in spec.items() if name != rlds.STEPS})
    episode = rlds.build_episode(steps=rlt.zero_dataset_like(spec[rlds.STEPS]), metadata=metadata)
    (step,) = episode[rlds.STEPS]
    tf.nest.assert_same_structure(step, rlt.zeros_from_spec(rlt.step_spec(episodes)))
    assert (step["observation"].numpy() == 0).all()
    assert episode["episode_id"].numpy() == b""


def test_observations_shift(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`shift_keys` by -2 gives each step the observation of two steps before; the first two steps go."""

    def shift_episode(episode: rlds.Episode) -> rlds.Episode:
        episode[rlds.STEPS] = rlt.shift_keys(episode[rlds.STEPS], [rlds.OBSERVATION], -2)
        return episode

    for episode, played in zip(episodes.map(shift_episode), pendulum.played, strict=True):
        expected = {"observation": played.observations[:-2], "action": with_zero(played.actions)[2:]}
        assert_fields(gathered(episode[rlds.STEPS]), expected)


def test_a_condition_ends_episodes(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`truncate_after_condition` returns the steps up to the one that meets the condition."""
    shortened = episodes.map(
        lambda episode: rlt.truncate_after_condition(episode[rlds.STEPS], lambda step: step[rlds.REWARD] < -6.0)
    )
    for steps, played in zip(shortened, pendulum.played, strict=True):
        end = np.append(np.flatnonzero(played.rewards < -6), len(played) - 1)[0]
        assert_fields(gathered(steps), {"reward": with_zero(played.rewards)[: end + 1]})


@pytest.mark.thorough
def test_a_step_of_zeros_at_the_end(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`concatenate` with a step of zeros."""

    def concatenate_episode(episode: rlds.Episode) -> rlds.Episode:
        zero = rlt.zero_dataset_like(episodes.element_spec[rlds.STEPS])
        episode[rlds.STEPS] = rlt.concatenate(episode[rlds.STEPS], zero)
        return episode

    for episode, played in zip(episodes.map(concatenate_episode), pendulum.played, strict=True):
        assert_fields(gathered(episode[rlds.STEPS]), {"observation": with_zero(played.observations)})


def test_a_step_that_says_it_is_padding(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`concatenate` fills up fields that one side lacks, on both sides."""

    def concatenate_episode(episode: rlds.Episode) -> rlds.Episode:
        padding = tf.data.Dataset.from_tensors({"is_padding": [True]})
        episode[rlds.STEPS] = rlt.concatenate(episode[rlds.STEPS], padding)
        return episode

    for episode, played in zip(episodes.map(concatenate_episode), pendulum.played, strict=True):
        is_padding = np.arange(len(played) + 1)[:, None] == len(played)
        expected = {"observation": with_zero(played.observations), "is_padding": is_padding}
        assert_fields(gathered(episode[rlds.STEPS]), expected)


def test_a_step_for_terminal_states_only(cartpole: Recorded, episodes_of: Reader) -> None:
    """`concat_if_terminal` leaves truncated episodes as they are."""
    spec = episodes_of(cartpole).element_spec[rlds.STEPS]

    def concatenate_episode(episode: rlds.Episode) -> rlds.Episode:
        episode[rlds.STEPS] = rlt.concat_if_terminal(episode[rlds.STEPS], lambda _: rlt.zero_dataset_like(spec))
        return episode

    lengths = [
        len(gathered(episode[rlds.STEPS])["observation"]) for episode in episodes_of(cartpole).map(concatenate_episode)
    ]
    assert lengths == [len(played) + played.terminated for played in cartpole.played]


def test_batches_with_gaps_between_them(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`batch` with a shift above its size leaves steps out."""
    (first, *_) = episodes.map(lambda episode: rlt.batch(episode[rlds.STEPS], size=2, shift=3))
    found = [batch["observation"].numpy() for batch in first]
    observations = pendulum.played[0].observations
    assert [batch.tolist() for batch in found] == [observations[at : at + 2].tolist() for at in range(0, 31, 3)]


def test_batches_of_whole_episodes(cartpole: Recorded, episodes_of: Reader) -> None:
    """The notebook batches episodes as they are, and nothing can take these apart; `pad_episodes` makes them alike."""
    (batch,) = rlt.pad_episodes(episodes_of(cartpole), length=41).batch(6)
    for number, played in enumerate(cartpole.played):
        assert_fields(batch[rlds.STEPS]["observation"][number, : len(played)].numpy(), played.observations)
        assert batch[rlds.STEPS]["mask"][number].numpy().tolist() == (np.arange(41) < len(played)).tolist()


def test_sums_over_the_dataset(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`sum_nested_steps` with Python's `if`, which leaves the last step out."""

    def get_data(step: rlds.Step) -> dict[str, tf.Tensor]:
        if step[rlds.IS_LAST]:
            return {key: tf.zeros_like(step[key]) for key in (rlds.REWARD, rlds.ACTION)}
        return {key: step[key] for key in (rlds.REWARD, rlds.ACTION)}

    total = rlt.sum_nested_steps(episodes, get_data)
    np.testing.assert_allclose(total[rlds.REWARD], all_of(pendulum, "rewards").sum())
    np.testing.assert_allclose(total[rlds.ACTION], all_of(pendulum, "actions").sum(axis=0), atol=1e-4)


def test_returns_as_metadata(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`sum_dataset` for each episode, and `returns` instead of it."""

    def add_total_reward(episode: rlds.Episode) -> rlds.Episode:
        steps = episode[rlds.STEPS]
        total = rlt.sum_dataset(steps, lambda step: step[rlds.REWARD])
        return {**episode, "total_reward": total, "return": rlt.returns(steps)}

    for episode, played in zip(episodes.map(add_total_reward), pendulum.played, strict=True):
        np.testing.assert_allclose(episode["total_reward"], played.rewards.sum())
        np.testing.assert_allclose(episode["return"], played.rewards.sum())


def test_lengths(cartpole: Recorded, episodes_of: Reader) -> None:
    """`episode_length`; `Dataset.lengths` knows without reading an episode."""
    lengths = episodes_of(cartpole).map(lambda episode: rlt.episode_length(episode[rlds.STEPS]))
    expected = [len(played) for played in cartpole.played]
    assert list(lengths.as_numpy_iterator()) == expected == rlds_kit.open(cartpole.path).lengths()


def test_mean_and_standard_deviation(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`mean_and_std` with the mask for SAR alignment leaves out what is undefined, as `episode_statistics` does."""
    mean, std = rlt.mean_and_std(episodes, rlt.sar_fields_mask)
    statistics = rlt.episode_statistics(episodes)
    for key, field in (("observation", "observations"), ("action", "actions"), ("reward", "rewards")):
        values = all_of(pendulum, field).astype(np.float64)
        np.testing.assert_allclose(mean[key], values.mean(axis=0))
        np.testing.assert_allclose(std[key], values.std(axis=0, ddof=1))
        np.testing.assert_allclose(statistics[key].mean, values.mean(axis=0))
        np.testing.assert_allclose(statistics[key].std, values.std(axis=0))


def test_mean_with_a_mask_of_one_s_own(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """A mask may be Python's True and False."""

    def get_data(step: rlds.Step) -> tuple[dict[str, Any], dict[str, Any]]:
        mask = {rlds.REWARD: False} if step[rlds.IS_LAST] else {rlds.REWARD: True}
        return {rlds.REWARD: step[rlds.REWARD]}, mask

    mean, std = rlt.mean_and_std(episodes, get_data)
    rewards = all_of(pendulum, "rewards")
    np.testing.assert_allclose([mean[rlds.REWARD], std[rlds.REWARD]], [rewards.mean(), rewards.std(ddof=1)])


@pytest.mark.thorough
def test_normalization(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """By hand with `map_nested_steps`, and with `normalize`: the same but for the definition of the deviation."""
    mean, std = rlt.mean_and_std(episodes, rlt.sar_fields_mask)
    shift = -mean[rlds.OBSERVATION].numpy()
    scale = 1.0 / np.maximum(std[rlds.OBSERVATION], 1e-3)

    def normalize_observations(step: rlds.Step) -> rlds.Step:
        step[rlds.OBSERVATION] = (tf.cast(step[rlds.OBSERVATION], tf.float64) + shift) * scale
        return step

    statistics = rlt.episode_statistics(episodes)
    by_hand = rlt.map_nested_steps(episodes, normalize_observations)
    short = episodes.map(lambda episode: rlt.normalize(episode[rlds.STEPS], statistics, ["observation"]))
    values = all_of(pendulum, "observations").astype(np.float64)
    for episode, steps, played in zip(by_hand, short, pendulum.played, strict=True):
        centered = played.observations - values.mean(axis=0)
        for found, deviation in ((episode[rlds.STEPS], values.std(axis=0, ddof=1)), (steps, values.std(axis=0))):
            np.testing.assert_allclose(gathered(found)["observation"], centered / deviation, atol=1e-5)


def test_filter_by_mean_reward(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """The mean over actions, for which the last step's zero and the last step itself do not count.

    The notebook's text keeps what is above a bound and its code what is below.
    """

    def add_average(episode: rlds.Episode) -> rlds.Episode:
        steps = episode[rlds.STEPS]
        count = tf.cast(rlt.episode_length(steps), tf.float64) - 1
        total = rlt.sum_dataset(steps, lambda step: step[rlds.REWARD] * tf.cast(~step[rlds.IS_LAST], tf.float64))
        return {**episode, "avg_reward": total / count}

    averages = [played.rewards.mean() for played in pendulum.played]
    bound = float(np.median(averages))
    kept = episodes.map(add_average).filter(lambda episode: episode["avg_reward"] > bound)
    found = [episode["avg_reward"].numpy() for episode in kept]
    np.testing.assert_allclose(found, [average for average in averages if average > bound])


def test_episodes_of_limited_length(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`take` cuts, and leaves an episode without a last step; `truncate` gives it one, without its reward."""
    cut = rlt.apply_nested_steps(episodes, lambda steps: steps.take(20))
    ended = rlt.apply_nested_steps(
        episodes, lambda steps: rlt.truncate(steps, lambda dense: tf.range(tf.size(dense["reward"])) == 19)
    )
    for one, other, played in zip(cut, ended, pendulum.played, strict=True):
        steps, with_end = gathered(one[rlds.STEPS]), gathered(other[rlds.STEPS])
        assert_fields(steps, {"reward": played.rewards[:20], "is_last": np.zeros(20, bool)})
        assert_fields(with_end, {"reward": with_zero(played.rewards[:19]), "is_last": np.arange(20) == 19})
        assert_fields(with_end, {"observation": played.observations[:20]})


def test_sars_transitions(cartpole: Recorded, episodes_of: Reader) -> None:
    """The notebook's transitions, which are nested in episodes, are those of `transitions`."""

    def steps_to_transition(step: rlds.BatchedStep) -> rlds.Step:
        new_step = {key: step[key][0] for key in step}
        new_step["next_observation"] = step[rlds.OBSERVATION][1]
        new_step["next_is_terminal"] = step[rlds.IS_TERMINAL][1]
        new_step["next_is_last"] = step[rlds.IS_LAST][1]
        return new_step

    def episode_steps_to_transition(episode: rlds.Episode) -> rlds.Episode:
        pairs = rlt.batch(episode[rlds.STEPS], size=2, shift=1, drop_remainder=True)
        episode[rlds.STEPS] = pairs.map(steps_to_transition)
        return episode

    episodes = episodes_of(cartpole)
    short = rlt.apply_nested_steps(episodes, rlt.transitions)
    fields = ["observation", "action", "reward", "is_first"]
    fields += ["next_observation", "next_is_terminal", "next_is_last"]
    for one, other in zip(episodes.map(episode_steps_to_transition), short, strict=True):
        expected = gathered(one[rlds.STEPS])
        assert_fields(gathered(other[rlds.STEPS]), {name: expected[name] for name in fields})


def test_n_step_transitions_of_the_notebook(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """`batch` with `size=n` sums n rewards, but the observation in the last row is n-1 steps ahead.

    A window of n + 1 steps is right: rewards of the first n, the observation of the last. The full windows are
    those transitions of `transitions(n=4)` that sum four rewards; it also has the shorter ones at the end.
    """

    def steps_to_n_step_transition(step: rlds.BatchedStep) -> rlds.Step:
        return {
            "observation": step[rlds.OBSERVATION][0],
            "reward": tf.reduce_sum(step[rlds.REWARD][:-1]),
            "next_observation": step[rlds.OBSERVATION][-1],
        }

    def windows(episode: rlds.Episode, size: int) -> tf.data.Dataset:
        return rlt.batch(episode[rlds.STEPS], size=size, shift=1, drop_remainder=True)

    four = gathered(episodes.flat_map(lambda episode: windows(episode, 5).map(steps_to_n_step_transition)))
    expected = joined(n_step(played, 4) for played in pendulum.played)
    is_whole = expected.pop("n_steps") == 4
    for name in ("observation", "reward", "next_observation"):
        np.testing.assert_allclose(four[name], expected[name][is_whole])
    one_too_few = gathered(episodes.flat_map(lambda episode: windows(episode, 4)))["observation"][:, -1]
    assert not np.array_equal(one_too_few[:27], four["next_observation"][:27])
    np.testing.assert_array_equal(one_too_few[1:27], four["next_observation"][:26])


@pytest.mark.parametrize("mode", MODES)
def test_n_step_transitions(cartpole: Recorded, episodes_of: Reader, mode: str) -> None:
    """`transitions(n, gamma)` discounts, stops at the end of the episode, and has the number of summed rewards."""
    found = transformed(episodes_of(cartpole), lambda steps: rlt.transitions(steps, n=4, gamma=0.9), mode)
    for steps, played in zip(found, cartpole.played, strict=True):
        for name, values in n_step(played, 4, 0.9).items():
            np.testing.assert_allclose(steps[name], values, err_msg=name)


def test_n_step_transitions_with_numpy(cartpole: Recorded) -> None:
    """The loader's are the same."""
    dataset = rlds_kit.open(cartpole.path).select("observation", "action", "reward", "discount")
    found = joined(dataset.transitions(n=4, gamma=0.9).batches(64))
    expected = joined(n_step(played, 4, 0.9) for played in cartpole.played)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, err_msg=name)


def test_the_alignment_of_the_notebook(episodes: tf.data.Dataset, pendulum: Recorded) -> None:
    """The notebook shifts by -1, which puts each action beside the observation before; +1 is the way to ARS."""

    def sar_to_ars(episode: rlds.Episode, shift: int) -> tf.data.Dataset:
        steps = episode[rlds.STEPS]
        steps = rlt.concatenate(rlt.zero_dataset_like(steps), steps)
        keys = [rlds.OBSERVATION, rlds.IS_FIRST, rlds.IS_LAST, rlds.IS_TERMINAL]  # the notebook forgets `is_last`
        steps = rlt.shift_keys(steps, keys, shift)
        return steps.map(lambda step: rlt.add_alignment_to_step(step, rlt.AlignmentType.ARS))

    played = pendulum.played[0]
    (wrong, *_) = episodes.map(lambda episode: sar_to_ars(episode, -1))
    expected = {"action": with_zero(played.actions)[1:], "observation": played.observations[:-1]}
    assert_fields(tf.nest.map_structure(lambda array: array[1:], gathered(wrong)), expected)

    (right, *_) = episodes.map(lambda episode: sar_to_ars(episode, 1))
    zero_first = np.concatenate([np.zeros_like(played.actions[:1]), played.actions])
    expected = {"action": zero_first, "observation": played.observations, "is_last": np.arange(31) == 30}
    assert_fields(gathered(right), expected)
    assert (gathered(right)["alignment"] == rlt.AlignmentType.ARS.value).all()


@pytest.mark.parametrize("mode", MODES)
def test_alignment_in_short(episodes: tf.data.Dataset, pendulum: Recorded, mode: str) -> None:
    """`to_alignment` moves action and reward instead, so that flags and other fields need not be named."""

    def to_ars(steps: Any) -> Any:
        return rlt.to_alignment(steps, rlt.AlignmentType.ARS)

    for found, played in zip(transformed(episodes, to_ars, mode), pendulum.played, strict=True):
        expected = {
            "observation": played.observations,
            "action": np.concatenate([np.zeros_like(played.actions[:1]), played.actions]),
            "reward": np.concatenate([[0.0], played.rewards]),
            "is_last": np.arange(len(played)) == len(played) - 1,
        }
        assert_fields(found, expected)


def test_a_tag_becomes_the_end(arm: Recorded, episodes_of: Reader) -> None:
    """By hand the terminal flag is set; `truncate` also sets `is_last`, and clears what followed."""

    def set_terminal(step: rlds.Step) -> rlds.Step:
        step[rlds.IS_TERMINAL] = step[rlds.IS_TERMINAL] | step["tag:placed"]
        return step

    def cut(steps: tf.data.Dataset) -> tf.data.Dataset:
        return rlt.truncate_after_condition(steps, lambda step: step["tag:placed"]).map(set_terminal)

    by_hand = rlt.apply_nested_steps(episodes_of(arm), cut)
    short = rlt.apply_nested_steps(episodes_of(arm), lambda steps: rlt.truncate(steps, "tag:placed", True))
    for one, other, played in zip(by_hand, short, arm.played, strict=True):
        old, new = gathered(one[rlds.STEPS]), gathered(other[rlds.STEPS])
        end = np.append(np.flatnonzero(played.placed), len(played) - 1)[0]
        is_end = np.arange(end + 1) == end
        is_placed = played.placed[: end + 1]
        assert_fields(old, {"is_terminal": is_placed, "is_last": is_end & (end == len(played) - 1)})
        assert_fields(new, {"is_terminal": is_placed, "is_last": is_end})
        assert_fields(new, {"reward": with_zero(played.rewards[:end]), "observation": old["observation"]})


def n_step(played: Played, n: int, gamma: float = 1.0) -> dict[str, Array]:
    """The n-step transitions of an episode without discounts of its own, one by one."""
    count = len(played.actions)
    ends = [min(start + n, count) for start in range(count)]
    rewards = [
        sum(reward * gamma**k for k, reward in enumerate(played.rewards[start:end])) for start, end in enumerate(ends)
    ]
    reached = [0.0 if end == count and played.terminated else gamma ** (end - start) for start, end in enumerate(ends)]
    return {
        "observation": played.observations[:-1],
        "action": played.actions,
        "reward": np.array(rewards),
        "next_observation": played.observations[ends],
        "discount": np.array(reached),
        "n_steps": np.array([end - start for start, end in enumerate(ends)], np.int32),
    }

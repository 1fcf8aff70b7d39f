"""The calls of rlds's notebooks and of Acme's dataset functions, on a local build of the features that they load.

Tutorial, examples, performance, dataset patterns: https://github.com/google-research/rlds/tree/main/rlds/examples.
Acme: https://github.com/google-deepmind/acme/blob/master/acme/datasets/tfds.py.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from rlds_kit.compat import reverb, rlds
from rlds_kit.compat.rlds import tfds as rlds_tfds

LENGTHS = (6, 4)
"""Steps of each episode, the last one included."""
Array = np.ndarray[Any, np.dtype[Any]]


class Transition(NamedTuple):
    """Acme's."""

    observation: Any
    action: Any
    reward: Any
    discount: Any
    next_observation: Any


def played(number: int) -> dict[str, Array]:
    """Steps of an episode with the features of `d4rl_mujoco_walker2d`. The first one ends, the other is cut off."""
    rng, count = np.random.default_rng(number), LENGTHS[number]
    rows = np.arange(count)
    return {
        rlds.OBSERVATION: rng.normal(size=(count, 17)).astype(np.float32),
        rlds.ACTION: rng.normal(size=(count, 6)).astype(np.float32),
        rlds.REWARD: (rows + 1).astype(np.float32),
        rlds.DISCOUNT: np.ones(count, np.float32),
        rlds.IS_FIRST: rows == 0,
        rlds.IS_LAST: rows == count - 1,
        rlds.IS_TERMINAL: (rows == count - 1) & (number == 0),
    }


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Written with `rlds.tfds` and loaded by TFDS alone, as the notebooks load theirs."""
    path = tmp_path_factory.mktemp("walker")
    steps = tf.data.DatasetSpec.from_value(tf.data.Dataset.from_tensors({k: v[0] for k, v in played(0).items()}))
    config = rlds_tfds.generate_config_from_spec({rlds.STEPS: steps, "episode_id": tf.TensorSpec([], tf.int64)})
    writer = rlds_tfds.episode_writer.EpisodeWriter(str(path), config, max_episodes_per_file=1)
    for number in range(len(LENGTHS)):
        writer.add_episode({rlds.STEPS: tf.data.Dataset.from_tensor_slices(played(number)), "episode_id": number})
    writer.close()
    return tfds.builder_from_directory(str(path)).as_dataset(split="train")


def stacked(steps: Any) -> Any:
    """All elements of a dataset."""
    return next(iter(tfds.as_numpy(steps.batch(10**6))))


def test_tutorial_steps_and_zeros(episodes: Any) -> None:
    """A flat dataset of steps; a step and an episode of zeros, made from specs."""
    steps = stacked(episodes.flat_map(lambda episode: episode[rlds.STEPS]))
    assert steps[rlds.REWARD].tolist() == [1, 2, 3, 4, 5, 6, 1, 2, 3, 4]
    spec = episodes.element_spec[rlds.STEPS]
    zeros = rlds.transformations.zeros_from_spec(spec.element_spec)
    assert zeros[rlds.OBSERVATION].numpy().tolist() == [0.0] * 17
    rest = {name: episodes.element_spec[name] for name in episodes.element_spec if name != rlds.STEPS}
    episode = rlds.build_episode(
        steps=rlds.transformations.zero_dataset_like(spec), metadata=rlds.transformations.zeros_from_spec(rest)
    )
    assert (len(episode[rlds.STEPS]), int(episode["episode_id"])) == (1, 0)


def test_tutorial_alignment_and_absorbing_states(episodes: Any) -> None:
    """`shift_keys` moves fields; `concat_if_terminal` adds a step to the episode that ended, and to no other."""

    def shifted(episode: Any) -> Any:
        return rlds.transformations.shift_keys(episode[rlds.STEPS], [rlds.OBSERVATION], 1)

    found = stacked(episodes.flat_map(shifted))
    assert np.array_equal(found[rlds.OBSERVATION][:5], played(0)[rlds.OBSERVATION][1:])

    def absorbing(step: Any) -> Any:
        zeros = rlds.transformations.zero_dataset_like(episodes.element_spec[rlds.STEPS])
        return zeros.map(lambda each: {**each, rlds.IS_LAST: True, rlds.OBSERVATION: step[rlds.OBSERVATION]})

    longer = rlds.transformations.apply_nested_steps(
        episodes, lambda steps: rlds.transformations.concat_if_terminal(steps, absorbing)
    )
    assert [len(list(episode[rlds.STEPS])) for episode in longer] == [7, 4]


def test_tutorial_truncation_lengths_and_last_steps(episodes: Any) -> None:
    """`truncate_after_condition`, `episode_length`, `final_step`, and `batch` for transitions."""
    cut = rlds.transformations.apply_nested_steps(
        episodes,
        lambda steps: rlds.transformations.truncate_after_condition(steps, lambda step: step[rlds.REWARD] >= 3),
    )
    lengths = [int(rlds.transformations.episode_length(episode[rlds.STEPS])) for episode in cut]
    assert lengths == [3, 3]
    last = [float(rlds.transformations.final_step(episode[rlds.STEPS])[rlds.REWARD]) for episode in episodes]
    assert last == [6, 4]

    def pairs(steps: Any) -> Any:
        batched = rlds.transformations.batch(steps, size=2, shift=1, drop_remainder=True)
        return batched.map(lambda pair: {"now": pair[rlds.REWARD][0], "next": pair[rlds.REWARD][1]})

    made = rlds.transformations.apply_nested_steps(episodes, pairs)
    assert stacked(made.flat_map(lambda episode: episode[rlds.STEPS]))["next"].tolist() == [2, 3, 4, 5, 6, 2, 3, 4]


def test_examples_statistics_and_normalisation(episodes: Any) -> None:
    """`mean_and_std` over valid fields, then `map_nested_steps`; sums, nested and flat, by module and by name."""
    mean, std = rlds.transformations.mean_and_std(episodes, rlds.transformations.sar_fields_mask)
    seen = np.concatenate([played(number)[rlds.OBSERVATION] for number in range(2)])
    assert np.allclose(mean[rlds.OBSERVATION], seen.mean(axis=0), atol=1e-6)

    def normal(step: Any) -> Any:
        seen = tf.cast(step[rlds.OBSERVATION], tf.float64)
        return {**step, rlds.OBSERVATION: (seen - mean[rlds.OBSERVATION]) / std[rlds.OBSERVATION]}

    normalised = rlds.transformations.map_nested_steps(episodes, normal)
    found = stacked(normalised.flat_map(lambda episode: episode[rlds.STEPS]))[rlds.OBSERVATION]
    assert np.allclose(found.mean(axis=0), 0, atol=1e-5)
    total = rlds.transformations.sum_nested_steps(episodes, lambda step: step[rlds.REWARD])
    sums = [
        float(rlds.transformations.nested_ops.sum_dataset(episode[rlds.STEPS], lambda step: step[rlds.REWARD]))
        for episode in episodes
    ]
    assert (sums, float(total)) == ([21, 10], 31)


def test_performance_batched_maps(episodes: Any) -> None:
    """`map_nested_steps` gives the same whatever the size of its batches, and where it chooses them."""

    def doubled(step: Any) -> Any:
        return {**step, rlds.REWARD: step[rlds.REWARD] * 2}

    for size in (1, 3, rlds.transformations.BATCH_AUTO_TUNE):
        found = rlds.transformations.map_nested_steps(episodes, doubled, optimization_batch_size=size)
        rewards = stacked(found.flat_map(lambda episode: episode[rlds.STEPS]))[rlds.REWARD]
        assert rewards.tolist() == [2, 4, 6, 8, 10, 12, 2, 4, 6, 8]


def transition(step: Any) -> dict[str, Any]:
    """A pattern."""
    return {
        rlds.OBSERVATION: step[rlds.OBSERVATION][-2],
        rlds.REWARD: step[rlds.REWARD][-2],
        "next_observation": step[rlds.OBSERVATION][-1],
    }


def test_patterns_on_episodes_and_on_steps(episodes: Any) -> None:
    """`PatternDataset` on a flat dataset of steps gives what `pattern_map` gives, in the spec that was inferred."""
    spec = rlds.transformations.step_spec(episodes)
    writer = reverb.structured_writer
    config = writer.create_config(writer.pattern_from_transform(spec, transition), table="unused")
    signature = writer.infer_signature([config], spec)
    assert signature["next_observation"] == tf.TensorSpec([17], tf.float32, "next_observation")
    steps = episodes.flat_map(lambda episode: episode[rlds.STEPS])
    by_steps = reverb.PatternDataset(steps, [config], True, lambda step: step[rlds.IS_LAST])
    assert by_steps.element_spec == {name: tf.TensorSpec(each.shape, each.dtype) for name, each in signature.items()}
    by_episodes = rlds.transformations.pattern_map(episodes, [config])
    by_transform = rlds.transformations.pattern_map_from_transform(episodes, transition)
    wanted = stacked(by_episodes)
    assert wanted[rlds.REWARD].tolist() == [1, 2, 3, 4, 5, 1, 2, 3]
    for found in (stacked(by_steps), stacked(by_transform)):
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_the_end_of_an_episode_is_what_the_function_says(episodes: Any) -> None:
    """And a pattern that takes `is_last` gets the step's own; step indices and conditions on data hold as they do."""
    steps = episodes.flat_map(lambda episode: episode[rlds.STEPS])
    writer, spec = reverb.structured_writer, steps.element_spec
    pattern = writer.pattern_from_transform(
        spec, lambda step: {"r": step[rlds.REWARD][-2:], "l": step[rlds.IS_LAST][-1]}
    )
    whole = writer.create_config(pattern)
    found = stacked(reverb.PatternDataset(steps, [whole], True, lambda step: step[rlds.REWARD] == 2))
    assert found["r"].tolist() == [[1, 2], [3, 4], [4, 5], [5, 6], [6, 1], [1, 2], [3, 4]]
    assert found["l"].tolist() == [False, False, False, True, False, False, True]
    crossing = stacked(reverb.PatternDataset(steps, [whole], False, lambda step: step[rlds.IS_LAST]))
    assert len(crossing["r"]) == 9
    early = writer.create_config(pattern, conditions=[writer.Condition.step_index() == 1])
    assert stacked(reverb.PatternDataset(steps, [early], True, lambda step: step[rlds.IS_LAST]))["r"].tolist() == [
        [1, 2],
        [1, 2],
    ]
    paid = writer.create_config(pattern, conditions=[writer.Condition.data(spec)[rlds.REWARD] == 4])
    assert len(stacked(reverb.PatternDataset(steps, [paid], True, lambda step: step[rlds.IS_LAST]))["r"]) == 2


def test_signatures_of_several_configs(episodes: Any) -> None:
    """Where they take different numbers of steps the size is None; tables must agree, as Reverb wants it."""
    spec, writer = rlds.transformations.step_spec(episodes), reverb.structured_writer
    rewards = [writer.pattern_from_transform(spec, lambda step, n=n: (step[rlds.REWARD][-n:],)) for n in (2, 3)]
    configs = [writer.create_config(pattern, table="t") for pattern in rewards]
    assert writer.infer_signature(configs, spec) == (tf.TensorSpec([None], tf.float32, "0"),)
    with pytest.raises(ValueError, match="expected configs for one table, got 'other', 't'"):
        writer.infer_signature([configs[0], writer.create_config(rewards[1], table="other")], spec)
    with pytest.raises(ValueError, match="the steps have no tensor"):
        writer.infer_signature(configs, {"other": tf.TensorSpec([], tf.float32)})


def test_acme_transitions(episodes: Any) -> None:
    """The whole episode as one batch, cut into transitions; the discount is that of the next step's end."""

    def transitions(episode: Any) -> Any:
        steps = tf.data.experimental.get_single_element(episode["steps"].batch(1_000_000_000))
        return tf.data.Dataset.from_tensor_slices(
            Transition(
                observation=steps["observation"][:-1],
                action=steps["action"][:-1],
                reward=steps["reward"][:-1],
                discount=1.0 - tf.cast(steps["is_terminal"][1:], tf.float32),
                next_observation=steps["observation"][1:],
            )
        )

    found = stacked(episodes.flat_map(transitions))
    assert found.reward.tolist() == [1, 2, 3, 4, 5, 1, 2, 3]
    assert found.discount.tolist() == [1, 1, 1, 1, 0, 1, 1, 1]
    assert np.array_equal(found.next_observation[:5], played(0)[rlds.OBSERVATION][1:])


def test_datasets_of_the_library_pass(tmp_path: Path) -> None:
    """A recording gives the same form, so the same program runs on it."""
    import rlds_kit
    from rlds_kit.logger import EpisodeWriter

    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(np.zeros(2, np.float32))
        episode.step(action=np.int64(1), reward=np.float32(2), observation=np.ones(2, np.float32), terminated=True)
    dataset = rlds_kit.open(tmp_path).as_tf_dataset()
    assert rlds.rlds_types.is_valid_rlds_dataset(dataset)
    assert float(rlds.transformations.sum_nested_steps(dataset, lambda step: step[rlds.REWARD])) == 2

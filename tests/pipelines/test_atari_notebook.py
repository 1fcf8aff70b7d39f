"""RLDS's notebook on the Atari data of RL Unplugged: part of every checkpoint, mixed, as n-step stacks of frames.

https://github.com/google-research/rlds/blob/main/rlds/examples/tfds_rlu_atari.ipynb. Its transitions leave out the
first three steps of an episode, whose stacks would be incomplete, and the last n - 1, whose sums would.
"""

import functools
from collections.abc import Callable
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

STACK, GAMMA = 4, 0.9


def stacks(played: Played) -> Array:
    """The last four frames at each step, the first one repeated before the start: `[T, 84, 84, 4]`."""
    frames = played.observations[..., 0]
    rows = np.maximum(np.arange(len(played))[:, None] + np.arange(1 - STACK, 1), 0)
    return np.moveaxis(frames[rows], 1, -1)


def expected(played: Played, n: int) -> dict[str, Array]:
    """The n-step transitions of an episode in the notebook's form, one for every action."""
    count = len(played.actions)
    ends = [min(start + n, count) for start in range(count)]
    sums = [
        sum(reward * GAMMA**k for k, reward in enumerate(played.rewards[start:end])) for start, end in enumerate(ends)
    ]
    return {
        "states": stacks(played)[:-1],
        "action": played.actions,
        "reward": np.array(sums),
        "next_states": stacks(played)[ends],
        "terminal": np.array([end == count and played.terminated for end in ends]),
        "next_action": np.append(played.actions, 0)[ends],
    }


def of_notebook(n: int) -> Callable[[rlds.Episode], tf.data.Dataset]:
    """From an episode to transitions, by way of windows of all the steps that one needs."""

    def to_transition(window: rlds.BatchedStep) -> dict[str, Any]:
        frames = tf.transpose(tf.squeeze(window[rlds.OBSERVATION], axis=-1), perm=[1, 2, 0])
        discounts = tf.constant(GAMMA, tf.float64) ** np.arange(n)
        return {
            "states": frames[:, :, :STACK],
            "action": window[rlds.ACTION][STACK - 1],
            "reward": tf.reduce_sum(window[rlds.REWARD][STACK - 1 : -1] * discounts),
            "next_states": frames[:, :, n:],
            "terminal": tf.reduce_any(window[rlds.IS_TERMINAL][STACK:]),
            "next_action": window[rlds.ACTION][STACK + n - 1],
        }

    def make_transitions(episode: rlds.Episode) -> tf.data.Dataset:
        windows = rlt.batch(episode[rlds.STEPS], size=STACK + n, shift=1, drop_remainder=True)
        return windows.map(to_transition)

    return make_transitions


def in_short(steps: Any, n: int) -> Any:
    """The same from `frame_stack` and `transitions`; what is part of the observation has its next value, too."""
    steps = rlt.frame_stack(rlt.to_dense(steps) if isinstance(steps, tf.data.Dataset) else steps, STACK)
    steps = {**steps, "observation": {"frames": steps["observation"], "action": steps["action"]}}
    found = rlt.transitions(steps, n=n, gamma=GAMMA)
    return {
        "states": _channels_last(found["observation"]["frames"]),
        "action": found["action"],
        "reward": found["reward"],
        "next_states": _channels_last(found["next_observation"]["frames"]),
        "terminal": found["next_is_terminal"],
        "next_action": found["next_observation"]["action"],
    }


def _channels_last(frames: tf.Tensor) -> tf.Tensor:
    return tf.transpose(tf.squeeze(frames, axis=-1), [0, 2, 3, 1])


@pytest.mark.parametrize("n", [1, 3])
def test_the_notebook_s_transitions(breakout: Recorded, episodes_of: Reader, n: int) -> None:
    """They are those that start at the fourth step or later, and sum n rewards."""
    found = gathered(episodes_of(breakout).flat_map(of_notebook(n)))
    whole = joined(
        {name: values[STACK - 1 : len(played.actions) - n + 1] for name, values in expected(played, n).items()}
        for played in breakout.played
    )
    np.testing.assert_allclose(found.pop("reward"), whole.pop("reward"))
    assert_fields(found, whole)


@pytest.mark.thorough
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_transitions_in_short(breakout: Recorded, episodes_of: Reader, mode: str, n: int) -> None:
    """`frame_stack` and `transitions` give these and the ones at both ends of an episode."""
    for found, played in zip(
        transformed(episodes_of(breakout), lambda steps: in_short(steps, n), mode), breakout.played, strict=True
    ):
        all_of_them = expected(played, n)
        np.testing.assert_allclose(found.pop("reward"), all_of_them.pop("reward"))
        assert_fields(found, all_of_them)


def test_part_of_every_checkpoint_mixed(breakout: Recorded) -> None:
    """The notebook's loader: some episodes of each checkpoint, interleaved and shuffled; nothing is lost or doubled."""
    dataset = rlds_kit.open(breakout.path)
    first, second = (dataset.where(functools.partial(is_of, checkpoint)).as_tf_dataset() for checkpoint in range(2))
    episodes = first.take(2).concatenate(second.take(1))
    mixed = (
        episodes.shuffle(1000)
        .interleave(of_notebook(1), cycle_length=3, block_length=1, num_parallel_calls=2, deterministic=False)
        .shuffle(50_000)
        .batch(7)
    )
    batches = [tf.nest.map_structure(lambda leaf: leaf.numpy(), batch) for batch in mixed]
    chosen = breakout.played[:3]
    whole = joined({name: array[STACK - 1 :] for name, array in expected(one, 1).items()} for one in chosen)
    assert _sorted(joined(batches)) == _sorted(whole)


def test_part_of_every_checkpoint_in_proportion(breakout: Recorded) -> None:
    """`interleave` takes transitions of checkpoints in exact shares, here twice as many of the first."""

    def stream(checkpoint: int) -> tf.data.Dataset:
        episodes = rlds_kit.open(breakout.path).where(functools.partial(is_of, checkpoint)).as_tf_dataset()
        return episodes.flat_map(of_notebook(1)).map(lambda one: {"checkpoint": checkpoint, "states": one["states"]})

    found = gathered(rlt.interleave([stream(0), stream(1)], [2, 1], stop_on_empty=False))
    assert [found["checkpoint"][:count].tolist().count(0) for count in range(3, 31, 3)] == list(range(2, 21, 2))
    for checkpoint, played in enumerate((breakout.played[:2], breakout.played[2:])):
        wanted = np.concatenate([stacks(one)[STACK - 1 : -1] for one in played])
        np.testing.assert_array_equal(found["states"][found["checkpoint"] == checkpoint], wanted)


def is_of(checkpoint: int, metadata: dict[str, Any]) -> bool:
    """Whether an episode was played by that version of the agent."""
    return bool(metadata["checkpoint_id"] == checkpoint)


def test_stacks_with_numpy(breakout: Recorded) -> None:
    """Chunks of five frames hold a stack and the next one; the loader shuffles all samples without a buffer."""
    offsets = {"observation": range(1 - STACK, 2), "action": range(2), "reward": [0], "is_terminal": [1]}
    samples = rlds_kit.open(breakout.path).chunks(offsets, pad="repeat")

    def to_transitions(batch: dict[str, Any]) -> dict[str, Array]:
        taken = batch["valid"]["action"][:, 0]  # the last step of an episode has no action
        frames = np.moveaxis(batch["observation"][taken][..., 0], 1, -1)
        return {
            "states": frames[..., :STACK],
            "action": batch["action"][taken, 0],
            "reward": batch["reward"][taken, 0],
            "next_states": frames[..., 1:],
            "terminal": batch["is_terminal"][taken, 0],
            "next_action": np.where(batch["valid"]["action"], batch["action"], 0)[taken, 1],
        }

    found = joined(to_transitions(batch) for batch in samples.batches(32, shuffle="global", seed=1))
    assert _sorted(found) == _sorted(joined(expected(played, 1) for played in breakout.played))


def _sorted(transitions: dict[str, Array]) -> list[tuple[bytes, ...]]:
    """Transitions in an order that does not depend on the one they came in."""
    columns = [[row.tobytes() for row in transitions[name]] for name in sorted(transitions)]
    return sorted(zip(*columns, strict=True))

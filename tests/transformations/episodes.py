"""Random episodes in RLDS form: a NumPy builder, Hypothesis strategies, and the modes in which TensorFlow runs."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import tensorflow as tf
from hypothesis import strategies as st

from rlds_kit.transformations import to_dense

Steps: TypeAlias = dict[str, Any]
"""The steps of one episode: a dict, nested or not, of NumPy arrays `[T, ...]`."""

End: TypeAlias = Literal["terminated", "truncated", "interrupted"]
ENDS: Final[tuple[End, ...]] = ("terminated", "truncated", "interrupted")
OBSERVATIONS: Final = ("vector", "image", "text", "nested")
MODES: Final = ("eager, dense", "eager, dataset", "function, dense", "map, dense", "map, nested")


def make_steps(
    length: int,
    *,
    seed: int = 0,
    end: End = "terminated",
    observation: str = "vector",
    step_index: Sequence[int] | None = None,
    final_observation: bool = True,
    undefined: Literal["zeros", "garbage"] = "zeros",
) -> Steps:
    """Make the steps of an episode of `length` steps with random content.

    Args:
      length: T, the number of steps; may be 0.
      seed: of the content.
      end: sets the flags of the last step.
      observation: one of `OBSERVATIONS`.
      step_index: the step's own numbers, where a scheduler left steps out.
      final_observation: if False, there is a field `observation_valid`, False on the last step.
      undefined: what stands in undefined rows of action, reward, discount and observation.
    """
    rng = np.random.default_rng(seed)
    steps: Steps = {
        "observation": _observation(rng, length, observation),
        "action": rng.normal(size=(length, 2)).astype(np.float32),
        "reward": rng.normal(size=length).astype(np.float32),
        "discount": rng.uniform(0.5, 1, length).astype(np.float32),
        "is_first": np.arange(length) == 0,
        "is_last": np.arange(length) == length - 1,
        "is_terminal": (np.arange(length) == length - 1) & (end == "terminated"),
        "tag:placed": rng.random(length) < 0.2,
        "info": {"lives": rng.integers(0, 5, length, np.int32)},
    }
    if end == "terminated":
        steps["discount"][-2:-1] = 0
    if step_index is not None:
        steps["step_index"] = np.asarray(step_index, np.int64)
    for field in ("action", "reward", "discount"):
        _undefine(steps[field], ~taken(steps), undefined)
    if not final_observation:
        steps["observation_valid"] = ~steps["is_last"]
        tf.nest.map_structure(lambda leaf: _undefine(leaf, steps["is_last"], undefined), steps["observation"])
    return steps


def taken(steps: Steps) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return `[T]`: whether the action of a step leads to the step after it; the mask of action, reward, discount."""
    length = len(steps["is_first"])
    index = steps.get("step_index", np.arange(length))
    return np.array([k + 1 < length and index[k + 1] == index[k] + 1 for k in range(length)], bool)


def without(steps: Steps, *fields: str) -> Steps:
    """Return the steps without some of their fields."""
    return {name: value for name, value in steps.items() if name not in fields}


@st.composite
def step_indices(draw: st.DrawFn, length: int) -> list[int]:
    """Draw increasing numbers of steps: now and then one or more were left out."""
    jumps = draw(st.lists(st.sampled_from([1, 1, 1, 1, 2, 7]), min_size=length, max_size=length))
    return [int(number) for number in np.cumsum(jumps) - 1]


@st.composite
def episode_steps(
    draw: st.DrawFn,
    *,
    min_length: int = 1,
    max_length: int = 50,
    gaps: bool = True,
    final_observation: bool = False,
    optional: Sequence[str] = ("discount", "is_terminal"),
) -> Steps:
    """Draw the steps of an episode: any end, any kind of observation, some with garbage in undefined rows.

    Args:
      draw: of Hypothesis.
      min_length: smallest number of steps.
      max_length: largest number of steps.
      gaps: whether steps may have been left out.
      final_observation: if True, it is never missing.
      optional: fields that may be absent.
    """
    length = draw(st.integers(min_length, max_length))
    steps = make_steps(
        length,
        seed=draw(st.integers(0, 2**32 - 1)),
        end=draw(st.sampled_from(ENDS)),
        observation=draw(st.sampled_from(OBSERVATIONS)),
        step_index=draw(st.none() | step_indices(length)) if gaps else None,
        final_observation=final_observation or draw(st.booleans()),
        undefined=draw(st.sampled_from(["zeros", "garbage"])),
    )
    return without(steps, *[field for field in optional if draw(st.booleans())])


def to_tensors(steps: Steps) -> Any:
    """Return the dense form of the steps."""
    return tf.nest.map_structure(tf.constant, steps)


def to_dataset(steps: Steps) -> tf.data.Dataset:
    """Return the steps as a dataset of single steps."""
    return tf.data.Dataset.from_tensor_slices(to_tensors(steps))


def to_dense_episodes(episodes: Sequence[Any]) -> tf.data.Dataset:
    """Return a dataset with one dense element per episode, whose number of steps is unknown when it is traced."""
    parts = [tf.data.Dataset.from_tensors(to_tensors(episode)) for episode in episodes]
    empty = tf.nest.map_structure(lambda leaf: leaf[:0], to_tensors(episodes[0]))
    dataset = tf.data.Dataset.from_tensors(empty).take(0)
    for part in parts:
        dataset = dataset.concatenate(part)
    return dataset


def to_numpy(result: Any) -> Any:
    """Return a result, dense or a dataset of steps, as a nest of NumPy arrays."""
    dense = to_dense(result) if isinstance(result, tf.data.Dataset) else result
    return tf.nest.map_structure(lambda leaf: np.asarray(leaf.numpy()), dense)


def run(function: Callable[[Any], Any], steps: Steps, mode: str) -> Any:
    """Return `function(steps)` as NumPy, computed in one of `MODES`."""
    if mode == "eager, dense":
        return to_numpy(function(to_tensors(steps)))
    if mode == "eager, dataset":
        return to_numpy(function(to_dataset(steps)))
    episodes = to_dense_episodes([steps])
    if mode == "function, dense":
        return to_numpy(tf.function(function, input_signature=[episodes.element_spec])(to_tensors(steps)))
    if mode == "map, dense":
        (result,) = episodes.map(function)
        return to_numpy(result)
    nested = episodes.map(lambda dense: {"id": 7, "steps": tf.data.Dataset.from_tensor_slices(dense)})
    (episode,) = nested.map(lambda episode: {**episode, "steps": function(episode["steps"])})
    return to_numpy(episode["steps"])


def assert_same(actual: Any, expected: Any) -> None:
    """Assert that two nests of arrays have the same fields, dtypes, shapes and values, bit for bit."""
    tf.nest.assert_same_structure(actual, expected)
    for (path, value), wanted in zip(_leaves(actual), tf.nest.flatten(expected), strict=True):
        assert value.dtype == np.asarray(wanted).dtype, path
        np.testing.assert_array_equal(value, wanted, err_msg=path)
        assert value.dtype == object or value.tobytes() == np.ascontiguousarray(wanted).tobytes(), path


def _leaves(tree: Any, path: str = "") -> list[tuple[str, Any]]:
    if not isinstance(tree, dict):
        return [(path, tree)]
    return [leaf for key in sorted(tree) for leaf in _leaves(tree[key], f"{path}/{key}")]


def _observation(rng: np.random.Generator, length: int, kind: str) -> Any:
    if kind == "vector":
        return rng.normal(size=(length, 3)).astype(np.float32)
    if kind == "image":
        return rng.integers(0, 256, (length, 4, 5, 3), np.uint8)
    if kind == "text":
        return np.array([b"%d" % number for number in rng.integers(0, 10**9, length)], object)
    return {"camera": _observation(rng, length, "image"), "goal": {"words": _observation(rng, length, "text")}}


def _undefine(array: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], undefined: str) -> None:
    filler: Any = b"" if array.dtype == object else 0
    if undefined == "garbage":
        filler = {"f": np.nan, "u": 255, "i": -1, "b": True, "O": b"garbage"}[array.dtype.kind]
    array[rows] = filler

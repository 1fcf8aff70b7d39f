"""What is not the steps of one episode is refused, by every function, with an error that says what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rlds_kit.transformations.absorbing import add_absorbing_states
from rlds_kit.transformations.alignment import AlignmentType, to_alignment
from rlds_kit.transformations.relabel import relabel
from rlds_kit.transformations.returns import returns, returns_to_go
from rlds_kit.transformations.transitions import transitions
from rlds_kit.transformations.truncate import truncate
from rlds_kit.transformations.windows import chunks, windows
from tests.transformations.episodes import make_steps, to_dataset, to_dense_episodes, to_tensors

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "transitions": transitions,
    "n-step transitions": lambda steps: transitions(steps, 3),
    "windows": lambda steps: windows(steps, 2),
    "chunks": lambda steps: chunks(steps, {"action": range(2)}),
    "to_alignment": lambda steps: to_alignment(steps, AlignmentType.ARS),
    "add_absorbing_states": add_absorbing_states,
    "truncate": lambda steps: truncate(steps, "tag:placed"),
    "returns": returns,
    "returns_to_go": returns_to_go,
    "relabel": lambda steps: relabel(steps, lambda dense: dense["reward"]),
}
every_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())


@every_function
def test_datasets_of_episodes(function: Callable[[Any], Any]) -> None:
    """A dataset of episodes is one level too many; the error shows how to go down."""
    episodes = tf.data.Dataset.from_tensors({"id": 7, "steps": to_dataset(make_steps(3))})
    with pytest.raises(ValueError, match=r"got a dataset of episodes with fields id, steps; .*episodes\.map\("):
        function(episodes)


@every_function
def test_an_episode(function: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match="got an episode with fields steps"):
        function({"steps": to_dataset(make_steps(3))})


@every_function
def test_no_dict(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"expected the steps of one episode, .*; got a dataset of TensorSpec"):
        function(tf.data.Dataset.range(3))
    with pytest.raises(TypeError, match=r"expected the steps of one episode, .*; got list"):
        function([1, 2])


@every_function
def test_no_fields(function: Callable[[Any], Any]) -> None:
    """Steps have fields at all."""
    with pytest.raises(ValueError, match="got steps without fields"):
        function({})


@every_function
def test_ragged_fields(function: Callable[[Any], Any]) -> None:
    """Dense steps have tensors only; the error names the field that is none, in either form."""
    steps = to_tensors(make_steps(2)) | {"info": {"points": tf.ragged.constant([[1], [2, 3]])}}
    with pytest.raises(TypeError, match="'info/points' is of type RaggedTensor"):
        function(steps)
    with pytest.raises(TypeError, match="'info/points' is of type RaggedTensorSpec"):
        function(tf.data.Dataset.from_tensor_slices(steps))


@every_function
def test_a_single_step(function: Callable[[Any], Any]) -> None:
    """A single step has no dimension of time."""
    step = tf.nest.map_structure(lambda leaf: leaf[0], to_tensors(make_steps(3)))
    with pytest.raises(ValueError, match="one row for each step; the field 'reward' is a scalar"):
        function({name: step[name] for name in ("reward", "action")})


@every_function
def test_steps_of_several_episodes(function: Callable[[Any], Any]) -> None:
    """Nothing is joined across episodes that were flattened too early."""
    flat = to_dense_episodes([make_steps(3), make_steps(2)]).flat_map(tf.data.Dataset.from_tensor_slices)
    with pytest.raises(tf.errors.InvalidArgumentError, match="these are the steps of several"):
        function(flat)


@every_function
def test_batched_episodes(function: Callable[[Any], Any]) -> None:
    """Episodes are transformed before they are batched."""
    (batch,) = to_dense_episodes([make_steps(3)] * 2).batch(2)
    with pytest.raises(ValueError, match=r"got \(2, 3\). Transform episodes before they are batched"):
        function(batch)


@every_function
def test_fields_of_different_lengths(function: Callable[[Any], Any]) -> None:
    """An observation more than there are actions is an error; the error counts the rows."""
    steps = to_tensors(make_steps(3) | {"observation": np.zeros((4, 2))})
    with pytest.raises(ValueError, match=r"expected as many rows in each field .* action: 3, .*observation: 4"):
        function(steps)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"transitions", "to_alignment", "add_absorbing_states"}))
def test_fields_of_different_lengths_in_a_graph(name: str) -> None:
    """The same where the lengths are known only when the graph runs."""
    episodes = to_dense_episodes([make_steps(3), make_steps(2)])
    longer = episodes.map(lambda steps: steps | {"observation": tf.concat([steps["observation"]] * 2, 0)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected as many rows in each field"):
        list(longer.map(FUNCTIONS[name]))


@pytest.mark.parametrize("name", ["transitions", "to_alignment", "add_absorbing_states"])
def test_what_only_slices_keeps_different_lengths(name: str) -> None:
    """Functions that do not relate rows to each other leave it to what follows, which sees it as well."""
    episodes = to_dense_episodes([make_steps(3, end="truncated"), make_steps(2, end="truncated")])
    longer = episodes.map(lambda steps: steps | {"observation": tf.concat([steps["observation"]] * 2, 0)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same batch size"):
        list(longer.map(FUNCTIONS[name]).rebatch(2))


@every_function
def test_arrays_of_numpy(function: Callable[[Any], Any]) -> None:
    """Dense steps may have NumPy arrays; the result has tensors."""
    assert all(isinstance(leaf, tf.Tensor) for leaf in tf.nest.flatten(function(make_steps(3))))

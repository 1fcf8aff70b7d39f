"""Patterns over datasets of episodes, against a queue in Python that does what Reverb's writer does."""

from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations import (
    Condition,
    PatternConfig,
    batch,
    create_config,
    create_reference_step,
    pattern_dataset,
    pattern_map,
    pattern_map_from_transform,
    step_spec,
)

Steps = dict[str, Any]


def episode(start: int, length: int, *, is_last: bool = True) -> Steps:
    """Steps whose values identify them."""
    number = np.arange(start, start + length)
    steps = {
        "observation": {"x": number, "y": number[:, None] * [1.0, 0.5]},
        "action": (number % 3,),
        "name": np.array([str(n).encode() for n in number], "S4"),
        "flag": number % 2 == 0,
    }
    return steps | ({"is_last": np.arange(length) == length - 1} if is_last else {})


def episodes_of(lengths: Sequence[int], *, is_last: bool = True) -> list[Steps]:
    """Episodes, with numbers that continue from one to the next."""
    starts = np.cumsum([0, *lengths])
    return [episode(int(start), length, is_last=is_last) for start, length in zip(starts, lengths, strict=False)]


def dataset_of(episodes: Sequence[Steps]) -> tf.data.Dataset:
    """A dataset of episodes."""
    nested = [tf.data.Dataset.from_tensors({"steps": tf.data.Dataset.from_tensor_slices(steps)}) for steps in episodes]
    result = nested[0]
    for one in nested[1:]:
        result = result.concatenate(one)
    return result


REFERENCE = create_reference_step(step_spec(dataset_of([episode(0, 1)])))
DATA = Condition.data(step_spec(dataset_of([episode(0, 1)])))


def as_lists(elements: Any) -> list[Any]:
    """Elements, comparable."""
    return [tf.nest.map_structure(lambda value: np.asarray(value).tolist(), element) for element in elements]


def value_of(condition: Condition, queue: Sequence[Any], index: int, since: int, is_end: bool) -> Any:
    """The left side of a condition."""
    if condition.quantity.kind == "data":
        value = queue[-1]
        for key in condition.quantity.path:
            value = value[key]
    else:
        value = {"step_index": index, "steps_since_applied": since, "is_end_episode": is_end}[condition.quantity.kind]
    return value if condition.quantity.modulus is None else value % condition.quantity.modulus


def holds(condition: Condition, value: Any) -> bool:
    """Whether a condition is satisfied."""
    other = condition.value
    return {
        "==": value == other,
        "!=": value != other,
        "<": value < other,
        "<=": value <= other,
        ">": value > other,
        ">=": value >= other,
    }[condition.comparison]


def reverb(episodes: Sequence[Steps], configs: Sequence[PatternConfig], *, respect: bool) -> list[Any]:
    """What Reverb's writer makes of the steps, one by one: first while they arrive, then at the end of an episode."""
    queue: list[Any] = []
    since = [0] * len(configs)
    results = []

    def apply(index: int, done: set[int], *, is_end: bool) -> None:
        for number, config in enumerate(configs):
            ready = number not in done and len(queue) >= config.history
            values = [value_of(condition, queue, index, since[number], is_end) for condition in config.conditions]
            if ready and all(map(holds, config.conditions, values)):
                results.append(tf.nest.map_structure(lambda node: taken(queue, node), config.pattern))
                since[number] = 0
                done.add(number)

    for steps in episodes:
        count = len(steps["flag"])
        for index in range(count):
            queue.append(tf.nest.map_structure(lambda column, i=index: column[i], steps))
            since = [steps_since + 1 for steps_since in since]
            done: set[int] = set()
            apply(index, done, is_end=False)
            if index == count - 1:
                apply(index, done, is_end=True)
        if respect:
            queue.clear()
    return results


def taken(queue: Sequence[Any], node: Any) -> Any:
    """What a leaf of a pattern selects."""
    column = [step_at(step, node.path) for step in queue]
    return column[node.stop] if node.start is None else column[node.start : node.stop or None : node.step]


def step_at(step: Any, path: Sequence[Any]) -> Any:
    """A field of a step."""
    for key in path:
        step = step[key]
    return step


FIELDS = [
    REFERENCE["observation"]["x"],
    REFERENCE["observation"]["y"],
    REFERENCE["action"][0],
    REFERENCE["name"],
    REFERENCE["flag"],
    REFERENCE["is_last"],
]
keys = st.integers(-4, -1) | st.builds(
    slice, st.integers(-5, -3), st.none() | st.integers(-2, 0), st.none() | st.integers(1, 3)
)
nodes = st.builds(lambda field, key: field[key], st.sampled_from(FIELDS), keys)
patterns = nodes | st.fixed_dictionaries({"a": nodes, "b": st.tuples(nodes, nodes)})
numbers = st.integers(-1, 4)
quantities = st.sampled_from(
    [
        *(Condition.step_index(), Condition.step_index() % 2, Condition.step_index() % 3),
        *(DATA["observation"]["x"], DATA["observation"]["x"] % 2, DATA["action"][0], DATA["flag"]),
    ]
)
conditions = st.one_of(
    st.just(Condition.is_end_episode()),
    st.builds(lambda n: Condition.steps_since_applied() >= n, st.integers(1, 4)),
    st.builds(lambda n: Condition.steps_since_applied() % 2 == n, st.integers(0, 1)),
    st.builds(Condition, quantities, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), numbers | st.just(0.5)),
)


@pytest.mark.thorough
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    pattern=patterns,
    given_conditions=st.lists(conditions, max_size=2),
    respect=st.booleans(),
    block=st.sampled_from([1, 2, 3, 5, 16]),
)
@settings(max_examples=20)
def test_one_config(
    lengths: list[int], pattern: Any, given_conditions: list[Condition], respect: bool, block: int
) -> None:
    """Whatever the pattern and its conditions, and wherever a block of steps ends, the elements are Reverb's."""
    episodes = episodes_of(lengths)
    config = create_config(pattern, conditions=given_conditions)
    with mock.patch.object(pattern_dataset, "_BLOCK_STEPS", (block, block)):
        elements = pattern_map(dataset_of(episodes), [config], respect)
    assert as_lists(elements) == as_lists(reverb(episodes, [config], respect=respect))


@pytest.mark.thorough
@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    field=st.sampled_from(FIELDS),
    several=st.lists(st.tuples(st.integers(-4, -1), st.lists(conditions, max_size=2)), min_size=2, max_size=3),
    is_uniform=st.booleans(),
    respect=st.booleans(),
    block=st.sampled_from([1, 3, 16]),
)
@settings(max_examples=12)
def test_several_configs(  # as many arguments as there are ways to differ
    lengths: list[int],
    field: Any,
    several: list[tuple[int, list[Condition]]],
    is_uniform: bool,
    respect: bool,
    block: int,
) -> None:
    """Their elements come in the order of the steps, then of the configs, those that wait for the end last."""
    episodes = episodes_of(lengths)
    configs = [
        create_config({"x": field[start] if is_uniform else field[start:]}, conditions=given_conditions)
        for start, given_conditions in several
    ]
    with mock.patch.object(pattern_dataset, "_BLOCK_STEPS", (block, block)):
        elements = pattern_map(dataset_of(episodes), configs, respect)
    assert as_lists(elements) == as_lists(reverb(episodes, configs, respect=respect))


def transition(step: Any) -> Any:
    """A pair of neighbouring observations and what was done between them."""
    return {
        "observation": tf.nest.map_structure(lambda x: x[-2], step["observation"]),
        "action": step["action"][0][-2],
        "next_observation": tf.nest.map_structure(lambda x: x[-1], step["observation"]),
    }


def test_transitions() -> None:
    """The pattern of the tutorial gives the pairs of neighbours of each episode, in its structure and static shapes."""
    pairs = pattern_map_from_transform(dataset_of(episodes_of([3, 1, 2])), transition)
    assert pairs.element_spec["next_observation"]["y"] == tf.TensorSpec([2], tf.float64)
    found = [(int(one["observation"]["x"]), int(one["next_observation"]["x"])) for one in pairs]
    assert found == [(0, 1), (1, 2), (4, 5)]


def test_windows_are_those_of_batch() -> None:
    """A slice of every field is a window that slides by one step."""
    steps = episode(0, 6)
    windows = pattern_map_from_transform(
        dataset_of([steps]), lambda step: tf.nest.map_structure(lambda x: x[-3:], step)
    )
    wanted = batch(tf.data.Dataset.from_tensor_slices(steps), 3, 1, drop_remainder=True)
    assert as_lists(windows) == as_lists(wanted)
    assert windows.element_spec["observation"]["y"].shape == [3, 2]


def test_boundaries_of_episodes_without_flags() -> None:
    """Where steps have no `is_last`, and where episodes were cut before it, an episode ends with its dataset."""
    pattern = REFERENCE["observation"]["x"][-2:]
    flagless = dataset_of(episodes_of([2, 3], is_last=False))
    cut = dataset_of(episodes_of([4, 4])).map(lambda one: {"steps": one["steps"].take(2)})
    for respect, pairs, cut_pairs in (
        (True, [[0, 1], [2, 3], [3, 4]], [[0, 1], [4, 5]]),
        (False, [[0, 1], [1, 2], [2, 3], [3, 4]], [[0, 1], [1, 4], [4, 5]]),
    ):
        assert as_lists(pattern_map(flagless, [create_config(pattern)], respect)) == pairs
        assert as_lists(pattern_map(cut, [create_config(pattern)], respect)) == cut_pairs


def test_flag_in_the_middle_ends_an_episode() -> None:
    """One dataset of steps may contain several episodes."""
    steps = {"x": np.arange(5), "is_last": [False, True, False, False, True]}
    pairs = pattern_map_from_transform(dataset_of([steps]), lambda step: step["x"][-2:])
    assert as_lists(pairs) == [[0, 1], [2, 3], [3, 4]]


def test_end_is_where_the_flag_is() -> None:
    """An episode that was cut did not end, so nothing that waits for its end is applied."""
    config = create_config(REFERENCE["observation"]["x"][-1], conditions=[Condition.is_end_episode()])
    cut = dataset_of(episodes_of([4, 4])).map(lambda one: {"steps": one["steps"].take(2)})
    assert as_lists(pattern_map(cut, [config])) == []
    assert as_lists(pattern_map(dataset_of(episodes_of([2, 3], is_last=False)), [config])) == []


def test_each_config_waits_for_its_own_steps_only() -> None:
    """A long pattern does not delay a short one after it, which also gives elements at the start of an episode."""
    x = REFERENCE["observation"]["x"]
    configs = [create_config(x[-3]), create_config(x[-1], conditions=[Condition.step_index() < 2])]
    assert as_lists(pattern_map(dataset_of([episode(0, 4)]), configs)) == [0, 1, 0, 1]


@pytest.mark.parametrize("lengths", [[1], [2, 1, 2]])
def test_episodes_that_are_too_short_give_nothing(lengths: list[int]) -> None:
    """An incomplete pattern is no element."""
    assert as_lists(pattern_map_from_transform(dataset_of(episodes_of(lengths)), lambda step: step["name"][-3:])) == []


def test_condition_that_never_holds_gives_nothing() -> None:
    never = [DATA["observation"]["x"] > 99]
    found = pattern_map_from_transform(dataset_of(episodes_of([3, 3])), lambda step: step["name"][-1], never)
    assert as_lists(found) == []


@pytest.mark.parametrize("respect", [True, False])
def test_no_episodes_and_no_steps(respect: bool) -> None:
    """Empty datasets give empty datasets, and an empty episode does not disturb its neighbours."""
    episodes = dataset_of(episodes_of([2, 2]))
    empty = episodes.take(1).map(lambda one: {"steps": one["steps"].take(0)})

    def pairs(dataset: tf.data.Dataset) -> list[Any]:
        found = pattern_map_from_transform(dataset, lambda step: step["observation"]["x"][-2:], None, respect)
        return as_lists(found)

    assert pairs(episodes.take(0)) == pairs(empty) == []
    assert pairs(episodes.take(1).concatenate(empty).concatenate(episodes.skip(1))) == pairs(episodes)


def test_steps_of_unknown_shape() -> None:
    """Shapes that tf.data does not know may differ from episode to episode, and those of unused fields in any way."""

    def generate(size: int) -> Any:
        for n in range(3):
            yield {"image": np.full((size, size), n), "text": "x" * n, "rows": np.zeros(n), "is_last": n == 2}

    spec = {
        "image": tf.TensorSpec([None, None], tf.int64),
        "text": tf.TensorSpec([], tf.string),
        "rows": tf.TensorSpec([None], tf.float64),
        "is_last": tf.TensorSpec([], tf.bool),
    }
    episodes = tf.data.Dataset.from_tensor_slices([2, 3]).map(
        lambda size: {"steps": tf.data.Dataset.from_generator(generate, args=[size], output_signature=spec)}
    )
    pairs = pattern_map_from_transform(episodes, lambda step: {"images": step["image"][-2:], "text": step["text"][-1]})
    assert [pair["images"].shape.as_list() for pair in pairs] == [[2, 2, 2], [2, 2, 2], [2, 3, 3], [2, 3, 3]]
    assert [pair["text"].numpy() for pair in pairs] == [b"x", b"xx"] * 2


def test_ragged_and_large_fields_that_are_not_used() -> None:
    """They are left out before anything is copied."""
    ragged = tf.ragged.constant([[1], [2, 3], []])
    steps = {"x": [0, 1, 2], "large": np.zeros((3, 200, 200), np.uint8), "is_last": [False, False, True]}
    nested = tf.data.Dataset.zip(
        {
            "rows": tf.data.Dataset.from_tensor_slices(ragged),
            **{key: tf.data.Dataset.from_tensor_slices(value) for key, value in steps.items()},
        }
    )
    pairs = pattern_map_from_transform(tf.data.Dataset.from_tensors({"steps": nested}), lambda step: step["x"][-2:])
    assert as_lists(pairs) == [[0, 1], [1, 2]]


def test_in_a_function_and_in_a_map() -> None:
    """Graphs give the same elements."""
    episodes = dataset_of(episodes_of([3, 2]))

    def pairs(dataset: tf.data.Dataset) -> tf.data.Dataset:
        return pattern_map_from_transform(dataset, lambda step: step["observation"]["x"][-2:])

    total = tf.function(lambda dataset: pairs(dataset).reduce(tf.zeros([2], tf.int64), tf.add))(episodes)
    assert total.numpy().tolist() == [0 + 1 + 3, 1 + 2 + 4]
    (mapped,) = tf.data.Dataset.from_tensors(episodes).map(pairs)
    assert as_lists(mapped) == [[0, 1], [1, 2], [3, 4]]


EPISODES = dataset_of([episode(0, 3)])


def test_no_config_is_refused() -> None:
    """There would be no structure to give."""
    with pytest.raises(ValueError, match="expected at least one config"):
        pattern_map(EPISODES, [])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"x": REFERENCE["flag"][-1]}, {"y": REFERENCE["flag"][-1]}),
        ({"x": REFERENCE["flag"][-1]}, {"x": REFERENCE["name"][-1]}),
        ({"x": REFERENCE["flag"][-1]}, {"x": REFERENCE["flag"][-1:]}),
        ({"x": REFERENCE["flag"][-1]}, (REFERENCE["flag"][-1],)),
    ],
    ids=["keys", "dtypes", "ranks", "nests"],
)
def test_configs_that_do_not_fit_are_refused(first: Any, second: Any) -> None:
    """All elements of a dataset have one structure."""
    with pytest.raises(ValueError, match="expected configs of one structure, got"):
        pattern_map(EPISODES, [create_config(first), create_config(second)])


def test_pattern_of_other_steps_is_refused() -> None:
    """The error names the field, so that no other is taken in its place."""
    other = create_reference_step({"observation": {"z": None}})
    with pytest.raises(ValueError, match=r"the steps have no tensor step\['observation'\]\['z'\]"):
        pattern_map(EPISODES, [create_config(other["observation"]["z"][-1])])
    shallow = create_reference_step({"observation": None})
    with pytest.raises(ValueError, match=r"the steps have no tensor step\['observation'\]"):
        pattern_map(EPISODES, [create_config(shallow["observation"][-1])])


@pytest.mark.parametrize(
    ("condition", "place"),
    [(DATA["observation"]["y"] > 0, "'y'"), (DATA["name"] == 0, "'name'")],
    ids=["vector", "text"],
)
def test_condition_on_what_is_no_number_is_refused(condition: Condition, place: str) -> None:
    """The error names the field and its type."""
    with pytest.raises(TypeError, match=rf"expected a scalar number .* but step\[.*{place}\] is TensorSpec"):
        pattern_map(EPISODES, [create_config(REFERENCE["flag"][-1], conditions=[condition])])


def test_steps_alone_are_refused() -> None:
    """Wrong nesting is an error that says what an episode is."""
    with pytest.raises(TypeError, match="expected a dataset of episodes"):
        pattern_map_from_transform(tf.data.Dataset.range(3), lambda step: step)

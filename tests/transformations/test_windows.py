"""Windows and chunks against loops over steps, in every mode, and what is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base.step import FLAGS
from rlds_kit.transformations.windows import Pad, chunks, windows
from tests.transformations.episodes import (
    MODES,
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    run,
    taken,
    to_dense_episodes,
    to_numpy,
    to_tensors,
)

PADS: tuple[Pad, ...] = ("none", "zero", "repeat")
pads = st.sampled_from(PADS)


def segments_of(steps: Steps) -> list[range]:
    """The rows of each segment."""
    ends = [row + 1 for row, acted in enumerate(taken(steps)) if not acted]
    return [range(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]


def defined(steps: Steps, field: str) -> np.ndarray:
    """Whether a field is defined, row by row."""
    if field in {"action", "reward", "discount"}:
        return taken(steps)
    everywhere = np.ones(len(steps["is_last"]), bool)
    return steps.get("observation_valid", everywhere) if field == "observation" else everywhere


def rows_of(value: Any, rows: np.ndarray, mask: np.ndarray, pad: Pad) -> Any:
    """The rows of every array of a nest, with zeros where they are masked, if requested."""

    def take(leaf: np.ndarray) -> np.ndarray:
        taken_rows = leaf[rows]
        if pad == "zero":
            taken_rows[~mask] = b"" if leaf.dtype == object else 0
        return taken_rows

    return tf.nest.map_structure(take, value)


def pad_of(field: str, pad: Pad) -> Pad:
    """Flags are False where there is no step, with every padding."""
    return "zero" if field in FLAGS else pad


def expected_windows(steps: Steps, length: int, stride: int, pad: Pad) -> Steps:
    """The windows, one by one."""
    rows, mask = [], []
    for segment in segments_of(steps):
        for start in segment[::stride]:
            window = range(start, start + length)
            if pad != "none" or window[-1] in segment:
                rows.append([min(row, segment[-1]) for row in window])
                mask.append([row in segment for row in window])
    at, inside = np.array(rows, int).reshape(-1, length), np.array(mask, bool).reshape(-1, length)
    valid = {field: defined(steps, field)[at] & inside for field in ("observation", "action", "reward", "discount")}
    return {
        **{field: rows_of(value, at, inside, pad_of(field, pad)) for field, value in steps.items()},
        "mask": inside,
        "valid": {field: value for field, value in valid.items() if field in steps},
    }


def expected_chunks(steps: Steps, offsets: Mapping[str, Sequence[int]], pad: Pad) -> Steps:
    """The chunks, one by one."""
    rows: dict[str, list[list[int]]] = {field: [] for field in offsets}
    mask: dict[str, list[list[bool]]] = {field: [] for field in offsets}
    for segment in segments_of(steps):
        there = {field: [row for row in segment if defined(steps, field)[row]] for field in offsets}
        for step in segment:
            inside = {field: [step + offset in there[field] for offset in at] for field, at in offsets.items()}
            if pad != "none" or all(all(each) for each in inside.values()):
                for field, at in offsets.items():
                    near = there[field] or [segment[0]]
                    rows[field].append([min(max(step + offset, near[0]), near[-1]) for offset in at])
                    mask[field].append(inside[field])
    numbers = {field: np.array(each, int).reshape(-1, len(offsets[field])) for field, each in rows.items()}
    masks = {field: np.array(each, bool).reshape(-1, len(offsets[field])) for field, each in mask.items()}
    return {
        **{field: rows_of(steps[field], numbers[field], masks[field], pad_of(field, pad)) for field in offsets},
        "valid": masks,
    }


@given(episode_steps(min_length=0), st.integers(1, 60), st.integers(1, 60), pads)
def test_windows_equal_loops(steps: Steps, length: int, stride: int, pad: Pad) -> None:
    """Ends, gaps, lengths beyond that of the episode: all as the loops have it."""
    actual = to_numpy(windows(to_tensors(steps), length, stride, pad))
    assert_same(actual, expected_windows(steps, length, stride, pad))


@given(
    episode_steps(min_length=0),
    st.dictionaries(
        st.sampled_from(["observation", "action", "reward", "is_first", "info"]),
        st.lists(st.integers(-60, 60) | st.integers(-2, 2), min_size=1, max_size=5),
        min_size=1,
    ),
    pads,
)
def test_chunks_equal_loops(steps: Steps, offsets: dict[str, list[int]], pad: Pad) -> None:
    """Histories, chunks ahead and scattered offsets: all as the loops have it."""
    actual = to_numpy(chunks(to_tensors(steps), offsets, pad))
    assert_same(actual, expected_chunks(steps, offsets, pad))


@given(episode_steps(), st.lists(st.integers(-3, 3), min_size=1), pads)
def test_chunks_without_padding_are_the_full_ones(steps: Steps, at: list[int], pad: Pad) -> None:
    """Those without padding are those with padding in which nothing is masked."""
    dense, offsets = to_tensors(steps), {"observation": at, "action": [0]}
    full, padded = to_numpy(chunks(dense, offsets)), to_numpy(chunks(dense, offsets, pad))
    keep = padded["valid"]["observation"].all(1) & padded["valid"]["action"].all(1)
    assert_same(full, tf.nest.map_structure(lambda leaf: leaf[keep], padded))


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("length", [0, 7])
def test_windows_in_every_mode(mode: str, pad: Pad, length: int) -> None:
    """Dense or a dataset, eager or in a graph, the windows are the same."""
    steps = make_steps(length, observation="nested", step_index=[0, 1, 2, 5, 6, 7, 8][:length])
    actual = run(lambda dense: windows(dense, 3, 2, pad), steps, mode)
    assert_same(actual, expected_windows(steps, 3, 2, pad))


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("length", [0, 7])
def test_chunks_in_every_mode(mode: str, pad: Pad, length: int) -> None:
    """Dense or a dataset, eager or in a graph, the chunks are the same."""
    offsets = {"observation": range(-2, 1), "action": range(3)}
    steps = make_steps(length, observation="nested", final_observation=False)
    actual = run(lambda dense: chunks(dense, offsets, pad), steps, mode)
    assert_same(actual, expected_chunks(steps, offsets, pad))


def test_actions_ahead_repeat_the_last_one_taken() -> None:
    """What stands as the action of the last step is no action, and is not repeated."""
    steps = make_steps(3, undefined="garbage")
    actual = to_numpy(chunks(to_tensors(steps), {"action": range(3)}, pad="repeat"))
    np.testing.assert_array_equal(actual["action"][:, -1], steps["action"][[1, 1, 1]])
    assert actual["valid"]["action"].tolist() == [[True, True, False], [True, False, False], [False, False, False]]


def test_static_shapes() -> None:
    """The length of windows and chunks is known when a graph is traced."""
    episodes = to_dense_episodes([make_steps(5, observation="image"), make_steps(3, observation="image")])
    spec = episodes.map(lambda dense: windows(dense, 4, pad="zero")).element_spec
    assert spec["observation"].shape.as_list() == [None, 4, 4, 5, 3]
    spec = episodes.map(lambda dense: chunks(dense, {"observation": range(-1, 1)})).element_spec
    assert spec["observation"].shape.as_list() == [None, 2, 4, 5, 3]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"length": 0}, "expected length of at least 1, got 0"),
        ({"length": 2, "stride": 0}, "expected stride of at least 1, got 0"),
        ({"length": 2, "pad": "edge"}, "expected pad to be one of 'none', 'zero', 'repeat'; got 'edge'"),
    ],
)
def test_arguments_of_windows(arguments: dict[str, Any], error: str) -> None:
    """What is out of range is refused with the range."""
    with pytest.raises(ValueError, match=error):
        windows(to_tensors(make_steps(3)), **arguments)


@pytest.mark.parametrize(
    ("offsets", "pad", "error"),
    [
        ({}, "none", "expected offsets of at least one field"),
        ({"action": []}, "none", "expected offsets of the field 'action', got none"),
        ({"speech": [0]}, "none", r"expected steps with the fields \['speech'\]"),
        ({"action": [0]}, "edge", "expected pad to be one of"),
    ],
)
def test_arguments_of_chunks(offsets: dict[str, list[int]], pad: Any, error: str) -> None:
    """Fields that are not there, empty offsets and unknown paddings are refused."""
    with pytest.raises(ValueError, match=error):
        chunks(to_tensors(make_steps(3)), offsets, pad)


def test_offsets_that_are_no_integers() -> None:
    steps = to_tensors(make_steps(3))
    with pytest.raises(TypeError, match=r"expected an offset of the field 'action' to be an integer, got 0.5"):
        chunks(steps, {"action": [0.5]})  # type: ignore[list-item]  # the mistake
    with pytest.raises(TypeError, match=r"a list of offsets of the field 'action', such as \[3\], got 3"):
        chunks(steps, {"action": 3})  # type: ignore[dict-item]  # the mistake


@pytest.mark.parametrize(("name", "arguments"), [("length", (2.0,)), ("stride", (2, 1.0))])
def test_sizes_that_are_no_integers(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=f"expected {name} to be an integer, got"):
        windows(to_tensors(make_steps(3)), *arguments)


@pytest.mark.parametrize("field", ["mask", "valid"])
def test_fields_that_would_be_overwritten(field: str) -> None:
    """A recorded field is never overwritten."""
    with pytest.raises(ValueError, match=rf"already have fields \['{field}'\]"):
        windows(to_tensors(make_steps(3) | {field: np.zeros(3)}), 2)

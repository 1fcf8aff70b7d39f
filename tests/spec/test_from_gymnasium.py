"""Gymnasium spaces and specs."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.spec.from_gymnasium import from_gymnasium, to_gymnasium
from tests.spec.strategies import any_spaces

Space = gymnasium.Space[Any]


def _floats(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


class Maze(Space):
    """An unknown kind of space."""


class Joystick(spaces.Box):
    """A Box by another name."""


@given(any_spaces)
def test_round_trip(space: Space) -> None:
    """All ten kinds, nested, come back equal."""
    assert to_gymnasium(from_gymnasium(space)) == space


@given(any_spaces, st.integers(0, 2**31 - 1))
def test_samples_fit(space: Space, seed: int) -> None:
    """What a space samples fits its spec and its bounds."""
    space.seed(seed)
    spec, value = from_gymnasium(space), space.sample()
    assert specs.problems(spec, value) == []
    assert specs.out_of_bounds(spec, value) == []


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (spaces.Box(0, 255, (210, 160, 3), np.uint8), specs.Array((210, 160, 3), np.uint8, minimum=0, maximum=255)),
        (spaces.Box(-np.inf, np.inf, (2,)), specs.Array((2,), np.float32)),
        (spaces.Box(-np.inf, 5, (2,), np.int32), specs.Array((2,), np.int32, maximum=5)),
        (
            spaces.Box(_floats([0, -np.inf]), _floats([1, 2])),
            specs.Array((2,), np.float32, minimum=[0, -np.inf], maximum=[1, 2]),
        ),
        (spaces.Discrete(3, start=-1), specs.Array((), np.int64, minimum=-1, maximum=1, num_values=3)),
        (spaces.MultiBinary((2, 3)), specs.Array((2, 3), np.int8, minimum=0, maximum=1, num_values=2)),
        (
            spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
            specs.Array((2, 2), np.int64, minimum=np.zeros((2, 2)), maximum=[[1, 2], [3, 4]], num_values=5),
        ),
        (spaces.Text(5, charset="ba"), specs.Text("", 1, 5, "ab")),
        (
            spaces.Sequence(spaces.Discrete(2), stack=True),
            specs.Sequence(specs.Array((), np.int64, num_values=2), True),
        ),
        (spaces.OneOf([spaces.Discrete(2)]), specs.OneOf((specs.Array((), np.int64, num_values=2),))),
    ],
)
def test_each_kind(space: Space, expected: specs.Spec) -> None:
    """The spec of a space is equivalent to the space."""
    assert from_gymnasium(space) == expected


def test_multi_discrete_of_bits_is_not_multi_binary() -> None:
    """The two stay apart although they have the same values."""
    space = spaces.MultiDiscrete([2, 2], dtype=np.int8)
    assert to_gymnasium(from_gymnasium(space)) == space


def test_a_dict_keeps_the_order_of_its_space() -> None:
    """Gymnasium's own order, sorted or not, is the spec's."""
    space = spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Discrete(2)}, sort_keys=False)
    spec = from_gymnasium(space)
    assert isinstance(spec, specs.Dict)
    assert list(spec.fields) == ["b", "a"]
    restored = to_gymnasium(spec)
    assert isinstance(restored, spaces.Dict)
    assert list(restored.spaces) == ["b", "a"]


def test_the_space_is_not_touched() -> None:
    """Gymnasium changes arrays of bounds that it is given; ours and the space's stay as they were."""
    space = spaces.Box(_floats([0, -np.inf]), _floats([1, np.inf]))
    spec = from_gymnasium(space)
    to_gymnasium(spec)
    assert np.isinf(space.low).tolist() == [False, True]
    assert spec == from_gymnasium(space)


def test_a_subclass_counts_as_its_base() -> None:
    """A space that derives from a known one is described as that."""
    assert from_gymnasium(Joystick(-1, 1, (2,))) == specs.Array((2,), np.float32, minimum=-1, maximum=1)


def test_an_unknown_space_is_named_with_its_place() -> None:
    """The error names the class, the place, and what to do."""
    space = spaces.Dict({"map": spaces.Tuple([spaces.Discrete(2), Maze()])})
    with pytest.raises(SpecError, match=r"^observation/map/\(1\): .*test_from_gymnasium\.Maze\. Wrap the environment"):
        from_gymnasium(space, "observation")


def test_keys_that_are_not_strings_are_named_with_their_place() -> None:
    """A dict space keyed by numbers is an error that names the key."""
    space = spaces.Dict({0: spaces.Discrete(2)})  # type: ignore[dict-item]  # Gymnasium lets it pass
    with pytest.raises(SpecError, match=r"^observation: expected strings as keys of a Dict space, got 0"):
        from_gymnasium(space, "observation")


@pytest.mark.parametrize("start", [100, 120])
def test_a_space_whose_values_overflow_is_refused(start: int) -> None:
    """A Discrete with categories beyond its dtype is named with its place."""
    with pytest.raises(SpecError, match=r"^action: Discrete\(100.*no values that int8 can hold"):
        from_gymnasium(spaces.Discrete(100, start=start, dtype=np.int8), "action")


@pytest.mark.parametrize(
    "spec",
    [
        specs.Array((None,), np.float32),
        specs.Array((), np.complex64),
        specs.Bytes(),
        specs.Text(),
        specs.List(()),
        specs.NONE,
        specs.OneOf(()),
        specs.Any(),
    ],
)
def test_what_gymnasium_lacks_is_an_error(spec: specs.Spec) -> None:
    """The error names the place of what has no space."""
    with pytest.raises(SpecError, match=r"^spec/a: Gymnasium has no space for"):
        to_gymnasium(specs.Dict({"a": spec}))


@pytest.mark.parametrize(
    ("spec", "space"),
    [
        (specs.Array((), np.uint8), spaces.Box(0, 255, (), np.uint8)),
        (specs.Array((), np.bool_), spaces.Box(0, 1, (), np.bool_)),  # type: ignore[arg-type] # Gymnasium accepts it
        (specs.Array((2,), np.float32, minimum=[np.nan, 0]), spaces.Box(_floats([-np.inf, 0]), np.inf, (2,))),
        (specs.Array((2,), np.int64, num_values=3), spaces.MultiDiscrete([3, 3])),
    ],
)
def test_bounds_that_gymnasium_needs_are_filled_in(spec: specs.Spec, space: Space) -> None:
    """A missing bound is infinite, or the dtype's own if Gymnasium does not accept infinity."""
    assert to_gymnasium(spec) == space

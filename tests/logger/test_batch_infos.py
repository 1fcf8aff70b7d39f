"""Infos in the form of the last ones are recognised at once; they become the same columns as at first sight."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.logger.batch_infos import BatchInfos
from rlds_kit.storage.declared import DeclaredFields

LANES = 3
ALL, SOME, NONE = (np.array(mask) for mask in ([True] * 3, [True, False, True], [False] * 3))
SHARED = np.arange(3.0)
VALUES: list[Any] = [
    SHARED,
    np.arange(3.0) + 7,
    np.arange(3),
    np.arange(3.0).astype(">f8"),
    np.zeros((LANES, 2)),
    np.array([1.5] * LANES, object),
    np.arange(2.0),
    [1.0, 2.0, 3.0],
    {"below": SHARED},
    "text",
    2.5,
]
MASKS: list[Any] = [ALL, SOME, NONE, ALL.astype(np.int8), ALL[:2], [True] * LANES, None]


def _fields() -> DeclaredFields:
    return DeclaredFields(specs.Dict({}))


def _described(infos: dict[str, Any], found: BatchInfos) -> tuple[list[Any], list[bool]]:
    leaves, single = found.leaves(infos, _fields())
    return [
        (key, values.tobytes(), values.shape, None if mask is None else mask.tolist()) for key, values, mask in leaves
    ], single.tolist()


@st.composite
def _infos(draw: st.DrawFn) -> dict[str, Any]:
    """Up to two keys, with masks or without, in any order."""
    items: list[tuple[str, Any]] = []
    for name in draw(st.lists(st.sampled_from(["x", "y", "_x"]), max_size=2, unique=True)):
        items.append((name, draw(st.sampled_from(VALUES))))
        mask = draw(st.sampled_from(MASKS))
        if mask is not None:
            items.append((f"_{name}", mask))
    return dict(items[::-1] if draw(st.booleans()) else items)


@given(st.lists(_infos(), min_size=2, max_size=2), st.lists(st.integers(0, 1), min_size=2, max_size=6))
def test_what_was_seen_before_does_not_matter(pool: list[dict[str, Any]], order: list[int]) -> None:
    """Each info has the columns that it has when nothing was seen."""
    seen = BatchInfos(LANES)
    for number in order:
        assert _described(pool[number], seen) == _described(pool[number], BatchInfos(LANES))


@pytest.mark.parametrize(
    "other",
    [
        {"x": SHARED, "_x": SOME},
        {"x": SHARED, "_x": NONE},
        {"x": np.arange(3), "_x": ALL},
        {"y": SHARED, "_y": ALL},
        {"x": SHARED},
        {"x": SHARED, "_x": ALL, "y": SHARED},
        {},
    ],
)
def test_another_form_is_noticed(other: dict[str, Any]) -> None:
    """In both orders, and again afterwards."""
    usual = {"x": np.arange(3.0) + 1, "_x": ALL}
    seen = BatchInfos(LANES)
    for infos in (usual, usual, other, other, usual, usual, other):
        assert _described(infos, seen) == _described(infos, BatchInfos(LANES))


def test_the_usual_form_is_recognised() -> None:
    """Without a look at each mask: no mask is made, and the flags of lanes are the same object."""
    seen = BatchInfos(LANES)
    infos = {"x": SHARED, "_x": ALL, "y": np.zeros((LANES, 2))}
    fields = _fields()
    seen.leaves(infos, fields)
    first, second = (seen.leaves(dict(infos), fields) for _ in range(2))
    assert first[1] is second[1]
    assert [leaf.key for leaf in first[0]] == [leaf.key for leaf in second[0]]

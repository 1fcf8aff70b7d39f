"""Infos in the form of the last ones are recognised at once; they become the same columns as at first sight."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.logger.batch_infos import BatchInfos
from rlds_kit.storage import row_form
from rlds_kit.storage.declared import DeclaredFields

LANES = 3
ALL, SOME, NONE = (np.array(mask) for mask in ([True] * 3, [True, False, True], [False] * 3))
LAST = np.array([False, False, True])
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
MASKS: list[Any] = [ALL, SOME, LAST, NONE, ALL.astype(np.int8), ALL[:2], [True] * LANES, None]


def _fields() -> DeclaredFields:
    return DeclaredFields(specs.Dict({}))


def _described(infos: dict[str, Any], found: BatchInfos) -> tuple[list[Any], list[bool]]:
    leaves, single = found.leaves(infos, _fields())
    return [
        (key, values.tobytes(), values.shape, None if mask is None else mask.tolist()) for key, values, mask in leaves
    ], single.tolist()


@st.composite
def _infos(draw: st.DrawFn) -> dict[str, Any]:
    """Up to two keys, with masks or without, in any order, and a dict of such infos among them."""
    items = draw(_items())
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), ("episode", dict(draw(_items()))))
        if draw(st.booleans()):
            items.insert(draw(st.integers(0, len(items))), ("_episode", draw(st.sampled_from(MASKS[:4]))))
    return dict(items)


@st.composite
def _items(draw: st.DrawFn) -> list[tuple[str, Any]]:
    items: list[tuple[str, Any]] = []
    for name in draw(st.lists(st.sampled_from(["x", "y", "_x"]), max_size=2, unique=True)):
        items.append((name, draw(st.sampled_from(VALUES))))
        mask = draw(st.sampled_from(MASKS))
        if mask is not None:
            items.append((f"_{name}", mask))
    return items[::-1] if draw(st.booleans()) else items


@given(st.lists(_infos(), min_size=2, max_size=2), st.lists(st.integers(0, 1), min_size=2, max_size=6))
def test_what_was_seen_before_does_not_matter(pool: list[dict[str, Any]], order: list[int]) -> None:
    """Each info has the columns that it has when nothing was seen."""
    seen = BatchInfos(LANES, NONE)
    for number in order:
        assert _described(pool[number], seen) == _described(pool[number], BatchInfos(LANES, NONE))


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
    seen = BatchInfos(LANES, NONE)
    for infos in (usual, usual, other, other, usual, usual, other):
        assert _described(infos, seen) == _described(infos, BatchInfos(LANES, NONE))


def _of_ends(mask: np.ndarray) -> dict[str, Any]:
    """The infos of RecordEpisodeStatistics in a step in which these lanes end."""
    return {"episode": {"r": SHARED, "_r": mask, "l": np.arange(3), "_l": mask}, "_episode": mask}


USUAL: list[dict[str, Any]] = [
    {"x": SHARED, "_x": ALL, "y": np.zeros((LANES, 2))},
    {},
    _of_ends(SOME),
    {**_of_ends(SOME), "lives": np.arange(3), "_lives": ALL},
    {"below": {"x": SHARED, "_x": SOME}},
    {"none": {}, "x": SHARED},
]


@pytest.mark.skipif(row_form.native is None, reason="without the extension, no form is known")
@pytest.mark.parametrize("infos", USUAL)
def test_usual_forms_are_recognised(infos: dict[str, Any]) -> None:
    """Several at a time: the columns are not searched again."""
    seen, fields = BatchInfos(LANES, NONE), _fields()
    for each in (infos, *USUAL[:2]):
        seen.leaves(each, fields)
    again = copy.deepcopy(infos)
    expected = _described(again, BatchInfos(LANES, NONE))
    seen._walk = None  # type: ignore[assignment,method-assign]
    assert _described(again, seen) == expected


@pytest.mark.parametrize("mask", [ALL, NONE, LAST, ~SOME])
@pytest.mark.parametrize("infos", USUAL[2:])
def test_other_masks_are_noticed(infos: dict[str, Any], mask: np.ndarray) -> None:
    """Each mask in turn, and all of them."""
    masks = [name for name in infos if name[0] == "_"]
    others = [{**infos, name: mask} for name in masks]
    below = {key: item for key, item in infos.items() if isinstance(item, dict)}
    others += [{**infos, key: {**item, "_r": mask, "_x": mask}} for key, item in below.items()]
    others.append(_of_ends(mask))
    for order in ([infos, *others, infos], [*others[::-1], infos]):
        seen = BatchInfos(LANES, NONE)
        for each in order:
            assert _described(each, seen) == _described(each, BatchInfos(LANES, NONE))


@pytest.mark.skipif(row_form.native is None, reason="without the extension, no form is known")
def test_forms_that_differ_in_masks_only_are_all_known() -> None:
    """Where sometimes all lanes end together, and sometimes some: neither is searched again, or learned twice."""
    seen, fields = BatchInfos(LANES, NONE), _fields()
    first = [_described(_of_ends(mask), seen) for mask in (SOME, ALL)]
    forms = [*seen.forms]
    seen._walk = None  # type: ignore[assignment,method-assign]
    assert [_described(_of_ends(mask), seen) for mask in (SOME, ALL)] == first
    assert seen.forms == forms
    assert seen.leaves(_of_ends(LAST), fields)[0]


def test_a_mask_with_a_mask_is_a_value_too() -> None:
    """What was true for its values in one step need not be in the next one."""
    seen = BatchInfos(LANES, NONE)
    for mask in (ALL, SOME):
        infos = {"x": SHARED, "_x": mask, "__x": ALL}
        assert _described(infos, seen) == _described(infos, BatchInfos(LANES, NONE))


@pytest.mark.parametrize("mask", [None, np.array([3, 0, 3], np.uint8).view(np.bool_)])
def test_odd_masks_are_taken_as_row_by_row(mask: np.ndarray | None) -> None:
    """None is a mask of all lanes; the bytes of flags need not be 0 or 1."""
    infos = {"x": SHARED, "_x": mask}
    seen = BatchInfos(LANES, NONE)
    for _ in range(3):
        leaves, single = seen.leaves(infos, _fields())
        assert not single.any()
        lanes = [True] * LANES if leaves[0].mask is None else leaves[0].mask.tolist()
        assert lanes == ([True] * LANES if mask is None else [True, False, True])

"""Batched infos come apart into those that the sub-environments returned."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from rlds_kit import spec as specs
from rlds_kit.logger import vector_info


class _Batcher(gymnasium.vector.VectorEnv[Any, Any, Any]):
    num_envs = 3


def _batched(*infos: dict[str, Any]) -> dict[str, Any]:
    """Return infos as Gymnasium itself batches them."""
    batched: dict[str, Any] = {}
    for index, info in enumerate(infos):
        batched = _Batcher()._add_info(batched, info, index)
    return batched


@pytest.mark.parametrize(
    "infos",
    [
        ({}, {}, {}),
        ({"lives": 3}, {"lives": 2}, {"lives": 1}),
        ({"lives": 3}, {}, {"name": "ada"}),
        ({"none": None, "text": "a"}, {"text": None}, {"list": [1, 2, 3]}),
        ({"deep": {"a": 1, "deeper": {"b": 2.5}}}, {"deep": {}}, {"deep": {"a": 2}}),
        ({"grid": np.arange(4).reshape(2, 2)}, {}, {"grid": np.ones((2, 2), np.int64)}),
        ({"three": np.arange(3)}, {"three": np.zeros(3, np.int64)}, {}),
        ({"on": True}, {"on": False}, {}),
        ({}, {"object": "text", "_private": 5}, {"_private": 6}),
        ({7: 1}, {}, {7: 2, "_other": 3}),
    ],
)
def test_split_is_the_inverse_of_batching(infos: tuple[dict[str, Any], ...]) -> None:
    """Key by key, nested dicts and missing keys included."""
    batched = _batched(*infos)
    for index, info in enumerate(infos):
        np.testing.assert_equal(vector_info.split(batched, index, 3), info)


def test_keys_without_masks_belong_to_all_environments() -> None:
    """As ale_py batches: no masks, one element for each environment."""
    infos = {"lives": np.array([3, 2, 1], np.int32), "clock": 7.5, "episode": {"r": np.zeros(3)}}
    assert vector_info.split(infos, 2, 3) == {"lives": 1, "clock": 7.5, "episode": {"r": 0.0}}
    assert type(vector_info.split(infos, 2, 3)["lives"]) is np.int32


def test_mask_of_a_dict_speaks_for_its_values() -> None:
    """As RecordEpisodeStatistics batches: one mask for the whole dict."""
    infos = {"episode": {"r": np.array([0.0, 9.0])}, "_episode": np.array([False, True])}
    assert [vector_info.split(infos, index, 2) for index in (0, 1)] == [{}, {"episode": {"r": 9.0}}]


@pytest.mark.parametrize("wrap", [list, tuple, np.int8, np.float32, np.object_, lambda mask: np.array(mask)[:, None]])
def test_masks_may_have_another_form(wrap: Any) -> None:
    """As flags may: truth values, or 0 and 1, one for each environment."""
    infos = {"lives": np.arange(3), "_lives": np.array([1, 0, 1], np.bool_)}
    odd = {**infos, "_lives": wrap(np.array([1, 0, 1], np.bool_))}
    for index in range(3):
        assert vector_info.split(odd, index, 3) == vector_info.split(infos, index, 3)


@pytest.mark.parametrize(
    "mask",
    [
        True,
        "yes",
        {"x": True},
        [True, False],
        [[True], [True, False], [False]],
        np.zeros((3, 2)),
        np.array([0.5, 0, 1]),
        np.array([True, "yes", False], object),
    ],
)
def test_a_mask_of_something_else_is_refused(mask: Any) -> None:
    """Which environments have the key is not known."""
    with pytest.raises(
        TypeError, match=r"(?s)infos: _lives: expected 3 truth values.* as the mask of 'lives'; put the"
    ):
        vector_info.split({"lives": np.arange(3), "_lives": mask}, 0, 3)


def test_a_last_info_needs_no_other_infos() -> None:
    """Those beside it are of the next episode; their masks do not matter here."""
    infos = {"final_info": {"last": np.arange(2)}, "episode": {"r": np.ones(2)}, "x": np.arange(2), "_x": "no mask"}
    assert vector_info.final_info(infos, 1, 2) == {"last": 1, "episode": {"r": 1.0}}
    assert vector_info.final_info({"final_info": None}, 1, 2) == {}
    with pytest.raises(TypeError, match="final_info: expected Gymnasium's dict of batches, got int"):
        vector_info.final_info({"final_info": 5}, 1, 2)


@pytest.mark.parametrize(
    "batch",
    [
        np.array([None, np.arange(2)], dtype=object),
        np.array([[5, 5], [0, 1]]),
        (np.array([5, 0]), np.array([5, 1])),
        {"a": np.array([5, 0]), "b": np.array([5, 1])},
    ],
    ids=["objects", "stacked", "tuple", "dict"],
)
def test_final_observation_is_taken_from_any_kind_of_batch(batch: Any) -> None:
    """Object arrays, as Gymnasium makes them, and arrays stacked leaf by leaf."""
    final = vector_info.final_observation({"final_obs": batch, "_final_obs": np.array([False, True])}, 1, 2, None)
    assert np.array([*final.values()] if isinstance(final, dict) else final).tolist() == [0, 1]


def test_a_final_observation_of_text_is_whole() -> None:
    """Gymnasium batches texts as a tuple, also within a dict, and items of a tuple one by one."""
    text, pair = specs.Text(), specs.Tuple((specs.Text(), specs.Array((), np.int64)))
    for batch, spec, found in (
        (("first", "second"), None, "second"),
        (("first", "second"), text, "second"),
        ({"say": ("first", "second")}, specs.Dict({"say": text}), {"say": "second"}),
        ((("first", "second"), np.array([1, 2])), pair, ("second", 2)),
    ):
        assert vector_info.final_observation({"final_obs": batch}, 1, 2, spec) == found


def test_no_final_observation_is_none() -> None:
    """Neither if the key is missing nor if the mask is False."""
    assert vector_info.final_observation({}, 0, 2, None) is None
    assert (
        vector_info.final_observation({"final_obs": np.zeros(2), "_final_obs": np.zeros(2, bool)}, 0, 2, None) is None
    )

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
    final = vector_info.final_observation({"final_obs": batch, "_final_obs": np.array([False, True])}, 1, None)
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
        assert vector_info.final_observation({"final_obs": batch}, 1, spec) == found


def test_no_final_observation_is_none() -> None:
    """Neither if the key is missing nor if the mask is False."""
    assert vector_info.final_observation({}, 0, None) is None
    assert vector_info.final_observation({"final_obs": np.zeros(2), "_final_obs": np.zeros(2, bool)}, 0, None) is None

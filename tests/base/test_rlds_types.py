"""Steps, episodes and datasets in the terms of RLDS."""

from typing import Any

import pytest

from rlds_kit.base import rlds_types, step


def test_names_are_those_of_rlds() -> None:
    """Data of others is found under the names that RLDS gave them."""
    names = [name for name in rlds_types.__all__ if isinstance(getattr(rlds_types, name), str)]
    assert {name: getattr(rlds_types, name) for name in names} == {
        "OBSERVATION": "observation",
        "ACTION": "action",
        "REWARD": "reward",
        "DISCOUNT": "discount",
        "IS_FIRST": "is_first",
        "IS_LAST": "is_last",
        "IS_TERMINAL": "is_terminal",
        "STEPS": "steps",
        "ALIGNMENT": "alignment",
        "EPISODE_ID": "episode_id",
        "AGENT_ID": "agent_id",
        "ENVIRONMENT_CONFIG": "environment_config",
        "EXPERIMENT_ID": "experiment_id",
        "INVALID": "invalid",
    }


def test_core_fields_are_those_of_the_data_model() -> None:
    """RLDS and this library call the fields of a step by the same names."""
    assert frozenset([*step.DECLARED_FIELDS, *step.FLAGS]) == rlds_types.CORE_STEP_FIELDS


def test_step_without_optional_fields_has_only_flags() -> None:
    """None leaves a field out; the two mandatory ones are always there."""
    built = rlds_types.build_step(None, None, None, None, None, is_first=True, is_last=False)
    assert built == {"is_first": True, "is_last": False}


def test_step_keeps_values_that_are_false() -> None:
    """Only None leaves a field out: 0, False and an empty list are values."""
    built = rlds_types.build_step(
        0, [], 0.0, 0.0, is_terminal=False, is_first=False, is_last=False, metadata={"tag": ""}
    )
    assert built == {
        "observation": 0,
        "action": [],
        "reward": 0.0,
        "discount": 0.0,
        "is_terminal": False,
        "is_first": False,
        "is_last": False,
        "tag": "",
    }


@pytest.mark.parametrize("name", sorted(rlds_types.CORE_STEP_FIELDS))
def test_step_metadata_cannot_take_the_place_of_a_field(name: str) -> None:
    """The name of a field is refused in the metadata, even if that field is None."""
    with pytest.raises(ValueError, match=f"Invalid Step Metadata.*'{name}'"):
        rlds_types.build_step(None, None, None, None, None, is_first=True, is_last=True, metadata={name: 1})


def test_episode_keeps_its_metadata_beside_its_steps() -> None:
    """An episode is a flat dict."""
    assert rlds_types.build_episode([1, 2], {"episode_id": "e"}) == {"steps": [1, 2], "episode_id": "e"}


def test_episode_metadata_cannot_take_the_place_of_the_steps() -> None:
    """The name of the steps is refused in the metadata."""
    with pytest.raises(ValueError, match="Invalid Episode Metadata"):
        rlds_types.build_episode([], {"steps": 1})


FLAGS = {"is_first": [True, False], "is_last": [False, True]}


@pytest.mark.parametrize(
    ("steps", "is_valid"),
    [
        (FLAGS, True),
        (FLAGS | {"observation": [0, 1], "anything": [0, 1]}, True),
        ({"is_first": [True, False], "observation": [0, 1]}, False),
        ({"observation": [0, 1], "action": [0, 1]}, False),
    ],
    ids=["flags alone", "more than flags", "no is_last", "no flags"],
)
def test_mandatory_fields_make_a_dataset_valid(steps: dict[str, Any], is_valid: bool) -> None:
    """is_first and is_last are mandatory and nothing else is, as RLDS says."""
    tf = pytest.importorskip("tensorflow")
    episodes = tf.data.Dataset.from_tensors({"steps": tf.data.Dataset.from_tensor_slices(steps), "episode_id": 7})
    assert rlds_types.is_valid_rlds_dataset(episodes) is is_valid


def test_validity_reads_no_data() -> None:
    """An empty dataset has a structure too."""
    tf = pytest.importorskip("tensorflow")
    episodes = tf.data.Dataset.from_tensors({"steps": tf.data.Dataset.from_tensor_slices(FLAGS)})
    assert rlds_types.is_valid_rlds_dataset(episodes.take(0))


def test_what_holds_no_episodes_is_not_valid() -> None:
    """Steps alone, numbers, dense steps and steps that are no dicts are no dataset of episodes."""
    tf = pytest.importorskip("tensorflow")
    dataset = tf.data.Dataset
    assert not rlds_types.is_valid_rlds_dataset(dataset.from_tensor_slices(FLAGS))
    assert not rlds_types.is_valid_rlds_dataset(dataset.range(3))
    assert not rlds_types.is_valid_rlds_dataset(dataset.from_tensors({"steps": FLAGS}))
    assert not rlds_types.is_valid_rlds_dataset(dataset.from_tensors({"steps": dataset.range(3)}))


def test_validity_of_something_else_is_refused() -> None:
    """A list of episodes is no tf.data.Dataset, and the error says so."""
    with pytest.raises(TypeError, match=r"expected a tf\.data\.Dataset of episodes, got list"):
        rlds_types.is_valid_rlds_dataset([])

"""Selected fields and parts of fields: the same everywhere."""

import doctest
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage import selection


@pytest.fixture
def robot(tmp_path: Path) -> rlds_kit.Dataset:
    """One episode of five actions whose observations are nests."""
    with EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(_observation(0))
        for index in range(5):
            observation = _observation(index + 1)
            episode.step(action=index, reward=1.0, observation=observation, terminated=index == 4)
    return rlds_kit.open(tmp_path)


def _observation(index: int) -> dict[str, np.ndarray]:
    return {"state": np.full(3, index, np.float32), "image": np.full((4, 4), index, np.uint8)}


def test_a_path_keeps_its_nest_in_steps_and_fields(robot: rlds_kit.Dataset) -> None:
    """An observation of which a part was selected is still a dict, of that part alone."""
    episode = robot.select("observation/state", "action").episodes[0]
    assert episode.steps[2].keys() == {"observation", "action"}
    assert episode.steps[2]["observation"].keys() == episode["observation"].keys() == {"state"}
    assert episode["observation/state"][:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(KeyError, match="was not selected"):
        episode["reward"]


def test_transitions_of_a_path_have_the_next_observation_in_the_same_nest(robot: rlds_kit.Dataset) -> None:
    """Robot users want the state and not the images, of both observations."""
    batch = robot.select("observation/state", "action").transitions().gather(range(5))
    assert batch["observation"].keys() == batch["next_observation"].keys() == {"state"}
    assert batch["next_observation"]["state"][:, 0].tolist() == [1, 2, 3, 4, 5]
    assert batch["valid"]["next_observation"]["state"].all()
    assert "reward" not in batch


def test_windows_have_the_flags_whatever_was_selected(robot: rlds_kit.Dataset) -> None:
    """Flags cost nothing, and without them the ends of episodes are unknown."""
    batch = robot.select("action").windows(6).gather([0])
    assert batch.keys() == {"action", "is_first", "is_last", "is_terminal", "mask", "valid", "episode", "step"}
    assert batch["is_terminal"].tolist() == [[False] * 5 + [True]]


def test_chunks_take_paths_with_offsets_of_their_own(robot: rlds_kit.Dataset) -> None:
    """A history of states beside one image, in one nest."""
    offsets = {"observation/state": [-1, 0], "observation/image": [0], "action": range(2)}
    batch = robot.chunks(offsets, "repeat").gather([0, 4])
    assert batch["observation"]["state"][..., 0].tolist() == [[0, 0], [3, 4]]
    assert batch["observation"]["image"].shape == (2, 1, 4, 4)
    assert batch["action"].tolist() == [[0, 1], [4, 4]]
    assert batch["valid"]["action"].tolist() == [[True, True], [True, False]]


def test_a_path_that_leads_nowhere_is_named(robot: rlds_kit.Dataset) -> None:
    """The error lists what there is at the place where the path goes wrong."""
    with pytest.raises(KeyError, match=r"no field 'observation/typo'; there are image, state"):
        robot.select("observation/typo")


def test_docstring_examples_hold() -> None:
    """What the docstrings of the module show is true."""
    assert doctest.testmod(selection).failed == 0

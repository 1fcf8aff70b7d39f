"""The dicts and buffers of other libraries have the transitions of the dataset."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import rlds_kit
from rlds_kit import Dataset, SpecError
from rlds_kit.loader.nests import flattened
from rlds_kit.loader.step_columns import StepColumns
from tests.loader.recording import Plan, plain, plans, recorded
from tests.loader.test_step_columns import dense_fields
from tests.storage.truth import same


def read(dataset: Dataset) -> tuple[StepColumns, dict[str, Any]]:
    """The columns and the transitions of a dataset."""
    chosen = dataset.select("observation", "action", "reward", "is_terminal")
    return chosen.arrays(), chosen.transitions().arrays()


@given(plan=plans())
@settings(max_examples=40)
def test_the_dict_has_the_transitions(plan: Plan) -> None:
    """In their order; none crosses a gap, which counts as a timeout."""
    with recorded(plan) as dataset:
        if not {"observation", "action", "reward"} <= {*dense_fields(dataset)}:
            return
        columns, expected = read(dataset)
        if not all(mask.all() for mask in flattened(expected["valid"]).values()):
            return
        made = columns.as_d4rl_dict()
        assert same(made["observations"], expected["observation"])
        assert same(made["next_observations"], expected["next_observation"])
        assert same(made["actions"], expected["action"])
        assert same(made["rewards"], expected["reward"])
        assert made["terminals"].tolist() == expected["next_is_terminal"].tolist()
        assert not (made["terminals"] & made["timeouts"]).any()
        is_end = made["terminals"] | made["timeouts"]
        ends = (np.diff(expected["episode"]) > 0) | (np.diff(expected["step"]) != 1)
        assert is_end[:-1].tolist() == ends.tolist()
        assert is_end[-1:].all()


def test_fields_that_were_not_read_are_named() -> None:
    """A form needs four."""
    with recorded(plain(4)) as dataset, pytest.raises(KeyError, match="expected the field 'action'"):
        dataset.arrays("observation").as_d4rl_dict()


def test_missing_observations_are_an_error() -> None:
    """No form has a place for them."""
    with recorded(plain(4, 3)) as dataset:
        columns, _ = read(dataset)
        columns.valid["observation"][3] = False
        with pytest.raises(SpecError, match="1 steps have no observation"):
            columns.as_d4rl_dict()


def test_missing_actions_are_damage() -> None:
    """Within an episode every step but the last has one."""
    with recorded(plain(4, 3)) as dataset:
        columns, _ = read(dataset)
        columns.valid["action"][1] = False
        with pytest.raises(rlds_kit.DamagedError, match="step 1 of all steps has no action"):
            columns.as_d4rl_dict()


def test_torchrl_samples_slices_of_episodes() -> None:
    """A replay buffer of TorchRL returns consecutive steps of one episode."""
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    torchrl = pytest.importorskip("torchrl.data", reason="needs the extra `trainers`")
    with recorded(plain(9, 7, observation="vector")) as dataset:
        columns, expected = read(dataset)
    made = columns.as_tensordict()
    assert made.batch_size == torch.Size([14])
    assert np.array_equal(made["next", "observation"].numpy(), expected["next_observation"])
    assert np.array_equal(made["action"].numpy(), expected["action"])
    assert made["next", "reward"].shape == (14, 1)
    assert made["episode"].tolist() == expected["episode"].tolist()
    assert made["step"].tolist() == expected["step"].tolist()
    buffer = torchrl.TensorDictReplayBuffer(
        storage=torchrl.LazyTensorStorage(14),
        sampler=torchrl.SliceSampler(slice_len=4, traj_key="episode"),
        batch_size=32,
    )
    buffer.extend(made)
    batch = buffer.sample().reshape(-1, 4)
    assert (batch["episode"] == batch["episode"][:, :1]).all()
    assert (batch["step"].diff(dim=1) == 1).all()
    at = {(int(e), int(s)): row for row, (e, s) in enumerate(zip(expected["episode"], expected["step"], strict=True))}
    for episode, step, seen in zip(batch["episode"][:, 0], batch["step"][:, 0], batch["observation"], strict=True):
        row = at[int(episode), int(step)]
        assert np.array_equal(seen.numpy(), expected["observation"][row : row + 4])


def test_tianshou_samples_transitions() -> None:
    """A replay buffer of Tianshou has them all, and ends of episodes where they are."""
    data = pytest.importorskip("tianshou.data", reason="Tianshou's pandas is older than ours: not in an extra")
    with recorded(plain(9, 7, observation="vector")) as dataset:
        columns, expected = read(dataset)
    buffer = columns.as_replay_buffer()
    assert isinstance(buffer, data.ReplayBuffer)
    assert len(buffer) == 14
    batch, indices = buffer.sample(64)
    assert np.array_equal(batch.obs, expected["observation"][indices])
    assert np.array_equal(batch.obs_next, expected["next_observation"][indices])
    assert np.array_equal(batch.act, expected["action"][indices])
    assert np.array_equal(batch.rew, expected["reward"][indices])
    assert np.array_equal(batch.terminated, expected["next_is_terminal"][indices])
    assert buffer.next(np.array([7])).tolist() == [7]  # the last action of the first episode
    assert buffer.next(np.array([0])).tolist() == [1]


def test_tianshou_takes_nested_observations() -> None:
    """As its own nest of arrays."""
    pytest.importorskip("tianshou.data", reason="Tianshou's pandas is older than ours: not in an extra")
    with recorded(plain(5, observation="dict")) as dataset:
        chosen = dataset.select("observation/pixels", "observation/t", "action", "reward", "is_terminal")
        batch, indices = chosen.arrays().as_replay_buffer().sample(8)
        assert np.array_equal(batch.obs.pixels, chosen.transitions().arrays()["observation"]["pixels"][indices])


def test_d3rlpy_has_the_episodes() -> None:
    """One for each, with all of its actions."""
    pytest.importorskip("d3rlpy", reason="d3rlpy names an older Gymnasium: not in an extra")
    with recorded(plain(9, 7, observation="vector")) as dataset:
        columns, expected = read(dataset)
    episodes = columns.as_mdp_dataset().episodes
    assert [episode.transition_count for episode in episodes] == [8, 6]
    assert np.array_equal(np.concatenate([each.observations for each in episodes]), expected["observation"])
    assert np.array_equal(np.concatenate([each.rewards[:, 0] for each in episodes]), expected["reward"])
    assert [episode.terminated for episode in episodes] == [bool(expected["next_is_terminal"][row]) for row in (7, 13)]

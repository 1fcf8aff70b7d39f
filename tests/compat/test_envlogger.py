"""Programs that were written for EnvLogger record and read with `rlds_kit.compat.envlogger`."""

from pathlib import Path
from typing import Any

import dm_env
import numpy as np
import pytest
import tensorflow_datasets as tfds
from dm_env import specs

import rlds_kit
from rlds_kit.compat import envlogger
from rlds_kit.compat.envlogger.backends import schedulers, tfds_backend_writer

DATA = Path(__file__).parents[1] / "data" / "envlogger"


class Count(dm_env.Environment):
    """Counts to three; the number is what is seen."""

    def __init__(self) -> None:
        self.number, self.closed = 0, False

    def reset(self) -> dm_env.TimeStep:
        """Starts again."""
        self.number = 0
        return dm_env.restart(np.array([0.0], np.float32))

    def step(self, action: Any) -> dm_env.TimeStep:
        """Counts."""
        self.number += 1
        seen = np.array([self.number], np.float32)
        return dm_env.transition(1.0, seen) if self.number < 3 else dm_env.termination(2.0, seen)

    def observation_spec(self) -> specs.Array:
        """A number."""
        return specs.Array((1,), np.float32)

    def action_spec(self) -> specs.DiscreteArray:
        """Two actions."""
        return specs.DiscreteArray(2, np.int64)

    def close(self) -> None:
        """Notes it."""
        self.closed = True


def play(env: Any, episodes: int = 2) -> None:
    """Acts until so many episodes are over."""
    for _ in range(episodes):
        step = env.reset()
        while not step.last():
            step = env.step(np.int64(step.observation[0] % 2))


def step_fn(step: dm_env.TimeStep, _action: Any, _env: Any) -> dict[str, Any]:
    """Data to record with a step."""
    return {"twice": np.int64(2 * step.observation[0])}


def episode_fn(step: dm_env.TimeStep, _action: Any, _env: Any) -> dict[str, Any] | None:
    """Metadata to record with an episode."""
    return {"score": np.float32(4)} if step.last() else None


def test_record_and_read(tmp_path: Path) -> None:
    """The constructor's arguments by position, and the reader's steps in EnvLogger's alignment."""
    env = Count()
    with envlogger.EnvLogger(
        env, step_fn, episode_fn, {"agent": "even"}, data_directory=str(tmp_path), max_episodes_per_shard=1
    ) as logged:
        play(logged)
        assert (logged.number, logged.action_spec()) == (3, env.action_spec())
    assert env.closed
    assert len(list(tmp_path.glob("episodes-*.riegeli"))) == 2
    with envlogger.Reader(data_directory=str(tmp_path)) as reader:
        assert reader.metadata() == {"agent": "even"}
        assert list(reader.episode_metadata()) == [{"score": np.float32(4)}] * 2
        assert len(reader.steps) == 8
        for episode in reader.episodes:
            found = list(episode)
            assert [int(step.timestep.step_type) for step in found] == [0, 1, 1, 2]
            assert [step.action for step in found] == [None, 0, 1, 0]
            assert [step.timestep.reward for step in found] == [None, 1, 1, 2]
            assert [step.timestep.discount for step in found] == [None, 1, 1, 0]
            assert [step.timestep.observation.tolist() for step in found] == [[0], [1], [2], [3]]
            assert [step.custom_data for step in found] == [{"twice": 2 * number} for number in range(4)]
            assert (episode[-1].action, episode[1:3][1].action) == (0, 1)
        with pytest.raises(NotImplementedError, match=r"rlds_kit.open\(directory\).spec"):
            reader.observation_spec()


def test_what_envlogger_wrote_is_read() -> None:
    """The same steps as our own reader of its format finds."""
    from rlds_kit.convert.envlogger.recording import open_recording

    truth = list(open_recording(DATA / "default"))
    with envlogger.Reader(data_directory=DATA / "default") as reader:
        assert [len(episode) for episode in reader.episodes] == [len(each.records) for each in truth]
        assert repr([step.timestep.observation for step in reader.steps]) == repr(
            [record.observation for each in truth for record in each.records]
        )
        assert repr([step.action for step in reader.steps]) == repr(
            [record.action for each in truth for record in each.records]
        )


def test_backends_that_are_given(tmp_path: Path) -> None:
    """An object, or a class that is called; with a scheduler."""
    every_second = schedulers.NEpisodeScheduler(2)
    backend = envlogger.RiegeliBackendWriter(data_directory=tmp_path / "a", scheduler=every_second)
    with envlogger.EnvLogger(Count(), backend=backend) as logged:
        play(logged, 3)
    assert len(rlds_kit.open(tmp_path / "a").episodes) == 2
    with envlogger.EnvLogger(
        Count(), backend=envlogger.RiegeliBackendWriter, data_directory=tmp_path / "b", writer_options="brotli:6"
    ) as logged:
        play(logged, 1)
    assert len(rlds_kit.open(tmp_path / "b").episodes) == 1
    with pytest.raises(NotImplementedError, match="TemporaryDirectory"):
        envlogger.EnvLogger(Count(), backend=envlogger.BackendType.IN_MEMORY)
    with pytest.raises(TypeError, match="unknown_option"):
        envlogger.EnvLogger(Count(), data_directory=tmp_path / "c", unknown_option=1)


def test_episodes_go_to_a_dataset_of_tfds(tmp_path: Path) -> None:
    """As in rlds's notebook of TFDS and EnvLogger: features are given, and TFDS reads the steps of RLDS."""
    config = tfds.rlds.rlds_base.DatasetConfig(
        name="count",
        observation_info=tfds.features.Tensor(shape=(1,), dtype=np.float32),
        action_info=np.int64,
        reward_info=np.float64,
        discount_info=np.float64,
        step_metadata_info={"twice": np.int64},
        episode_metadata_info={"score": np.float32},
    )
    backend = tfds_backend_writer.TFDSBackendWriter(
        data_directory=str(tmp_path), split_name="train", max_episodes_per_file=500, ds_config=config
    )
    env = Count()
    with envlogger.EnvLogger(env, step_fn=step_fn, episode_fn=episode_fn, backend=backend) as logged:
        play(logged)
    assert env.closed
    found = list(tfds.as_numpy(tfds.builder_from_directory(str(tmp_path)).as_dataset(split="train")))
    assert [float(episode["score"]) for episode in found] == [4, 4]
    steps = list(found[0]["steps"])
    assert [int(step["action"]) for step in steps] == [0, 1, 0, 0]
    assert [float(step["reward"]) for step in steps] == [1, 1, 2, 0]
    assert [int(step["twice"]) for step in steps] == [0, 2, 4, 6]
    assert [bool(step["is_terminal"]) for step in steps] == [False, False, False, True]
    assert [bool(step["is_first"]) for step in steps] == [True, False, False, False]

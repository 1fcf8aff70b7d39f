"""The last rows of episodes that an autoreset ends in the same step."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

import rlds_kit
from rlds_kit import logger
from rlds_kit.logger import vector_info
from rlds_kit.storage.batch_recorder import BatchRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.shard_set import ShardSet
from rlds_kit.storage.shard_writer import ShardWriter


class _Counted(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Counts the steps of an episode in its infos."""

    _count = 0

    def reset(self, **options: Any) -> Any:
        """Begins to count."""
        self._count = 0
        observation, info = super().reset(**options)
        return observation, {**info, "count": 0}

    def step(self, action: Any) -> Any:
        """Counts."""
        self._count += 1
        *result, info = super().step(action)
        return *result, {**info, "count": self._count}


class _Statistics(VectorWrapper[Any, Any, Any, Any, Any]):
    """Adds statistics of the episodes that have ended, as RecordEpisodeStatistics does, but no times."""

    def step(self, actions: Any) -> Any:
        """Adds them, with masks."""
        observations, rewards, terminated, truncated, infos = super().step(actions)
        ended = np.logical_or(terminated, truncated)
        if ended.any():
            infos |= {"episode": {"l": np.where(ended, 7, 0), "_l": ended}, "_episode": ended}
        return observations, rewards, terminated, truncated, infos


def _envs() -> VectorEnv[Any, Any, Any]:
    makes = [lambda: _Counted(gymnasium.make("CartPole-v1"))] * 3
    return _Statistics(SyncVectorEnv(makes, autoreset_mode=AutoresetMode.SAME_STEP))


def _play(directory: Path, **options: Any) -> list[bytes]:
    """Records some steps; returns the content digests of all episodes."""
    with logger.VectorLogger(_envs(), directory, **options) as envs:
        envs.reset(seed=5)
        for step in range(120):
            envs.step(np.array([0, 1, step % 2]))
    return sorted(episode.content_digest for episode in rlds_kit.open(directory).episodes)


def _fail(*_: object) -> None:
    pytest.fail("a row was recorded by itself")


def test_last_rows_of_the_same_step_are_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With their infos, and the same as if each was recorded by itself, which a callback requires."""
    by_rows = _play(tmp_path / "rows", info_fn=lambda info: info)
    monkeypatch.setattr(BatchRecorder, "append_row", _fail)
    assert _play(tmp_path / "columns") == by_rows
    assert len(by_rows) > 20
    (last, *_) = (step for step in rlds_kit.open(tmp_path / "columns").episodes[0].steps if step["is_last"])
    assert last["info"]["episode"] == {"l": 7}
    assert last["info"]["count"] == rlds_kit.open(tmp_path / "columns").episodes[0].length - 1


@pytest.mark.parametrize("damage", ["final_obs", "_final_obs", "final_info", "_final_info"])
def test_last_rows_that_are_no_columns_are_recorded_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """As objects, or with masks that leave out an environment: the same as with a callback."""
    step = _Statistics.step

    def damaged(self: _Statistics, actions: Any) -> Any:
        *result, infos = step(self, actions)
        if damage in infos:
            batch = infos[damage]
            infos[damage] = (
                np.array([*_rows(batch, infos)], object) if damage[0] != "_" else batch & [True, True, False]
            )
        return *result, infos

    monkeypatch.setattr(_Statistics, "step", damaged)
    if damage != "final_info":  # which must be a dict with a callback too
        assert _play(tmp_path / "columns") == _play(tmp_path / "rows", info_fn=lambda info: info)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_infos_of_last_rows_are_encoded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: AutoresetMode
) -> None:
    """With all other rows, as soon as their columns are known; the same as if each block was encoded by itself."""
    alone, write = list[int](), ShardWriter.block

    def counted(self: Any, *arguments: Any) -> int:
        alone.append(1)
        return write(self, *arguments)

    def played(directory: Path) -> list[bytes]:
        inner = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3, autoreset_mode=mode)
        with logger.VectorLogger(_Statistics(inner), directory, policy=FlushPolicy.manual()) as envs:
            envs.reset(seed=5)
            for step in range(400):
                envs.step(np.array([0, 1, step % 2]))
                if step % 80 == 79:
                    envs.recorder.flush()
        return sorted(episode.content_digest for episode in rlds_kit.open(directory).episodes)

    monkeypatch.setattr(ShardWriter, "block", counted)
    together = played(tmp_path / "together")
    few = len(alone)
    monkeypatch.setattr(ShardSet, "_write_encoded", lambda *_: False)
    monkeypatch.setattr(ShardSet, "_together", lambda *_: [])
    assert played(tmp_path / "alone") == together
    assert few < 6  # the first ones that have the columns
    assert len(alone) - few > 60


def _rows(batch: Any, infos: dict[str, Any]) -> Iterator[Any]:
    for lane in range(3):
        yield vector_info.final_observation({**infos, "final_obs": batch}, lane, 3, None)

"""The last rows of episodes that an autoreset ends in the same step."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

import rlds_kit
from rlds_kit import EpisodeEnd, logger
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


class _Said(_Counted):
    """Has a text in its infos too, which no column of a batch has."""

    def step(self, action: Any) -> Any:
        """Adds it."""
        *result, info = super().step(action)
        return *result, {**info, "say": f"step {self._count}"}


class _Measured(_Counted):
    """Has statistics of its own in its infos."""

    def step(self, action: Any) -> Any:
        """Adds them."""
        *result, info = super().step(action)
        return *result, {**info, "episode": {"l": self._count}}


def _envs(wrapper: type[_Counted] = _Counted) -> VectorEnv[Any, Any, Any]:
    makes = [lambda: wrapper(gymnasium.make("CartPole-v1"))] * 3
    return _Statistics(SyncVectorEnv(makes, autoreset_mode=AutoresetMode.SAME_STEP))


def _play(directory: Path, wrapper: type[_Counted] = _Counted, **options: Any) -> list[bytes]:
    """Records some steps; returns the content digests of all episodes."""
    with logger.VectorLogger(_envs(wrapper), directory, **options) as envs:
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


def test_texts_in_last_infos_are_recorded(tmp_path: Path) -> None:
    """In rows of their own."""
    columns = _play(tmp_path / "columns", _Said)
    assert columns == _play(tmp_path / "rows", _Said, info_fn=lambda info: info)
    episode = next(each for each in rlds_kit.open(tmp_path / "columns").episodes if each.end is EpisodeEnd.TERMINATED)
    assert episode.steps[-1]["info"]["say"] == f"step {episode.length - 1}"


def test_statistics_of_environments_beside_those_of_a_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrapper's count where it has some: here for one environment."""
    step = _Statistics.step

    def partial(self: _Statistics, actions: Any) -> Any:
        *result, infos = step(self, actions)
        if "_episode" in infos:
            mask = infos["_episode"] & [True, False, False]
            infos |= {"episode": {"l": np.where(mask, 7, 0), "_l": mask}, "_episode": mask}
        return *result, infos

    monkeypatch.setattr(_Statistics, "step", partial)
    columns = _play(tmp_path / "columns", _Measured)
    assert columns == _play(tmp_path / "rows", _Measured, info_fn=lambda info: info)
    ended = [each for each in rlds_kit.open(tmp_path / "columns").episodes if each.end is EpisodeEnd.TERMINATED]
    lengths = {(each.steps[-1]["info"]["episode"]["l"], each.length - 1) for each in ended}
    assert any(own == length != 7 for own, length in lengths)
    assert any(own == 7 != length for own, length in lengths)


@pytest.mark.parametrize("is_there", [True, False])
def test_times_of_last_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    """They are those of their observations: without one, a row has no time."""
    step = _Statistics.step

    def changed(self: _Statistics, actions: Any) -> Any:
        *result, infos = step(self, actions)
        return *result, infos if is_there else {name: item for name, item in infos.items() if "final_obs" not in name}

    monkeypatch.setattr(_Statistics, "step", changed)
    for name, info_fn in (("columns", None), ("rows", lambda info: info)):
        directory = tmp_path / name
        _play(directory, record_time=True, info_fn=info_fn)
        ended = [each for each in rlds_kit.open(directory).episodes if each.end is EpisodeEnd.TERMINATED]
        assert len(ended) > 20
        for episode in ended:
            *before, last = [row.get("time_ns") for row in episode.steps]
            assert (last is not None) == is_there
            assert (np.diff(np.array(before, np.int64)) >= 0).all()


def test_a_last_observation_of_another_dtype_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not converted to that of the others."""
    step = _Statistics.step

    def widened(self: _Statistics, actions: Any) -> Any:
        *result, infos = step(self, actions)
        for lane in np.flatnonzero(infos.get("_final_obs", ())):
            infos["final_obs"][lane] = infos["final_obs"][lane].astype(np.float64) + 1e-12
        return *result, infos

    monkeypatch.setattr(_Statistics, "step", widened)
    with pytest.warns(UserWarning, match="observation"):
        columns = _play(tmp_path / "columns")
    with pytest.warns(UserWarning, match="observation"):
        assert columns == _play(tmp_path / "rows", info_fn=lambda info: info)
    dtypes = {each.steps[-1]["observation"].dtype.name for each in rlds_kit.open(tmp_path / "columns").episodes}
    assert "float64" in dtypes


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

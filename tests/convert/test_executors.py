"""Conversions on Apache Beam and on Ray."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.errors import FormatError
from rlds_kit.base.executor import Run, on_beam, on_processes, on_ray, serially
from rlds_kit.convert.conversion import convert
from tests.convert.test_resume import converted, numbers, work_of
from tests.convert.troubled import EPISODES

Executor = Callable[..., AbstractContextManager[Run]]


@pytest.fixture(autouse=True)
def _workers_find_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that Beam and Ray start search for modules in the directories of this variable."""
    monkeypatch.setenv("PYTHONPATH", str(Path(rlds_kit.__file__).parents[1]))


@pytest.mark.thorough
@pytest.mark.parametrize("executor", [on_beam, on_ray])
def test_every_executor_continues_a_conversion(executor: Executor, tmp_path: Path) -> None:
    """Two workers convert the parts that one process did not; progress comes for each part and reaches the end."""
    with pytest.raises(OSError, match="No space left"):
        converted(tmp_path, "full", executor=executor(2))
    shares: list[float] = []
    report = converted(tmp_path, executor=executor(2), tell=lambda done, total: shares.append(done / total))
    expected = converted(tmp_path, name="serial", executor=serially())
    assert (report.content_digest, report.steps) == (expected.content_digest, expected.steps)
    assert report.episodes_kept >= 6
    assert numbers(tmp_path / "ours") == list(range(EPISODES))
    assert (shares, shares[-1]) == (sorted(shares), 1)
    with pytest.raises(FormatError, match="episode 9 is broken"):
        converted(tmp_path, "error", name="broken", executor=executor(2))
    assert work_of(tmp_path) == []


def test_relative_paths_reach_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of another directory reads the source; formats of one file are written by one of the workers."""
    monkeypatch.chdir(tmp_path)
    rows, ends = np.arange(6, dtype=np.float32), np.array([0, 0, 1, 0, 0, 1], np.bool_)
    np.savez("a.npz", observations=rows, next_observations=rows + 1, actions=rows, rewards=rows, terminals=ends)
    with pytest.raises(ValueError, match="or an executor"):
        convert("a.npz", "ours", workers=2, executor=on_processes(2))
    assert convert("a.npz", "ours", executor=on_processes(2), part_bytes=1).episodes == 2
    assert convert("ours", "m-v0", "minari", executor=on_processes(2)).episodes == 2

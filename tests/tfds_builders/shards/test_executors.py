"""Every executor writes the same shards, bit for bit, in several processes."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import ray as ray_library

import rlds_kit
from rlds_kit.base.executor import WorkerDiedError
from rlds_kit.tfds_builders.shards import (
    BuildError,
    Run,
    ShardInfo,
    ShardSpec,
    on_beam,
    on_processes,
    on_ray,
    plan,
    serially,
    work,
)
from rlds_kit.tfds_builders.shards.spec import FORMATS, this_worker
from tests.tfds_builders.shards.recorded import files, record

ROOT = Path(__file__).parents[3]
Executor = Callable[..., AbstractContextManager[Run]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> rlds_kit.Dataset:
    """What all of them build from."""
    return rlds_kit.open(record(tmp_path_factory.mktemp("recorded")))


@pytest.fixture(scope="module", autouse=True)
def _workers_find_the_checkout() -> Iterator[None]:
    """Processes that Beam and Ray start search for modules in the directories of this variable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        yield


@pytest.fixture(scope="module")
def on_ray_cluster() -> Iterator[None]:
    """One cluster for all tests: it takes seconds to start."""
    ray_library.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray_library.shutdown()


def _plans(dataset: rlds_kit.Dataset, directory: Path) -> list[ShardSpec]:
    """Three shards in every format."""
    specs = []
    for each in reversed(FORMATS):
        (directory / each).mkdir(parents=True)
        specs += plan(dataset, directory / each, each, shards=3)
    return specs


@pytest.fixture(scope="module")
def expected(dataset: rlds_kit.Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What the serial executor writes."""
    directory = tmp_path_factory.mktemp("serial")
    with serially() as run:
        list(run(work, _plans(dataset, directory)))
    return {each: files(directory / each) for each in FORMATS}


@pytest.mark.parametrize(
    "executor", [on_processes, *(pytest.param(each, marks=pytest.mark.thorough) for each in (on_beam, on_ray))]
)
def test_every_executor_writes_the_same(
    executor: Executor, dataset: rlds_kit.Dataset, tmp_path: Path, expected: dict[str, dict[str, bytes]]
) -> None:
    """Two workers, neither of them this process, write what the serial executor writes."""
    with executor(2) as run:
        infos = list(run(work, _plans(dataset, tmp_path)))
    assert {each: files(tmp_path / each) for each in FORMATS} == expected
    assert len({info.worker for info in infos} - {this_worker()}) == 2


def test_shards_differ_between_plans(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """The comparison can fail: shuffled, the episodes lie elsewhere."""
    one, other = (plan(dataset, tmp_path, "riegeli", shards=3, shuffle_seed=seed) for seed in (0, 1))
    assert [spec.digest for spec in one] != [spec.digest for spec in other]


def _killed_once(spec: ShardSpec) -> ShardInfo:
    """Kills its process as if memory had run out, the first time."""
    mark = spec.directory / ".killed"
    if spec.number == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return work(spec)


@pytest.mark.thorough
def test_worker_that_is_killed_is_reported_and_the_build_can_go_on(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """The error names the shard; the same plan again completes."""
    specs = plan(dataset, tmp_path, "riegeli", shards=3)
    with pytest.raises(WorkerDiedError, match=r"shard 2 of 3\) died of signal SIGKILL"), on_processes(1) as run:
        list(run(_killed_once, specs))
    assert not specs[1].path.exists()
    with on_processes(1) as run:
        infos = list(run(_killed_once, specs))
    assert sum(len(info.episodes) for info in infos) == len(dataset.episodes)


@pytest.mark.usefixtures("on_ray_cluster")
def test_ray_runs_the_task_of_a_dead_worker_again(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """The caller does not notice."""
    specs = plan(dataset, tmp_path, "riegeli", shards=3)
    with on_ray() as run:
        infos = list(run(_killed_once, specs))
    assert (tmp_path / ".killed").exists()
    assert sum(len(info.episodes) for info in infos) == len(dataset.episodes)


def _failing(spec: ShardSpec) -> ShardInfo:
    raise BuildError(f"{spec.file} cannot be written")


@pytest.mark.thorough
@pytest.mark.parametrize("executor", [serially, on_processes, on_ray, on_beam])
@pytest.mark.usefixtures("on_ray_cluster")
def test_error_of_a_task_comes_through(executor: Executor, dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """The caller gets the error of the task, with its text."""
    specs = plan(dataset, tmp_path, "riegeli", shards=2)[:1]
    with pytest.raises(BuildError, match=f"{specs[0].file} cannot be written"), executor() as run:
        list(run(_failing, specs))


@pytest.mark.parametrize("name", ["DaskRunner", "DirectRunner"])
def test_beam_refuses_runners_that_lose_outputs(name: str) -> None:
    """By name, with the reason."""
    with pytest.raises(ValueError, match=f"{name} is refused"), on_beam(runner=name):
        pass


def test_beam_takes_no_workers_beside_a_runner() -> None:
    """The runner's own options determine the number."""
    with pytest.raises(ValueError, match="its own options"), on_beam(2, runner="FnApiRunner"):
        pass

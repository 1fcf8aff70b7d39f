"""Builds a dataset in another format or in other shards, with any number of workers."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from rlds_kit.base import lock
from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.base.executor import ExecutorError, Run, on_processes
from rlds_kit.base.executor.run import Notify, P, R
from rlds_kit.base.whole_file import make_directory
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.loader.last_step import LastStep
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.finish import LOCK, finish, move, require_own
from rlds_kit.tfds_builders.shards.finished_shard import remove_temporary
from rlds_kit.tfds_builders.shards.plan import TARGET_BYTES, plan
from rlds_kit.tfds_builders.shards.spec import Format, ShardInfo
from rlds_kit.tfds_builders.shards.work import work

BUILDING: Final = ".building"
"""The suffix of the directory of an unfinished build, beside the destination."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""A callback that gets the name of the phase, the number of shards done, and the number of all shards."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a build.

    Attributes:
      destination: of the build.
      format: of its shards.
      episodes: number of episodes.
      steps: of all of them.
      size: of all shards, in bytes.
      shards: one for each file, in order.
    """

    destination: Path
    format: Format
    episodes: int
    steps: int
    size: int
    shards: tuple[ShardInfo, ...]


def convert_shards(  # noqa: PLR0913  the arguments of a plan, and those of its execution
    source: str | os.PathLike[str] | Dataset,
    destination: str | os.PathLike[str],
    format: Format,  # noqa: A002  the word that users know
    *,
    executor: AbstractContextManager[Run] | None = None,
    shards: int | None = None,
    target_bytes: int = TARGET_BYTES,
    shuffle_seed: int | None = None,
    features: Any = None,  # tfds.features.FeaturesDict
    last_step: LastStep = "zeros",
    progress: Progress | None = None,
) -> Report:
    """Builds a dataset shard by shard; all executors write the same bytes.

    Counts and digests of all episodes are compared after writing. Until then the build is in a directory beside the
    destination, whose name ends in ".building"; after an interruption the same call continues it.

    Args:
      source: a dataset, its directory, or a view of some of its episodes.
      destination: must not exist, or be empty. For TFDS to find it by name: "<data_dir>/<name>/<version>".
      format: "tfrecord", "array_record" or "riegeli".
      executor: `serially()`, `on_processes()`, `on_beam()` or `on_ray()`; by default a process for every core.
      shards: as for `plan`.
      target_bytes: as for `plan`.
      shuffle_seed: as for `plan`.
      features: as for `plan`.
      last_step: as for `plan`.
      progress: called for each shard that is written, and again when it is read back.

    Raises:
      ValueError: an argument is out of range.
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: `destination` exists and is not an empty directory.
      BuildError: the source is damaged, a worker died, a written episode differs from the source, or another process is
        building at the same destination.
      SpecError: TFDS has no feature for a field.
      OSError: a file cannot be read or written.

    >>> convert_shards("data/pong", "data/tfds/pong/1.0.0", "tfrecord", shards=8)  # doctest: +SKIP
    """
    dataset = source if isinstance(source, Dataset) else open_dataset(source)
    target = Path(destination).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DatasetExistsError(f"{target}: expected a path that does not exist, or an empty directory")
    building = target.with_name(target.name + BUILDING)
    name, version = identity(dataset, target)
    limits: dict[str, Any] = {"shards": shards, "target_bytes": target_bytes, "shuffle_seed": shuffle_seed}
    specs = plan(dataset, building, format, name=name, features=features, last_step=last_step, **limits)
    make_directory(building)
    with _alone(building):
        remove_temporary(building)
        require_own(specs)
        try:
            with on_processes() if executor is None else executor as run:
                reporting = _WithProgress(run, progress)
                infos = finish(specs, reporting(work, specs, shared=building), reporting, version=version)
        except ExecutorError as error:
            raise BuildError(str(error)) from error
        (building / LOCK).unlink()
        move(building, target)
    episodes, steps = sum(len(info.episodes) for info in infos), sum(info.steps for info in infos)
    return Report(target, format, episodes, steps, sum(info.size for info in infos), infos)


@contextlib.contextmanager
def _alone(building: Path) -> Iterator[None]:
    """Locks an unfinished build against other processes of this machine; the system unlocks it when this one ends.

    Raises:
      BuildError: another process builds there.
    """
    path = building / LOCK
    with path.open("ab") as file:
        if not lock.is_locked(path):
            if not lock.acquire(file.fileno()):
                raise BuildError(
                    f"{building}: this file system has no locks (flock), so that another process could "
                    "change the build; build on a local disk, and copy the result"
                )
            if path.exists():  # else another process has just finished the build and removed the file
                yield
                return
    raise BuildError(f"{building}: another process is building here; wait for it, or build at another destination")


def identity(dataset: Dataset, destination: Path) -> tuple[str, str]:
    """Name and version for TFDS: from "<name>/<version>" at the end of the destination, else from the dataset.

    >>> identity(rlds_kit.open("data/Pong 2"), Path("out"))  # doctest: +SKIP
    ('pong_2', '1.0.0')
    """
    has_version = re.fullmatch(r"\d+\.\d+\.\d+", destination.name)
    given = destination.parent.name if has_version else str(dataset.description.get("name") or dataset.path.name)
    name = re.sub(r"\W+", "_", given.lower(), flags=re.ASCII).strip("_")
    return name if name[:1].isalpha() else f"episodes_{name}".rstrip("_"), destination.name if has_version else "1.0.0"


@dataclass(frozen=True, slots=True)
class _WithProgress:
    """A `Run` that calls a progress callback after each shard."""

    run: Run
    progress: Progress | None

    def __call__(
        self, task: Callable[[P], R], parts: Sequence[P], *, shared: Path | None = None, notify: Notify | None = None
    ) -> Iterator[R]:
        for done, report in enumerate(self.run(task, parts, shared=shared, notify=notify), 1):
            if self.progress is not None:
                self.progress("writing" if task is work else "reading back", done, len(parts))
            yield report

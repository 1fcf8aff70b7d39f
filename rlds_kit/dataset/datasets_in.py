"""Finds the datasets in a directory and its subdirectories."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlds_kit.base.errors import DamageWarning, RldsKitError
from rlds_kit.dataset.dataset import open_dataset
from rlds_kit.riegeli import RiegeliError
from rlds_kit.storage.directory import is_dataset, shards_in


@dataclass(frozen=True, slots=True)
class Found:
    """A dataset that was found in a directory.

    Attributes:
      path: its directory.
      environment: the id of the recorded environment; empty if unknown.
      episodes: number of episodes, without those that are being recorded.
      steps: of these episodes.
      bytes: of its shards.
      problem: why it cannot be opened; the numbers are 0 then.
    """

    path: Path
    environment: str = ""
    episodes: int = 0
    steps: int = 0
    bytes: int = 0
    problem: str = ""


def datasets_in(root: str | os.PathLike[str]) -> Iterator[Found]:
    """The datasets in a directory, including itself, in the order of their paths. Hidden directories are skipped.

    Raises:
      NotADirectoryError: `root` is not a directory.

    >>> [found.path.name for found in datasets_in("data")]  # doctest: +SKIP
    ['cartpole', 'pong']
    """
    if not Path(root).is_dir():
        raise NotADirectoryError(f"{root}: expected a dataset, or a directory with some below it")
    for place, below, _ in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if is_dataset(Path(place)):
            below.clear()  # layers, not datasets
            yield _opened(Path(place))


def _opened(path: Path) -> Found:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)  # `rlds-kit verify` reports damage
            dataset = open_dataset(path)
            environment = str(dataset.environment.get("id", ""))
        size = sum(shard.stat().st_size for shard in shards_in(path))
        return Found(path, environment, len(dataset.episodes), sum(dataset.lengths()), size)
    except (RldsKitError, RiegeliError, OSError) as error:
        return Found(path, problem=str(error))

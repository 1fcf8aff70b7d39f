"""Records the inputs with rlds_kit, and hands the same steps to the formats of the peers. Made once, then kept."""

import json
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
import rlds_kit
from pipelines_side import environments
from rlds_kit.logger import GymnasiumLogger

VERSION: Final = 6
"""Of what is in an input: one of another version is not used."""
FIELDS: Final = ("observation", "action", "reward", "discount", "is_first", "is_last", "is_terminal")


@dataclass(frozen=True)
class Input:
    """Steps of a kind.

    Attributes:
      title: for the tables.
      kind: "ale", "atari", "camera" or "vectors".
      steps: actions taken, at least; of each game if there are games. The last episode is cut where they end.
    """

    title: str
    kind: str
    steps: int

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{self.kind}-{self.steps}-v{VERSION}"


def make(given: Input, workdir: Path) -> Path:
    """Records an input below `workdir`, unless it is there.

    Returns:
      A folder with `recording`, a dataset of rlds_kit, and `arrays`, the same as NumPy files.
    """
    folder = workdir / given.name
    if not (folder / "arrays").is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        _record(given, folder / "recording")
        _export(folder / "recording", folder / "arrays")
    return folder


def once(folder: Path, write: Callable[[Path], object]) -> Path:
    """Calls `write` with a folder of another name, and renames that, unless `folder` is there."""
    if not folder.is_dir():
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        write(partial)
        partial.rename(folder)
    return folder


def _record(given: Input, out: Path) -> None:
    """A random policy, the logger with its defaults."""
    for env in _environments(given.kind):
        env.action_space.seed(0)
        with GymnasiumLogger(env, out) as logged:
            ended = True
            for step in range(given.steps):
                if ended:
                    logged.reset(seed=0 if step == 0 else None)
                *_, terminated, truncated, _ = logged.step(logged.action_space.sample())
                ended = terminated or truncated


def _environments(kind: str) -> Iterable[gymnasium.Env[Any, Any]]:
    if kind in ("ale", "atari"):
        return map(environments.ale if kind == "ale" else environments.atari, environments.GAMES)
    return [environments.Camera() if kind == "camera" else environments.Vectors()]


def _export(recording: Path, out: Path) -> None:
    """Every field as one array over all episodes, and the lengths of the episodes."""
    episodes = rlds_kit.open(recording).episodes
    lengths = [len(episode) for episode in episodes]

    def write(partial: Path) -> None:
        partial.mkdir(parents=True)
        (partial / "lengths.json").write_text(json.dumps(lengths))
        for field in FIELDS:
            first = episodes[0][field]
            into = np.lib.format.open_memmap(
                partial / f"{field}.npy", "w+", first.dtype, (sum(lengths), *first.shape[1:])
            )
            row = 0
            for episode in episodes:
                into[row : row + len(episode)] = episode[field]
                row += len(episode)
            into.flush()

    once(out, write)

"""A pre-recorded trace: what an environment returned, row by row, so that playing it costs next to nothing.

A row is what one call of `reset` or `step` returned. Needs NumPy only: peers read the same files.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np


class Trace:
    """A trace in a folder. Rows are numbered on and on: after the last one comes the first again.

    Attributes:
      name: of the folder.
      observation: `[n, *shape]`.
      action: `[n]` or `[n, size]`, what led to each row; zeros where `first`.
      reward: `[n]` float64, 0 where `first`.
      first, terminated, truncated: `[n]` bool.
      infos: what the environment returned beside it, a dict for each row.
      actions: how many actions there are; None where they are vectors in [-1, 1].
    """

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        # A memmap would turn every row into another memmap; a plain array on top of it does not.
        self.observation = np.asarray(np.load(folder / "observation.npy", mmap_mode="r"))
        self.action = np.load(folder / "action.npy")
        self.reward = np.load(folder / "reward.npy")
        self.first, self.terminated, self.truncated = np.load(folder / "flags.npy")
        described = json.loads((folder / "trace.json").read_text())
        self.actions: int | None = described["actions"]
        self.infos = [_info(info) for info in described["infos"]] or [{}] * len(self.first)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def row_bytes(self) -> int:
        """Bytes of an observation and its action."""
        return self.observation[0].nbytes + self.action[0].nbytes

    def whole_episodes(self, rows: int) -> int:
        """The smallest number of rows, at least `rows`, that ends where an episode ends."""
        ends = np.flatnonzero(self.terminated | self.truncated) + 1
        cycles, rest = divmod(rows, len(self))
        return cycles * len(self) + int(ends[np.searchsorted(ends, rest)] if rest else 0)


def save(
    folder: Path, rows: list[tuple[Any, Any, float, bool, bool, bool, dict[str, Any]]], actions: int | None
) -> None:
    """Writes a trace.

    Args:
      folder: is made; appears when it is complete.
      rows: observation, action, reward, first, terminated, truncated, info.
      actions: as `Trace.actions`.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    observation, action, reward, *flags, infos = zip(*rows, strict=True)
    np.save(partial / "observation.npy", np.stack(observation))
    np.save(partial / "action.npy", np.stack(action))
    np.save(partial / "reward.npy", np.array(reward, np.float64))
    np.save(partial / "flags.npy", np.array(flags, np.bool_))
    described = {"actions": actions, "infos": infos if any(infos) else []}
    (partial / "trace.json").write_text(json.dumps(described, default=_plain))
    partial.rename(folder)


def _plain(item: Any) -> Any:  # what JSON does not know: the NumPy scalars of an info
    return item.item()


def _info(info: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples and no uint32: ALE's seeds are both."""
    return {key: tuple(map(np.uint32, item)) if isinstance(item, list) else item for key, item in info.items()}

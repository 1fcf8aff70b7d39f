"""A dataset of twelve episodes and two layers, and the accidents that happen to copies of it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.manifest import PATTERN, read_manifests
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools.upkeep.closing import digest_in

EPISODES: Final = 12


def record(directory: Path, *, per_shard: int = 4) -> Path:
    """Records three shards, and annotates the first and the last episode."""
    with Recorder(directory, max_shard_episodes=per_shard) as recorder:
        for number in range(EPISODES):
            episode = recorder.start_episode(metadata={"number": number})
            for step in range(3):
                episode.append({"observation": float(step)}, {"action": step} if step else None)
            episode.end(EpisodeEnd.TERMINATED)
    dataset = rlds_kit.open(directory)
    dataset.annotate("review", [layers.tag(dataset.episodes[0], "crash")], source="anna")
    dataset.annotate("model", [layers.tag(dataset.episodes[-1], "good")], source="critic")
    return directory


def layer_of(directory: Path, name: str) -> Path:
    """The file of a layer."""
    (path,) = (directory / "layers" / name).iterdir()
    return path


def missing_shard(directory: Path) -> str:
    """A shard was not copied."""
    path = shards_in(directory)[1]
    path.unlink()
    return path.name


def empty_shard(directory: Path) -> str:
    """The copy of a shard has no bytes."""
    path = shards_in(directory)[0]
    path.write_bytes(b"")
    return path.name


def cut_shard(directory: Path) -> str:
    """The copy of the last shard broke off."""
    path = shards_in(directory)[2]
    path.write_bytes(path.read_bytes()[:900])
    return path.name


def missing_layer(directory: Path) -> str:
    """The file of a layer was not copied."""
    path = layer_of(directory, "review")
    path.unlink()
    return path.name


def missing_folder(directory: Path) -> str:
    """Folders were not copied: `cp data/* copy`."""
    shutil.rmtree(directory / "layers")
    return "annotations-"


ACCIDENTS: Final[tuple[Callable[[Path], str], ...]] = (
    missing_shard,
    empty_shard,
    cut_shard,
    missing_layer,
    missing_folder,
)
"""Each does something to a copy and returns what messages must name."""


def cut_layer(directory: Path) -> str:
    """The copy of a layer's file broke off."""
    path = layer_of(directory, "model")
    path.write_bytes(path.read_bytes()[:-1])
    return path.name


def manifests_of(directory: Path) -> list[Path]:
    """The manifests of a dataset."""
    return sorted(directory.glob(PATTERN))


def require_noted(directory: Path) -> None:
    """Fails unless the manifests name every shard and every file of a layer, as they are, and nothing else."""
    said = read_manifests(directory)
    there = {path.relative_to(directory).as_posix(): path.stat().st_size for path in directory.rglob("*.riegeli")}
    assert there
    assert {path: closed.bytes for path, closed in said.closed.items()} == there
    for path, closed in said.closed.items():
        assert closed.digest == digest_in(directory, path)
    assert (said.damaged, said.accepted) == ({}, {})
    shown = [closed.episodes for path, closed in said.closed.items() if path.startswith("episodes-")]
    assert sum(shown) == len(rlds_kit.open(directory).episodes)

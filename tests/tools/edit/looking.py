"""What the tests look at in datasets."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.spec import Dict
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.survey import survey
from tests.tools.upkeep.mending import BLOCKS_OF_4, DECLARED, rows_of


def record_one(directory: Path, *, seed: int = 0, length: int = 6, declared: Dict = DECLARED, **about: str) -> Path:
    """Records a dataset of one episode."""
    with Recorder(directory, declared, policy=BLOCKS_OF_4, about=about) as recorder:
        episode = recorder.start_episode(metadata={"seed of rows": seed})
        list(rows_of(episode, random.Random(seed), length))
        episode.end(EpisodeEnd.TRUNCATED)
    return directory


def digests(*directories: Path) -> Counter[bytes]:
    """How often each content digest is in some datasets."""
    return Counter(episode.content_digest for each in directories for episode in rlds_kit.open(each).episodes)


def facts(directory: Path) -> dict[Any, tuple[Any, ...]]:
    """All that an episode has beside its steps, by id."""
    return {
        episode.id: (
            *(episode.content_digest, episode.length, episode.end, episode.metadata, episode.seed, episode.options),
            *(episode.provenance, episode.run_metadata, episode.started, episode.terminated, episode.truncated),
        )
        for episode in rlds_kit.open(directory).episodes
    }


def blocks(directory: Path) -> dict[bytes, list[bytes]]:
    """The bytes of each block of each episode."""
    found = {}
    for path in shards_in(directory):
        file = ShardFile(path)
        for episode_id, episode in survey(file).episodes.items():
            found[episode_id] = [file.record(block.position) for block in episode.blocks]
    return found


def leftovers(directory: Path) -> list[str]:
    """What is in a directory under hidden names."""
    return [path.name for path in directory.iterdir() if path.name.startswith(".")]

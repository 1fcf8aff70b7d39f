"""Datasets to damage: interleaved episodes of every kind of field, in several shards."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base.step import ACTED_FIELDS, FLAGS, STEP_INDEX, EpisodeEnd
from rlds_kit.riegeli import blocks
from rlds_kit.spec import Dict
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile, read_block_prefix
from rlds_kit.storage.sightings import SightedBlock

DECLARED = Dict(
    {
        "observation": Dict(
            {
                "pixels": specs.Array((6, 5), np.uint8),
                "speed": specs.Array((2,), np.float32),
                "words": specs.Text(),
                "near": specs.Array((None, 3), np.int16),
                "goal": specs.Optional(specs.Array((), np.int64)),
            }
        ),
        "action": specs.Array((), np.int64, minimum=0, maximum=99),
        "reward": specs.Array((), np.float64),
        "discount": specs.Array((), np.float32),
    }
)
BLOCKS_OF_4 = FlushPolicy(block_rows=4, interval=None)


def observed(rng: random.Random, step: int) -> dict[str, Any]:
    """A row's observation and the dynamic fields beside it."""
    observation = {
        "pixels": np.full((6, 5), rng.randrange(256), np.uint8),
        "speed": np.array([rng.random(), step], np.float32),
        "words": "ä" * rng.randrange(4),
        "near": np.arange(3 * rng.randrange(3), dtype=np.int16).reshape(-1, 3),
        "goal": rng.choice([None, np.int64(step)]),
    }
    info = rng.choice([{}, {"lives": step}, {"lives": "three"}, {"nested": {"deep": [1, None, b"x"]}}])
    return {"observation": observation, "info": info}


def acted(rng: random.Random, step: int) -> dict[str, Any]:
    """What was done in a step."""
    return {"action": step % 100, "reward": np.float64(rng.random()), "discount": np.float32(1)}


def rows_of(episode: EpisodeRecorder, rng: random.Random, length: int) -> Iterator[None]:
    """Records a row for each request."""
    for step in range(length):
        episode.append(observed(rng, step), acted(rng, step - 1) if step else None)
        yield


def record(
    directory: Path,
    *,
    lengths: tuple[int, ...] = (9, 13, 1, 6),
    interleaved: bool = True,
    policy: FlushPolicy = BLOCKS_OF_4,
    max_shard_episodes: int | None = None,
    seed: int = 0,
) -> Path:
    """Records episodes that end in all ways, two of them at a time, and returns the directory."""
    rng = random.Random(seed)
    endings = [EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED]
    with Recorder(directory, DECLARED, policy=policy, max_shard_episodes=max_shard_episodes) as recorder:
        for first in range(0, len(lengths), 2):
            chosen = lengths[first : first + 2]
            episodes = [recorder.start_episode(metadata={"number": first + n}, seed=n) for n in range(len(chosen))]
            growing = [rows_of(episode, rng, length) for episode, length in zip(episodes, chosen, strict=True)]
            if interleaved:
                for _ in range(max(chosen)):
                    for rows in growing:
                        next(rows, None)
            for number, (episode, rows) in enumerate(zip(episodes, growing, strict=True), first):
                list(rows)
                episode.end(endings[number % 3], metadata={"score": number})
    return directory


def record_and_die(directory: Path, *, policy: FlushPolicy = BLOCKS_OF_4, lengths: tuple[int, ...] = (9, 6)) -> Path:
    """Records, and stops as a process does that is killed: one episode has ended, the last one has not."""
    rng = random.Random(1)
    recorder = Recorder(directory, DECLARED, policy=policy)
    for number, length in enumerate(lengths):
        episode = recorder.start_episode(metadata={"number": number})
        list(rows_of(episode, rng, length))
        if number < len(lengths) - 1:
            episode.end(EpisodeEnd.TRUNCATED)
    recorder.flush()
    recorder._intake._shards.abandon()
    return directory


def shard(directory: Path) -> Path:
    """The only shard of a dataset."""
    (path,) = shards_in(directory)
    return path


def damage(path: Path, position: int, size: int = 1) -> None:
    """Changes bytes of a file."""
    raw = bytearray(path.read_bytes())
    for at in range(position, position + size):
        raw[at] ^= 0x5A
    path.write_bytes(raw)


def damage_column(path: Path, block: SightedBlock, field: str) -> tuple[str, int, int]:
    """Changes a byte of a column; returns its path, first row and end."""
    column = next(each for each in block.header.columns if each.path == field and each.length)
    base = read_block_prefix(ShardFile(path), block.position).payload_base
    damage(path, blocks.physical(block.position, base + column.offset))
    return (column.path, column.first_row, column.first_row + column.count)


def content(directory: Path) -> dict[UUID, list[dict[str, Any]]]:
    """Every step of every episode, with those fields that are defined in it."""
    return {episode.id: _defined_steps(episode) for episode in rlds_kit.open(directory).episodes}


def _defined_steps(episode: rlds_kit.Episode) -> list[dict[str, Any]]:
    masks = {name: episode.mask(name) for name in episode.fields if name not in FLAGS}
    return [{name: step[name] for name, mask in masks.items() if mask[row]} for row, step in enumerate(episode.steps)]


def assert_equals_or_absent(copy: Path, original: Mapping[UUID, list[dict[str, Any]]]) -> int:
    """Every step of `copy` is a step of the original, or lacks fields; returns how many are whole."""
    whole = 0
    for episode in rlds_kit.open(copy).episodes:
        steps = _defined_steps(episode)
        counted = any(STEP_INDEX in step for step in steps)
        numbers = [step.pop(STEP_INDEX, None) if counted else row for row, step in enumerate(steps)]
        known = [number for number in numbers if number is not None]
        assert known == sorted(set(known))
        for step, number, following in zip(steps, numbers, [*numbers[1:], None], strict=True):
            if number is None:
                continue  # which step it was is among what was lost
            whole += _equals_or_absent(step, original[episode.id][number])
            if following is not None and following != number + 1:
                assert not step.keys() & set(ACTED_FIELDS)
    return whole


def _equals_or_absent(ours: Any, theirs: Any) -> bool:
    """Compares a field; True if nothing of it is absent."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert ours.keys() <= theirs.keys()
        parts = [_equals_or_absent(ours[key], theirs[key]) for key in ours]
        return all(parts) and ours.keys() == theirs.keys()
    assert type(ours) is type(theirs)
    if isinstance(ours, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()
    else:
        assert repr(ours) == repr(theirs)
    return True

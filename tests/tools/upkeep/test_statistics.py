"""`statistics`: numbers that can be counted by hand."""

import random
from pathlib import Path

import numpy as np
import pytest

from rlds_kit import DamagedError, EpisodeEnd, NotADatasetError
from rlds_kit import spec as specs
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.statistics import Summary, statistics
from rlds_kit.tools.upkeep.survey import survey
from tests.tools.upkeep.mending import DECLARED, damage_column, record, record_and_die, rows_of, shard

SMALL = specs.Dict({"observation": specs.Array((3,), np.float32), "reward": specs.Array((), np.float64)})


def record_rewards(directory: Path, *episodes: list[object]) -> Path:
    """Records one episode for each list of rewards, in blocks of two rows."""
    with Recorder(directory, specs.Dict({}), policy=FlushPolicy(block_rows=2)) as recorder:
        for rewards in episodes:
            episode = recorder.start_episode()
            episode.append({"observation": np.zeros(3, np.float32)})
            for reward in rewards:
                episode.append({"observation": np.ones(3, np.float32)}, {"reward": reward})
            episode.end(EpisodeEnd.TERMINATED)
    return directory


def test_episodes_are_counted_by_ending(tmp_path: Path) -> None:
    """All endings but those that no episode has."""
    assert statistics(record(tmp_path / "d")).endings == {"terminated": 2, "truncated": 1, "interrupted": 1}


def test_incomplete_episodes_are_counted(tmp_path: Path) -> None:
    """An episode whose writer no longer runs has steps like any other."""
    found = statistics(record_and_die(tmp_path / "d"))
    assert (found.endings, found.steps) == ({"truncated": 1, "incomplete": 1}, 15)


def test_open_episodes_are_counted_apart(tmp_path: Path) -> None:
    """What is being recorded changes; it is in no sum."""
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        list(rows_of(recorder.start_episode(), random.Random(0), 5))
        recorder.flush()
        found = statistics(tmp_path / "d")
    assert (found.endings, found.episodes, found.steps, found.length) == ({"open": 1}, 0, 0, None)


def test_lengths_are_summed_up(tmp_path: Path) -> None:
    """Minimum, mean, median, maximum and standard deviation of the numbers of steps."""
    found = statistics(record(tmp_path / "d", lengths=(9, 13, 1, 5)))
    assert found.length == Summary(1.0, 7.0, 7.0, 13.0, float(np.std([9, 13, 1, 5])))
    assert (found.episodes, found.steps) == (4, 28)


def test_return_is_the_sum_of_defined_rewards(tmp_path: Path) -> None:
    """In float64, whatever the rewards are."""
    found = statistics(record_rewards(tmp_path / "d", [1, 2.5, np.float32(0.5)], [np.int8(-100)] * 3))
    assert found.returns["reward"].max == 4.0
    assert found.returns["reward"].min == -300.0


def test_return_of_each_agent(tmp_path: Path) -> None:
    """Rewards of several agents are summed for each."""
    found = statistics(record_rewards(tmp_path / "d", [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]))
    assert {path: each.mean for path, each in found.returns.items()} == {"reward/a": 4.0, "reward/b": 6.0}


def test_rewards_that_are_no_numbers_have_no_return(tmp_path: Path) -> None:
    """A vector reward is not summed to one number."""
    assert statistics(record_rewards(tmp_path / "d", [np.ones(2), np.ones(2)])).returns == {}


def test_bytes_of_a_field_are_those_of_its_columns(tmp_path: Path) -> None:
    """Stored sizes come from the block headers; decoded ones are those of the values: four times three float32."""
    directory = record_rewards(tmp_path / "d", [1.0, 2.0, 3.0])
    (episode,) = survey(ShardFile(shard(directory))).episodes.values()
    columns = [column for block in episode.blocks for column in block.header.columns if column.path == "observation"]
    (found,) = [each for each in statistics(directory).fields if each.path == "observation"]
    assert (found.types, found.values) == (("float32 (3,)",), 4)
    assert found.bytes == sum(column.length for column in columns)
    assert found.decoded_bytes == 4 * 3 * 4


def test_fields_are_named_by_what_they_hold(tmp_path: Path) -> None:
    """Ragged, optional and text fields, and one that changes its type."""
    types = {each.path: set(each.types) for each in statistics(record(tmp_path / "d")).fields}
    assert types["observation/words"] == {"text"}
    assert "int16 (?, ?)" in types["observation/near"]
    assert types["observation/goal"] == {"none", "int64 scalar"}
    assert types["info/lives"] == {"int", "text"}


def test_blocks_and_bytes_are_counted(tmp_path: Path) -> None:
    """Blocks of two rows; all bytes of all shards, by all steps."""
    directory = record_rewards(tmp_path / "d", [1.0, 2.0, 3.0], [1.0])
    found = statistics(directory)
    size = sum(path.stat().st_size for path in shards_in(directory))
    assert (found.blocks, found.steps_per_block) == (3, 2.0)
    assert (found.bytes, found.bytes_per_step) == (size, size / 6)


def test_dataset_without_episodes_has_no_averages(tmp_path: Path) -> None:
    """Nothing is divided by zero."""
    Recorder(tmp_path / "d", SMALL).close()
    found = statistics(tmp_path / "d")
    assert (found.length, found.bytes_per_step, found.steps_per_block, found.returns) == (None, None, None, {})


def test_damaged_reward_is_an_error(tmp_path: Path) -> None:
    """A sum that lacks a reward would be wrong."""
    directory = record_rewards(tmp_path / "d", [1.0, 2.0, 3.0])
    (episode,) = survey(ShardFile(shard(directory))).episodes.values()
    damage_column(shard(directory), episode.blocks[1], "reward")
    with pytest.raises(DamagedError, match="reward"):
        statistics(directory)


def test_directory_without_dataset_is_refused(tmp_path: Path) -> None:
    """An empty directory is no dataset."""
    with pytest.raises(NotADatasetError):
        statistics(tmp_path)

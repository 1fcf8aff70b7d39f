"""Where episodes begin and end, by the types of steps alone."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.convert.envlogger.encode import encode
from rlds_kit.convert.envlogger.scan import FIRST, LAST, MID, scan
from rlds_kit.riegeli import RecordWriter


def write(shard: Path, types: list[int], chunk_size: int) -> list[int]:
    """Steps of some types, of two lengths; returns their positions."""
    shard.mkdir()
    with RecordWriter(shard / "steps.riegeli", f"uncompressed,chunk_size:{chunk_size}") as writer:
        return [
            writer.write_record(_step(step_type, "long" * (number % 3 == 0))) for number, step_type in enumerate(types)
        ]


def _step(step_type: int, text: str) -> bytes:
    found = encode(((step_type, None, None, text), 0, None), "step", [])
    assert found is not None
    return found.SerializeToString()


def expected(types: list[int]) -> tuple[list[tuple[int, int]], int]:
    """First step and number of steps of each episode, and how many steps belong to none, one step after the other."""
    episodes, lost, is_open = list[tuple[int, int]](), 0, False
    for number, step_type in enumerate(types):
        if step_type == FIRST:
            episodes.append((number, 1))
        elif is_open:
            episodes[-1] = (episodes[-1][0], episodes[-1][1] + 1)
        else:
            lost += 1
        is_open = step_type == FIRST or (is_open and step_type != LAST)
    return episodes, lost


@given(st.lists(st.sampled_from([FIRST, MID, LAST]), max_size=30), st.sampled_from([1, 60, 10_000]))
def test_episodes_are_those_of_steps_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, types: list[int], chunk_size: int
) -> None:
    """Runs of steps of one type, in chunks of any size: also several first or last steps after each other."""
    shard = tmp_path_factory.mktemp("envlogger") / "shard"
    positions = write(shard, types, chunk_size)
    found = scan([shard])
    episodes, lost = expected(types)
    assert [(each.number, each.steps) for each in found.episodes] == episodes
    assert [each.position for each in found.episodes] == [positions[number] for number, _ in episodes]
    assert sum(loss.values for loss in found.losses) == lost


def test_steps_after_damaged_bytes_belong_to_no_episode_before(tmp_path: Path) -> None:
    """The number of lost steps is unknown."""
    positions = write(tmp_path / "shard", [FIRST, MID, MID, MID, MID, LAST], 1)
    path = tmp_path / "shard" / "steps.riegeli"
    data = bytearray(path.read_bytes())
    data[positions[3] - 2] ^= 1  # in the record before
    path.write_bytes(data)
    found = scan([tmp_path / "shard"])
    assert [each.steps for each in found.episodes] == [2]
    assert [loss.reason for loss in found.losses[:3]] == ["a step that follows on no first step"] * 3
